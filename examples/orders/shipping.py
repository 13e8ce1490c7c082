"""What is to be shipped: a projection of the orders, in a database of its own.

    python shipping.py shipping.db

Kill it whenever you like. Each event is applied once; where some are missing, the orders themselves are asked.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from typing import Any, Final

from steadhold import Client
from steadhold.inboxes import Applied, apply_once
from steadhold.inboxes.applied_table import TABLES
from steadhold.sdk.errors import RevisionConflict

TABLE: Final = "create table if not exists shipments (id text primary key, state text not null, revision int not null);"
WRITE: Final = """
insert into shipments values (?, ?, ?)
on conflict (id) do update set state = excluded.state, revision = excluded.revision
where excluded.revision > shipments.revision
"""


def prepare(client: Client) -> None:
    """Lead the orders' events into an inbox, and be a consumer of it; what is there already stays."""
    inbox = client.inboxes["orders"]
    makes = (
        inbox.create,
        inbox.consumer("shipping").create,
        lambda: client.subscriptions.put("orders", ["order.*"], {"inbox": "orders"}),
    )
    for make in makes:
        with contextlib.suppress(RevisionConflict):
            make()


def opened(path: str) -> sqlite3.Connection:
    """The database of the projection, with the table that `steadhold consumer-table sqlite` prints."""
    shop = sqlite3.connect(path, timeout=30)
    shop.executescript(TABLE + TABLES["sqlite"])
    return shop


def handle(client: Client, shop: sqlite3.Connection, event: Any) -> Applied:
    """Apply an event and remember that it was, in one transaction."""

    def apply(order: str) -> str:
        if order == "next":
            shop.execute(WRITE, [event.aggregate_id, event.value["state"], event.aggregate_revision])
        elif order == "gap":  # some before it never came: the order itself says where it stands
            now = client.aggregates.get(event.aggregate_id)
            shop.execute(WRITE, [now.aggregate_id, now.state, now.revision])
        return order  # stale: something newer was written already

    with shop:
        return apply_once(shop, "shipping", event, apply)


def rebuild(client: Client, shop: sqlite3.Connection) -> None:
    """Events are gone that never came here: ask for every order where it stands."""
    orders = [one for one in client.aggregates.list() if one.aggregate_type == "order"]
    with shop:
        shop.executemany(WRITE, [(one.aggregate_id, one.state, one.revision) for one in orders])


def main() -> None:
    """Follow the orders until interrupted."""
    with Client() as client, contextlib.closing(opened(sys.argv[1])) as shop:
        prepare(client)
        for item in client.inboxes["orders"].consumer("shipping"):
            if item.gap:
                rebuild(client, shop)
                print("rebuilt", flush=True)
            else:
                applied = handle(client, shop, item)
                print(item.aggregate_id, item.type, applied.order, flush=True)
            item.ack()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
