"""Counts what happens in each repository, every event once: `activity.py DATABASE`.

The database is SQLite's, and needs nothing but its file. Kill this at any moment, and start it again.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from functools import partial
from typing import Any

from steadhold import Client
from steadhold.inboxes import apply_once
from steadhold.inboxes.applied_table import TABLES

SCHEMA = f"""
create table if not exists activity (repository text, event text, count integer, primary key (repository, event));
{TABLES["sqlite"]}
"""


def counted(database: sqlite3.Connection, event: Any, _order: str) -> list[Any]:
    """Count an event, in the transaction that keeps its id: what happened, where, and how often by now."""
    value = event.value if isinstance(event.value, dict) else {}
    of = [value.get("repository", {}).get("full_name", "-"), event.type]
    database.execute("insert into activity values (?, ?, 0) on conflict do nothing", of)
    database.execute("update activity set count = count + 1 where repository = ? and event = ?", of)
    (count,) = database.execute("select count from activity where repository = ? and event = ?", of).fetchone()
    return [of[1], of[0], count]


def main(path: str) -> None:
    """Follow the inbox until interrupted."""
    with Client() as client, closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        for event in client.inboxes["github"].consumer("activity"):
            if event.gap:
                print("some events were removed before they were counted", file=sys.stderr)
            else:
                with database:
                    applied = apply_once(database, "activity", event, partial(counted, database, event))
                if applied.order != "duplicate":
                    print(*applied.outcome, flush=True)
            event.ack()


if __name__ == "__main__":
    main(*sys.argv[1:])
