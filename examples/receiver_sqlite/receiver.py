"""A receiver of webhooks that counts each payment once, however often it comes: `receiver.py DATABASE PORT`.

WEBHOOK_SECRET holds the secret. The database is SQLite's, and needs nothing but this file.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from steadhold import NotVerified, Webhook
from steadhold.inboxes.applied_table import TABLES
from steadhold.sdk.webhook import Delivery
from steadhold.webhooks import dedupe

SCHEMA = f"""
create table if not exists accounts (id text primary key, cents integer not null);
{TABLES["sqlite"]}
"""
BODY_BYTES_MAX = 1024 * 1024


@dedupe("accounts")
def paid(shop: sqlite3.Connection, delivery: Delivery, _order: str) -> dict[str, int]:
    """Add what was paid to its account, in the transaction that keeps the id of the event."""
    payment = delivery.value.get("data")
    if payment is None:  # a test event: `steadhold webhooks ping`
        return {}
    shop.execute("insert into accounts values (?, 0) on conflict do nothing", [payment["account"]])
    shop.execute("update accounts set cents = cents + ? where id = ?", [payment["cents"], payment["account"]])
    (cents,) = shop.execute("select cents from accounts where id = ?", [payment["account"]]).fetchone()
    return {"cents": cents}


class Receiver(BaseHTTPRequestHandler):
    """Verifies what comes, applies it once, and answers when that is committed."""

    protocol_version = "HTTP/1.1"
    timeout = 10
    webhook: Webhook
    database: str

    def do_POST(self) -> None:
        """Answer 401 to what is not genuine, and 200 once the event is kept. Any failure is a 500: it comes again."""
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        try:
            delivery = self.webhook.verify(self.headers.items(), body)
        except NotVerified:
            return self.answer(401)
        try:
            with closing(sqlite3.connect(self.database, timeout=5)) as shop, shop:
                paid(shop, delivery)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is tried again
            self.log_error("%s was not applied: %r", delivery.event_id, error)
            return self.answer(500)
        return self.answer(200)

    def answer(self, status: int) -> None:
        """Answer with a status and no body."""
        self.send_response(status)
        self.send_header("content-length", "0")
        self.send_header("connection", "close")
        self.end_headers()


def main(database: str, port: str, **more: Any) -> None:
    """Receive until interrupted."""
    Receiver.webhook, Receiver.database = Webhook(os.environ["WEBHOOK_SECRET"], **more), database
    with closing(sqlite3.connect(database)) as shop:
        shop.executescript(SCHEMA)
    with ThreadingHTTPServer(("127.0.0.1", int(port)), Receiver) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
