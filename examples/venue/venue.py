"""A small payment venue for the example: it takes charges, and misbehaves as venues do.

What it does with a charge, the cents of its amount decide, as in the sandboxes of real ones:

    .01  it charges, and breaks the connection before it answers
    .02  it breaks the connection, charges later, and calls back, twice
    .03  it charges twice, answers the first and calls back with the second
    else it charges and answers

Run it as `python venue.py [PORT]`, under a key that may say what came of effects (`effects:write`).
`--late-seconds` tells how much later it acts; with 0 it does when `POST /late` tells it to.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from steadhold import Client

BROKEN: Final = None
"""An answer that never comes."""


class Venue:
    """Charges by the id that they came under, each under a reference of the venue's own."""

    def __init__(self, client: Client, late_seconds: float) -> None:
        self._client, self._late_seconds = client, late_seconds
        self._lock = threading.Lock()
        self._charges: dict[str, list[str]] = {}
        self._later: list[str] = []

    def charge(self, id: str, amount: str) -> dict[str, str] | None:
        """Take a charge as the cents of its amount say. Nothing keeps it from taking one twice: it is asked once."""
        match amount.rpartition(".")[2]:
            case "01":
                self._take(id)
                return BROKEN
            case "02":
                self._later.append(id)
                if self._late_seconds:
                    threading.Timer(self._late_seconds, self.act_late).start()
                return BROKEN
            case "03":
                first, second = self._take(id), self._take(id)
                self._call_back(id, second)
                return {"ref": first}
            case _:
                return {"ref": self._take(id)}

    def charges(self, id: str) -> list[str]:
        """The references under which something was charged for this id."""
        with self._lock:
            return list(self._charges.get(id, ()))

    def act_late(self) -> int:
        """Charge what was put off, and call back, as venues do: more than once."""
        late, self._later = self._later, []
        for id in late:
            ref = self._take(id)
            for _ in range(2):
                self._call_back(id, ref)
        return len(late)

    def _take(self, id: str) -> str:
        with self._lock:
            mine = self._charges.setdefault(id, [])
            mine.append(f"ch-{len(mine) + 1}-{id[-8:]}")
            return mine[-1]

    def _call_back(self, id: str, ref: str) -> None:
        """Tell what came of it, under the identity of this very charge: twice told, it is taken once."""
        self._client.effects.outcome(
            id, "succeeded", venue_ref=ref, evidence_ref=f"callback for {ref}", evidence_id=ref
        )


class Door(BaseHTTPRequestHandler):
    """`POST /charges {id, amount}`, `GET /charges/{id}`, `POST /late`."""

    venue: Venue

    def do_POST(self) -> None:
        """Charge, or act late now."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if self.path == "/late":
            self._answer({"acted": self.venue.act_late()})
        else:
            self._answer(self.venue.charge(body["id"], body["amount"]))

    def do_GET(self) -> None:
        """What was charged under an id."""
        self._answer({"refs": self.venue.charges(self.path.removeprefix("/charges/"))})

    def _answer(self, told: dict[str, Any] | None) -> None:
        if told is None:
            self.close_connection = True
            return
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what it charged can be asked."""


def main() -> None:
    """Serve on the loopback interface until it is stopped; the first line says where."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", nargs="?", type=int, default=8790)
    parser.add_argument("--late-seconds", type=float, default=20.0)
    asked = parser.parse_args()
    with Client() as client:
        Door.venue = Venue(client, asked.late_seconds)
        server = ThreadingHTTPServer(("127.0.0.1", asked.port), Door)
        sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}) + "\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
