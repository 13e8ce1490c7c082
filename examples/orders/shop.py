"""Orders. A change and the event that tells of it commit together, or neither does.

    python shop.py place order-7
    python shop.py pay order-7
    python shop.py pack order-7

The orders lie in the database of steadhold (DATABASE_URL), in a table of the shop's own.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import psycopg

from steadhold import events

TABLE: Final = "create table if not exists orders (id text primary key, state text not null, revision bigint not null)"
STEPS: Final = {"place": (None, "placed"), "pay": ("placed", "paid"), "pack": ("paid", "packed")}
"""What may be done with an order: what it was before, and what it is then."""


class Refused(Exception):
    """The order is in another state, or somebody else was first: nothing was changed."""


def change(conn: psycopg.Connection, workspace: str, verb: str, order: str) -> int:
    """Do something with an order; the revision that it has then. Raises Refused."""
    before, after = STEPS[verb]
    with conn.transaction():
        found = conn.execute("select state, revision from orders where id = %s for update", [order]).fetchone()
        state, revision = found or (None, None)
        if state != before:
            raise Refused(f"{order} is {state or 'not there'}; to {verb} it, it must be {before or 'new'}.")
        happened = events.Happened(f"order.{after}", b'{"state":"%b"}' % after.encode())
        told = events.append(
            conn, workspace, order, revision, [happened], from_state=before, state=after,
            aggregate_type=None if found else "order",
        )  # fmt: skip
        if not isinstance(told, events.Appended):
            raise Refused(f"Somebody else was first: {told}")
        conn.execute(
            "insert into orders values (%s, %s, %s)"
            " on conflict (id) do update set state = excluded.state, revision = excluded.revision",
            [order, after, told.revision],
        )
        return told.revision


def main() -> int:
    """Do what the command line says."""
    if len(sys.argv) != 3 or sys.argv[1] not in STEPS:
        print(f"Say what to do with which order: python shop.py {'|'.join(STEPS)} order-7")
        return 2
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
        conn.execute(TABLE)
        try:
            revision = change(conn, os.environ.get("WORKSPACE", "dev"), *sys.argv[1:])
        except Refused as refused:
            print(refused)
            return 3
    print(f"{sys.argv[2]} is {STEPS[sys.argv[1]][1]}, at revision {revision}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
