"""The database's clock, which a test can move. No test waits for time to pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg

SQL: Final = Path(__file__).with_suffix(".sql")


class Clock:
    """Moves `steadhold.clock()` for everything in one database, at once and for every connection.

    A move is seen by whatever asks for the time after it: in open transactions, and in statements that began
    before it and were waiting for a lock.
    """

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._conn = conn
        self._moved = False

    def move(self, seconds: float) -> None:
        """Move it forward, or back if negative, from where it stands."""
        self._moved = True
        self._conn.execute("update steadhold_test.clock set ahead = ahead + %s", (timedelta(seconds=seconds),))

    def now(self) -> datetime:
        """The database's time."""
        return self._one("select steadhold.clock()")

    def reset(self) -> None:
        """Let it tell the real time again."""
        if self._moved:
            self._conn.execute("update steadhold_test.clock set ahead = '0'")
            self._moved = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count, meanwhile, how often anybody asks for the time."""
        self._conn.execute("update steadhold_test.clock set watched = true")
        try:
            yield
        finally:
            self._conn.execute("update steadhold_test.clock set watched = false")

    def reads(self) -> int:
        """How often the time was asked for, ever, while watched."""
        return self._one("select last_value + is_called::int from steadhold_test.clock_reads")

    def _one(self, query: str) -> Any:
        row = self._conn.execute(query.encode()).fetchone()
        if row is None:
            raise AssertionError("a clock answers one row")
        return row[0]
