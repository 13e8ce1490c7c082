"""Law 13: which life of the data this is. Numbers that may have been lost are never issued again.

The rule itself is in the database (0001_house.sql, `check_house`), so that of many processes that notice a loss
together one raises the incarnation. Here is what a process remembers between its connections.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from steadhold.db.errors import HouseError, StandbyError

CHECK = """
select incarnation, began_at, lsn, coalesce(current_setting('steadhold.replication', true), '') = 'synchronous' as keeps
from steadhold.check_house($1, $2)
"""
READ = "select incarnation, began_at from steadhold.house"
RESTORED = "select incarnation, began_at from steadhold.restored()"

# The second: a transaction that began just before a promotion was over.
STANDBY = (asyncpg.ObjectNotInPrerequisiteStateError, asyncpg.ReadOnlySQLTransactionError)
UNREADY = (asyncpg.UndefinedTableError, asyncpg.UndefinedFunctionError, asyncpg.InvalidSchemaNameError)


@dataclass(frozen=True, slots=True)
class House:
    """An incarnation (0 at first, only rises) and when it began, by the database's clock."""

    incarnation: int
    began_at: datetime


class Watch:
    """What one process has seen of the house: the incarnation, and the furthest position in the log."""

    def __init__(self) -> None:
        self.house: House | None = None
        """None before the first connection."""
        self.keeps = False
        """Whether the operator declares that a failover loses nothing that was committed."""
        self._lsn = 0

    async def check(self, conn: asyncpg.Connection[Any]) -> None:
        """Compare the server behind `conn`; a difference, or a log shorter than one seen, begins a new incarnation.

        Raises StandbyError on a server that only replays, HouseError when the schema or the right to it is missing.
        """
        known = self.house
        try:
            row = await conn.fetchrow(CHECK, known.incarnation if known else 0, self._lsn)
        except STANDBY as error:
            raise StandbyError(
                "This server is a standby. Name the primary, or all servers with target_session_attrs=read-write."
            ) from error
        except UNREADY as error:
            raise HouseError("The database has no steadhold schema, or an older one. Run: steadhold migrate") from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise HouseError(
                f"This login may not act as steadhold_app ({error}). As its owner run: grant steadhold_app to <login>"
            ) from error
        if row is None:
            raise HouseError("steadhold.house has no row. It was emptied by hand; restore it from a backup.")
        self.keeps = row["keeps"]
        # Two connections may be checked at once: what is remembered only moves forward within one incarnation.
        if known is None or row["incarnation"] > self._incarnation():
            self._lsn = 0
            self.house = House(row["incarnation"], row["began_at"])
        if row["incarnation"] == self._incarnation():
            self._lsn = max(self._lsn, row["lsn"])

    def _incarnation(self) -> int:
        return -1 if self.house is None else self.house.incarnation


async def read(conn: asyncpg.Connection[Any]) -> House:
    """The house as the database says it now."""
    row = await conn.fetchrow(READ)
    if row is None:
        raise HouseError("steadhold.house has no row. It was emptied by hand; restore it from a backup.")
    return House(*row)


async def restored(conn: asyncpg.Connection[Any]) -> House:
    """Begin a new incarnation, because a backup or snapshot was put back; returns it. Needs the schema's owner."""
    row = await conn.fetchrow(RESTORED)
    if row is None:
        raise HouseError("steadhold.house has no row. It was emptied by hand; restore it from a backup.")
    return House(*row)
