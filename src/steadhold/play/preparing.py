"""Statements are prepared before a transaction of ours has locked anything.

The driver prepares a statement by one message and executes it by the next. In between the server waits in the midst of
a command, where the timeout of an idle transaction does not count: a process that was stopped just there would hold
what it had locked for as long as it stands. So what a call was seen to ask is prepared when its transaction has just
begun, and a call that asks something new begins again.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Final

ASKED: Final[dict[str, set[str]]] = {}
"""What each call, by its name, was seen to ask in this process."""


class Unprepared(Exception):
    """What is asked in the midst of a transaction is not prepared: `learn` it, roll back, and begin again."""

    def __init__(self, query: str) -> None:
        super().__init__(query)
        self.query = query


def check(conn: Any, query: str) -> None:
    """Raise `Unprepared` unless `query` can be executed at once, or nothing stays prepared on this connection."""
    if conn.prepared is not None and query not in conn.prepared:
        raise Unprepared(query)


def learn(conn: Any, query: str, calls: AbstractSet[str]) -> None:
    """Remember that these calls ask `query`."""
    for name in calls:
        ASKED.setdefault(name, set()).add(query)
    conn.ready -= calls


async def prepare(conn: Any, calls: AbstractSet[str]) -> None:
    """Prepare what these calls are known to ask; their transaction has begun, and nothing was asked in it."""
    if conn.prepared is None or calls <= conn.ready:
        return
    for query in set[str]().union(*(ASKED.get(name, ()) for name in calls)) - conn.prepared:
        await conn.executemany(query, ())  # for no arguments at all it is executed as often
        conn.prepared.add(query)
    conn.ready |= calls
