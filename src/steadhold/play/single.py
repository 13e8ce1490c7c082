"""One call, one transaction, on our own pool."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

from steadhold.kit import failpoints
from steadhold.kit.limits import OPERATION_WAIT_SECONDS_MAX
from steadhold.kit.plan import Call
from steadhold.kit.sql import Item, Sql
from steadhold.play.trampoline import arun

T = TypeVar("T")

LOCK_TIMEOUT: Final = "55P03"
DEADLOCK: Final = "40P01"
IDLE_IN_TRANSACTION: Final = "25P03"
TRIES_MAX: Final = 3
IDLE_MS: Final = 4_000
"""How long PostgreSQL waits for our next statement inside a transaction. A process that was stopped, or cut off
without a word, holds its locks no longer than this, so what it held is free within five seconds of its lease."""
PATIENCE_MS: Final = OPERATION_WAIT_SECONDS_MAX * 1_000
FAULTS: Final = (AssertionError, TypeError, ValueError, LookupError, AttributeError, NameError, ArithmeticError)
"""What a mistake in a plan raises, and no broken connection."""


PLAN_ONCE: Final = "set local plan_cache_mode = force_generic_plan; set local enable_nestloop = off"
PLAN_ANEW: Final = "set local plan_cache_mode = force_custom_plan; set local enable_nestloop = on"


class Busy(Exception):
    """A row stayed locked, or too many callers are waiting: nothing happened, try again later.

    `at` names the statement that waited, or is None where the queue was full.
    """

    def __init__(self, at: str | None = None) -> None:
        super().__init__(f"a row that {at} needs stayed locked" if at else "too many callers are waiting")
        self.at = at


class OutcomeUnknown(Exception):
    """The connection broke once COMMIT was sent: only a receipt, or a reading, can tell."""


class Unavailable(Exception):
    """The database could not be reached, and nothing was committed."""


class Pool(Protocol):
    """Where connections come from: `steadhold.db.pool.Pool` is one."""

    @property
    def size(self) -> int:
        """How many there are at most."""
        ...

    async def take(self) -> Any:
        """Wait for a connection."""
        ...

    def give(self, conn: Any) -> None:
        """Hand a connection back."""
        ...


class Player(Protocol):
    """Plays calls, each to its outcome, durably."""

    async def play(self, call: Call[T]) -> T:
        """Play a call; its effect is committed when this returns."""
        ...


def opening(workspace: str, lock_timeout_ms: int) -> str:
    """Begin a transaction as the application's role, confined to one workspace.

    Statements find rows by key, whatever the arguments: one plan serves them all, since making it anew costs
    more than running it; and it is one that neither reads a whole table because that was small once, nor
    compares each of many items with each of many rows.
    """
    quoted = workspace.replace("'", "''")
    return (
        "begin isolation level read committed; select set_config('role', 'steadhold_app', true), "
        f"set_config('steadhold.workspace', '{quoted}', true), "
        f"set_config('lock_timeout', '{lock_timeout_ms}', true), "
        f"set_config('idle_in_transaction_session_timeout', '{IDLE_MS}', true), "
        "set_config('synchronous_commit', 'on', true), "
        f"set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true); {PLAN_ONCE}"
    )


def lost(error: BaseException) -> bool:
    """Tell a broken connection from an error that the server reported."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return not isinstance(error, (*FAULTS, asyncio.CancelledError))
    return state.startswith(("08", "57P"))


async def commit(conn: Any) -> None:
    """Commit; whatever breaks the connection from here on leaves the outcome unknown."""
    failpoints.hit("before_commit")
    try:
        await conn.execute("commit")
    except asyncio.CancelledError:
        conn.terminate()
        raise
    except Exception as error:
        if getattr(error, "sqlstate", None) is None or lost(error):
            raise OutcomeUnknown from error
        raise
    failpoints.hit("after_commit")


async def roll_back(conn: Any) -> None:
    """Roll back if there is still something to roll back on."""
    if conn.is_closed():
        return
    with contextlib.suppress(Exception):
        await conn.execute("rollback")


class Progress:
    """Where a transaction stands: the statement it executed last."""

    __slots__ = ("statement",)

    def __init__(self) -> None:
        self.statement: str | None = None


def asker(conn: Any, at: Progress) -> Any:
    """Execute a plan's statements on an asyncpg connection."""

    async def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
        at.statement = sql.name
        return await fetch(conn, sql, items)

    return ask


async def fetch(conn: Any, sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
    """Execute one statement in a transaction that `opening` began."""
    if not sql.anew:
        return await conn.fetch(sql.numbered, *sql.bind(items))
    await conn.execute(PLAN_ANEW)
    found = await conn.fetch(sql.numbered, *sql.bind(items))
    await conn.execute(PLAN_ONCE)
    return found


class Single:
    """Plays each call in a transaction of its own, and again where the database asks for it."""

    def __init__(self, pool: Pool, *, lock_timeout_ms: int = PATIENCE_MS) -> None:
        self.pool, self.lock_timeout_ms = pool, lock_timeout_ms

    async def play(self, call: Call[T]) -> T:
        """Play a call. Raises `Busy`, `Unavailable` (nothing happened) or `OutcomeUnknown`."""
        for left in reversed(range(TRIES_MAX)):
            conn = await self._take()
            at = Progress()
            try:
                return await self._once(conn, call, at)
            except Exception as error:
                await roll_back(conn)
                if not left or getattr(error, "sqlstate", None) != DEADLOCK:
                    raise translated(error, at.statement) from error
            except BaseException:
                conn.terminate()
                raise
            finally:
                self.pool.give(conn)
        raise AssertionError("the last try returns or raises")

    async def _take(self) -> Any:
        try:
            return await self.pool.take()
        except OSError as error:
            raise Unavailable(str(error)) from error

    async def _once(self, conn: Any, call: Call[T], at: Progress) -> T:
        await conn.execute(opening(call.workspace, self.lock_timeout_ms))
        failpoints.hit("tx_begun")
        outcome = await arun(call.begin(), asker(conn, at))
        await commit(conn)
        return outcome


def translated(error: Exception, at: str | None = None) -> Exception:
    """Say what a database error means to whoever asked."""
    if isinstance(error, (OutcomeUnknown, Busy, Unavailable)):
        return error
    if getattr(error, "sqlstate", None) in (LOCK_TIMEOUT, DEADLOCK):
        return Busy(at)
    if lost(error) or getattr(error, "sqlstate", None) == IDLE_IN_TRANSACTION:
        return Unavailable(str(error))
    return error
