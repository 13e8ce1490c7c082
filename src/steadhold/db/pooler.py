"""Whether a pooler stands between, and what it loses: two connections see whether they are lent the same backends."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from steadhold.db.connection import LOST

ROUNDS: Final = 3
"""How often one is asked while the other holds a backend: others of the pooler's clients come in between."""

HELD_SECONDS: Final = 2.0
SEEN: Final = "select pg_backend_pid(), exists (select from pg_prepared_statements where name = $1)"


@dataclass(frozen=True, slots=True)
class Pooler:
    """What stands between: whether transactions of one connection change backends, and what is lost by it."""

    transactions: bool
    """One connection's transactions run on several backends (transaction pooling)."""
    leaks: bool
    """A setting made on one connection was seen on another."""
    keeps_statements: bool | None
    """A prepared statement still works after the backend changed, and is nobody else's. None: it was lent no other."""


async def look(dsn: str, seconds: float, *, mark: bool = False) -> Pooler:
    """Find out what stands before the database of `dsn`. Raises what the driver says.

    `mark`: also whether a setting of a session is seen by others, for which one is left there.
    """
    async with AsyncExitStack() as stack, asyncio.timeout(seconds):
        one, two = [await _connected(dsn, seconds, stack) for _ in range(2)]
        marked = uuid.uuid4().hex if mark else None  # a backend may still show the mark of an earlier look
        if marked:
            await one.execute(f"set steadhold.probe = '{marked}'")
        transactions, keeps = await _compare(one, two)
        return Pooler(transactions, await _shows(two, marked), keeps)


async def _connected(dsn: str, seconds: float, stack: AsyncExitStack) -> asyncpg.Connection[Any]:
    conn = await asyncpg.connect(dsn, timeout=seconds, statement_cache_size=0)
    stack.callback(conn.terminate)
    return conn


async def _compare(one: asyncpg.Connection[Any], two: asyncpg.Connection[Any]) -> tuple[bool, bool | None]:
    """Whether they are lent backends, and whether what the first one prepares is its own wherever it comes."""
    name = f"steadhold_{uuid.uuid4().hex}"
    ones, twos = set[int](), set[int]()
    try:
        statement = await one.prepare("select pg_backend_pid()", name=name)
        for _ in range(ROUNDS):
            ones.add(await statement.fetchval())
            async with two.transaction():
                ((held, seen),) = await two.fetch(SEEN, name)
                if seen:
                    return True, False
                twos.add(held)
                if held not in ones:
                    ones.add(await statement.fetchval(timeout=HELD_SECONDS))
    except LOST:
        return True, False
    except TimeoutError:  # others have all that it lends
        return True, None
    return len(ones) > 1 or len(twos) > 1 or bool(ones & twos), True


async def _shows(conn: asyncpg.Connection[Any], mark: str | None) -> bool:
    if mark is None:
        return False
    async with conn.transaction():
        return bool(await conn.fetchval("select current_setting('steadhold.probe', true)") == mark)
