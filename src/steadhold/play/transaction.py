"""A transaction of ours: how it begins and ends, and that there is one only where it is needed.

What only reads needs none: at read committed each statement sees what was committed when it began. A statement that is
`whole` is a transaction by itself. Either is one message to the server and one answer, where a transaction takes three
of each. The session is set as a transaction would be, and stays so: only where it is ours alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar

from steadhold.kit import failpoints
from steadhold.kit.sql import Item, Sql
from steadhold.play.preparing import check, prepare

T = TypeVar("T")

IDLE_MS: Final = 4_000
"""How long PostgreSQL waits for our next statement inside a transaction. A process that was stopped, or cut off
without a word, holds its locks no longer than this, so what it held is free within five seconds of its lease."""
FAULTS: Final = (AssertionError, TypeError, ValueError, LookupError, AttributeError, NameError, ArithmeticError)
"""What a mistake in a plan raises, and no broken connection."""

TRANSACTION: Final = "set local"
SESSION: Final = "set"
"""For what a setting holds. What goes alone knows it by the setting `steadhold.alone`."""

ALONE: Final = frozenset({"alone", "alone_committed"})
"""Moments of a statement that goes alone. Where another is to fail, all of them have to come."""

PLAN_ONCE: Final = "set local plan_cache_mode = force_generic_plan; set local enable_nestloop = off"
PLAN_ANEW: Final = "set local plan_cache_mode = force_custom_plan; set local enable_nestloop = on"


class NotWhole(Exception):
    """A call asks more than the one statement that was a transaction by itself, which did nothing: begin it again."""


class OutcomeUnknown(Exception):
    """What broke may have been committed, or was: only a receipt, or a reading, can tell."""


def opening(workspace: str, lock_timeout_ms: int) -> str:
    """Begin a transaction as the application's role, confined to one workspace.

    Statements find rows by key, whatever the arguments: one plan serves them all, since making it anew costs
    more than running it; and it is one that neither reads a whole table because that was small once, nor
    compares each of many items with each of many rows.
    """
    return f"begin isolation level read committed; {_settings(TRANSACTION, workspace, lock_timeout_ms)}"


def _settings(scope: str, workspace: str, lock_timeout_ms: int) -> str:
    return (
        f"{scope} role steadhold_app; {_confined(scope, workspace, lock_timeout_ms)}; "
        f"{scope} steadhold.alone = {'off' if scope == TRANSACTION else 'on'}; "
        f"{scope} idle_in_transaction_session_timeout = {IDLE_MS}; {scope} synchronous_commit = on; "
        f"{scope} enable_seqscan = off; {scope} jit = off; {PLAN_ONCE.replace(TRANSACTION, scope)}"
    )


def _confined(scope: str, workspace: str, lock_timeout_ms: int) -> str:
    quoted = workspace.replace("'", "''")
    return f"{scope} steadhold.workspace = '{quoted}'; {scope} lock_timeout = {lock_timeout_ms}"


def lost(error: BaseException) -> bool:
    """Tell a broken connection from an error that the server reported."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return not isinstance(error, (*FAULTS, asyncio.CancelledError))
    return state.startswith(("08", "57P"))


async def committing(conn: Any, sent: Awaitable[T]) -> T:
    """Await what commits; whatever breaks the connection meanwhile leaves the outcome unknown."""
    try:
        return await sent
    except asyncio.CancelledError:
        conn.terminate()
        raise
    except Exception as error:
        if getattr(error, "sqlstate", None) is None or lost(error):
            raise OutcomeUnknown from error
        raise


async def commit(conn: Any) -> None:
    """Commit. Raises `OutcomeUnknown`."""
    failpoints.hit("before_commit")
    await committing(conn, conn.execute("commit"))
    failpoints.hit("after_commit")


async def roll_back(conn: Any) -> None:
    """Roll back if there is still something to roll back on."""
    if conn.is_closed():
        return
    with contextlib.suppress(Exception):
        await conn.execute("rollback")


async def fetch(conn: Any, sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
    """Execute one statement in a transaction that `opening` began. Raises `Unprepared`."""
    check(conn, sql.numbered)
    if not sql.anew:
        return await conn.fetch(sql.numbered, *sql.bind(items))
    await conn.execute(PLAN_ANEW)
    found = await conn.fetch(sql.numbered, *sql.bind(items))
    await conn.execute(PLAN_ONCE)
    return found


class Transaction:
    """What calls of these names ask on a connection of ours; it begins with the first statement that needs it.

    `statement` names the one that was executed last. `ended` says that a whole statement was, alone: the transaction
    that it was has been committed, and there is nothing to end.
    """

    def __init__(self, conn: Any, workspace: str, lock_timeout_ms: int, names: AbstractSet[str]) -> None:
        self.conn, self.names = conn, names
        self.workspace, self.lock_timeout_ms = workspace, lock_timeout_ms
        self.may_go_alone = conn.direct and failpoints.armed.keys() <= ALONE
        self.begun = self.ended = False
        self.statement: str | None = None

    async def ask(self, sql: Sql, items: Sequence[Item], *, whole: Sql | None = None) -> Sequence[Sequence[Any]]:
        """Execute one statement; `whole` is the one by which all of these calls change anything.

        Raises `Unprepared`, and `NotWhole` for whatever comes after that one.
        """
        if self.ended:
            raise NotWhole
        self.statement = sql.name
        if self.begun or not self.may_go_alone or not (sql.reads or sql is whole):
            await self._begin()
            return await fetch(self.conn, sql, items)
        await self._enter()
        args = sql.bind(items)
        if sql.reads:
            found = await self.conn.fetch(sql.numbered, *args)
        else:
            failpoints.hit("alone")
            found = await committing(self.conn, self.conn.fetch(sql.numbered, *args))
            self.ended = True
            failpoints.hit("alone_committed")
        self.conn.prepared.add(sql.numbered)
        return found

    async def commit(self) -> None:
        """Make durable what was done, if that is not done yet."""
        if self.begun:
            self.begun = False
            await commit(self.conn)

    async def roll_back(self) -> None:
        """Undo what was done since it began."""
        if self.begun:
            self.begun = False
            await roll_back(self.conn)

    async def _begin(self) -> None:
        if self.begun:
            return
        self.begun = True
        await self.conn.execute(opening(self.workspace, self.lock_timeout_ms))
        failpoints.hit("tx_begun")
        await prepare(self.conn, self.names)

    async def _enter(self) -> None:
        wanted = (self.workspace, self.lock_timeout_ms)
        if self.conn.at != wanted:
            said = _settings if self.conn.at is None else _confined
            await self.conn.enter(said(SESSION, *wanted), wanted)
