"""A table that refuses stale fences, as docs/recipes/protected-table.md has it: what a lock can protect in truth."""

from __future__ import annotations

from typing import Any, Final

TABLE: Final = """
create table protected (
  name text primary key,
  fence bigint not null,
  value text not null
)
"""

WRITE: Final = """
insert into protected as p (name, fence, value) values (%s, %s, %s)
on conflict (name) do update set fence = excluded.fence, value = excluded.value
where p.fence <= excluded.fence
returning p.fence
"""
"""Answers a row where it wrote, and none where the table has seen a higher fence."""


class ProtectedTable:
    """The table on a psycopg connection, which may be to any PostgreSQL; nothing of steadhold is needed there."""

    def __init__(self, conn: Any) -> None:
        self._conn = conn

    def create(self) -> None:
        """Make the table."""
        self._conn.execute(TABLE)

    def write(self, name: str, fence: int, value: str) -> bool:
        """Write under a fence. False: a higher one has written here, and nothing was changed."""
        return self._conn.execute(WRITE, [name, fence, value]).fetchone() is not None

    def read(self, name: str) -> tuple[int, str] | None:
        """The fence that wrote last, and what."""
        return self._conn.execute("select fence, value from protected where name = %s", [name]).fetchone()
