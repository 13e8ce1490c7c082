"""A light pool of asyncpg connections: what is given back is what is taken next, and nobody is overtaken.

The driver's own pool sends a reset query on every release, a second statement for each request. Transactions of
ours set what they need for themselves, and what goes without one is remembered in `Connection.at`, so there is nothing
to reset; a connection that comes back in another state than idle is ended instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import asyncpg

from steadhold.db import pooler
from steadhold.db.backoff import pauses
from steadhold.db.connection import CONNECT_SECONDS_MIN, Connection, connect
from steadhold.db.errors import StandbyError, StatementsLostError
from steadhold.db.house import Watch

SIZE, STATEMENT_CACHE = 10, 1_000
CONNECT_SECONDS, CLOSE_SECONDS, LOOK_SECONDS = 10.0, 2.0, 5.0
BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS = 0.02, 1.0

# The server is not there, not yet there, full, or not the primary: all of it may be over in a moment.
ABSENT = (
    ConnectionError,
    FileNotFoundError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,  # its last words were read, and the end of the connection was not yet seen
    StandbyError,
)


class PoolClosedError(Exception):
    """A connection was asked of a pool that is closing or closed."""


Init = Callable[["asyncpg.Connection[Any]"], Awaitable[None]]


class Pool:
    """At most `size` connections to `dsn`, opened when needed.

    `init` runs on each new connection; None: compare the incarnation (`Watch`), see `house`, and again every few
    seconds: behind a pooler a connection outlives a failover, and what is remembered of the log grows old.
    `statements`: how many prepared statements a connection keeps; 0 behind a pooler that cannot keep them, for which
    the first connection is looked at (StatementsLostError).
    `connect_seconds`: how long `take` tries while the server is away.
    Belongs to one event loop. `async with` closes it.
    """

    def __init__(
        self,
        dsn: str,
        *,
        size: int = SIZE,
        init: Init | None = None,
        statements: int = STATEMENT_CACHE,
        connect_seconds: float = CONNECT_SECONDS,
        application_name: str = "steadhold",
    ) -> None:
        self.house = Watch()
        """What the newest connection said of the incarnation."""
        self.size = size
        self._dsn, self._application_name = dsn, application_name
        self._init = init or self.house.check
        self._looks, self._look_at = init is None, 0.0
        self._statements, self._keeps_statements = statements, False
        self._connect_seconds = connect_seconds
        self._idle: list[Connection] = []
        self._taken: set[Connection] = set()
        self._slots = size
        # A waiter is handed an idle connection, or None: the right to open one.
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def open(self) -> int:
        """How many connections exist or are being opened."""
        return self.size - self._slots

    @property
    def idle(self) -> int:
        """How many of them nobody uses."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """How many callers wait for one."""
        return len(self._waiters)

    async def take(self) -> Connection:
        """A connection that is idle and outside any transaction; `give` it back, or `discard` it.

        Its session may be set, which `connection` undoes. Waits in order of arrival when all are taken. Raises
        PoolClosedError; what the driver says when the server stays away for `connect_seconds`; whatever `init` raises.
        """
        until = asyncio.get_running_loop().time() + self._connect_seconds
        conn = await self._next(until)
        try:
            if self._looks and asyncio.get_running_loop().time() > self._look_at:
                await self._look(conn)
        except BaseException as error:
            self.discard(conn)
            if not isinstance(error, ABSENT):
                raise
            return await self._next(until)
        return conn

    async def _next(self, until: float) -> Connection:
        if self._closed:
            raise PoolClosedError
        while self._idle:
            conn = self._idle.pop()
            if not conn.is_closed():
                self._taken.add(conn)
                return conn
            self._slots += 1
        if self._slots:
            self._slots -= 1
            return await self._open(until)
        return await self._wait() or await self._open(until)

    def give(self, conn: Connection) -> None:
        """Hand `conn` to whoever waits longest, or keep it; one that is not idle outside a transaction is ended."""
        if conn not in self._taken:
            raise AssertionError("This connection was given back before: two callers would share it. Give it once.")
        if self._closed or conn.interrupted or conn.is_closed() or conn.is_in_transaction():
            self.discard(conn)
        elif (waiter := self._next_waiter()) is not None:
            waiter.set_result(conn)
        else:
            self._taken.remove(conn)
            self._idle.append(conn)

    def discard(self, conn: Connection) -> None:
        """End `conn` instead of giving it back; its place is free again once it is gone. Again: does nothing."""
        if conn not in self._taken:
            return
        self._taken.remove(conn)
        if conn.is_closed() or not conn.interrupted:
            conn.terminate()
            self._free()
            return
        # The request to cancel is still on its way, and ending the connection at once would call it off.
        task = asyncio.get_running_loop().create_task(self._end(conn))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        """A connection as it came, for the length of the block; ended when the block is cancelled or discards it."""
        conn = await self.take()
        whole = False
        try:
            await conn.leave()
            yield conn
            whole = True
        except Exception:
            whole = True
            raise
        finally:
            if whole and conn in self._taken:
                self.give(conn)
            else:
                self.discard(conn)

    async def close(self) -> None:
        """End idle connections now and taken ones when they are given back; waiters get PoolClosedError."""
        self._closed = True
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(PoolClosedError())
        idle, self._idle = self._idle, []
        await asyncio.gather(*(self._end(conn) for conn in idle), *self._ending, return_exceptions=True)

    def terminate(self) -> None:
        """End every connection at once, taken ones too: what they had not committed is rolled back."""
        self._closed = True
        for conn in [*self._idle, *self._taken]:
            conn.terminate()
        self._idle.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _wait(self) -> Connection | None:
        """The connection handed over, or None: a place to open one in."""
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            conn = await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._return(waiter.result())
            raise
        if conn is not None and conn.is_closed():
            self._taken.remove(conn)
            return None
        return conn

    def _return(self, conn: Connection | None) -> None:
        """Undo a hand-over whose receiver was cancelled before it woke."""
        if conn is None:
            self._free()
        else:
            self.give(conn)

    def _free(self) -> None:
        if (waiter := self._next_waiter()) is not None:
            waiter.set_result(None)
        else:
            self._slots += 1

    def _next_waiter(self) -> asyncio.Future[Connection | None] | None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    async def _end(self, conn: Connection) -> None:
        try:
            await conn.close(timeout=CLOSE_SECONDS)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            conn.terminate()
        finally:
            self._free()

    async def _open(self, until: float) -> Connection:
        try:
            conn = await self._connect(until)
        except BaseException:
            self._free()
            raise
        self._taken.add(conn)
        if self._closed:
            self.discard(conn)
            raise PoolClosedError
        return conn

    async def _connect(self, until: float) -> Connection:
        clock = asyncio.get_running_loop()
        for pause in pauses(BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS):
            try:
                return await self._connect_once(until - clock.time())
            except ABSENT:
                if self._closed or clock.time() + pause > until:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError

    async def _connect_once(self, seconds: float) -> Connection:
        conn = await connect(
            self._dsn, seconds=seconds, statements=self._statements, application_name=self._application_name
        )
        try:
            await self._see_statements_kept(conn, seconds)
            await self._look(conn)
        except BaseException:
            conn.terminate()
            raise
        return conn

    async def _see_statements_kept(self, conn: Connection, seconds: float) -> None:
        """Once, where a connection is lent: what another prepared under a name of ours would be executed there."""
        if not conn.lent or self._keeps_statements:
            return
        found = await pooler.look(self._dsn, max(seconds, CONNECT_SECONDS_MIN))
        if found.keeps_statements is False:
            raise StatementsLostError
        self._keeps_statements = found.keeps_statements is True  # where it is not known, the next one looks again

    async def _look(self, conn: Connection) -> None:
        self._look_at = asyncio.get_running_loop().time() + LOOK_SECONDS
        await conn.leave()
        await self._init(conn)
