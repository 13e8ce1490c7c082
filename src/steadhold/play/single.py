"""One call, one transaction or less, on our own pool."""

from __future__ import annotations

import functools
from typing import Any, Final, Protocol, TypeVar

from steadhold.kit.limits import OPERATION_WAIT_SECONDS_MAX
from steadhold.kit.plan import Call
from steadhold.play.preparing import Unprepared, learn
from steadhold.play.trampoline import arun
from steadhold.play.transaction import NotWhole, OutcomeUnknown, Transaction, lost

T = TypeVar("T")

LOCK_TIMEOUT: Final = "55P03"
DEADLOCK: Final = "40P01"
IDLE_IN_TRANSACTION: Final = "25P03"
TRIES_MAX: Final = 3
PATIENCE_MS: Final = OPERATION_WAIT_SECONDS_MAX * 1_000


class Busy(Exception):
    """A row stayed locked, or too many callers are waiting: nothing happened, try again later.

    `at` names the statement that waited, or the call that had executed none, or is None where the queue was full.
    """

    def __init__(self, at: str | None = None) -> None:
        super().__init__(f"a row that {at} needs stayed locked" if at else "too many callers are waiting")
        self.at = at


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


class Single:
    """Plays each call in a transaction of its own, and again where the database asks for it."""

    def __init__(self, pool: Pool, *, lock_timeout_ms: int = PATIENCE_MS) -> None:
        self.pool, self.lock_timeout_ms = pool, lock_timeout_ms

    async def play(self, call: Call[T]) -> T:
        """Play a call. Raises `Busy`, `Unavailable` (nothing happened) or `OutcomeUnknown`."""
        for left in reversed(range(TRIES_MAX)):
            conn = await self._take()
            at = Transaction(conn, call.workspace, self.lock_timeout_ms, {call.name})
            try:
                return await self._once(at, call)
            except Exception as error:
                if at.ended:
                    raise OutcomeUnknown from error
                await at.roll_back()
                if not left or getattr(error, "sqlstate", None) != DEADLOCK:
                    raise translated(error, at.statement or call.name) from error
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

    async def _once(self, at: Transaction, call: Call[T]) -> T:
        while True:
            try:
                outcome = await arun(call.begin(), functools.partial(at.ask, whole=call.whole))
            except NotWhole:
                at.may_go_alone = at.ended = False
            except Unprepared as asked:
                learn(at.conn, asked.query, at.names)
                await at.roll_back()
            else:
                await at.commit()
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
