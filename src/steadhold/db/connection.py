"""One connection of a pool, and what has to be known of it."""

from __future__ import annotations

import asyncio
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from steadhold.db.errors import StatementsLostError

if TYPE_CHECKING:
    Driver = asyncpg.Connection[asyncpg.Record]
else:
    Driver = asyncpg.Connection  # generic in its stubs only

CONNECT_SECONDS_MIN: Final = 0.1
LOST: Final = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
"""A prepared statement was looked for on another backend, or made where another client's of that name is."""


class Connection(Driver):
    """An asyncpg connection, of which its users remember what they prepared."""

    prepared: set[str] | None = None
    """The text of each statement; None where none stays prepared."""
    ready: set[str]
    """The names of the calls for which all is prepared."""
    direct = False
    """Whether its session is ours alone: behind a pooler, what is set for a session is set for whoever comes next."""
    lent = False
    """Whether the server is another process than who answered us: a pooler of some kind lends us one."""
    at: tuple[str, int] | None = None
    """The workspace and the lock timeout that are set for its session."""
    interrupted = False
    """Whether a statement was cancelled: then nobody knows in what state the connection is."""

    async def is_direct(self) -> bool:
        """Whether the server knows us by what we know ourselves by: a pooler has keys and a port of its own.

        It is asked without a name, in one transaction: nobody knows yet where a named statement would be left.
        """
        await self.execute("begin read only")
        asked = await self.prepare("select pg_backend_pid(), inet_client_port()", name="")
        ((pid, port),) = await asked.fetch()
        await self.execute("rollback")
        self.lent = pid != self.get_server_pid()
        transport: asyncio.Transport = self._transport
        name: Any = transport.get_extra_info("sockname")
        ours: int | None = name[1] if isinstance(name, tuple) else None
        return bool(not self.lent and port == ours)

    async def leave(self) -> None:
        """Let its session be as it came."""
        if self.at is not None:
            await self._set("reset role; reset all", None)

    async def enter(self, said: str, at: tuple[str, int]) -> None:
        """Set its session as `said`, and remember where it is."""
        await self._set(said, at)

    async def _set(self, said: str, at: tuple[str, int] | None) -> None:
        try:
            await self.execute(said)
        except BaseException:
            self.terminate()  # nobody knows what is set
            raise
        self.at = at

    async def _do_execute(self, *args: Any, **named: Any) -> Any:
        try:
            return await methodcaller("_do_execute", *args, **named)(super())
        except LOST as error:
            raise StatementsLostError from error

    def _cancel_current_command(self, *waiters: object) -> None:
        self.interrupted = True
        methodcaller("_cancel_current_command", *waiters)(super())


async def connect(dsn: str, *, seconds: float, statements: int, application_name: str) -> Connection:
    """Open a connection within `seconds`, which keeps so many prepared statements. Raises what the driver says."""
    conn: Any = await asyncpg.connect(
        dsn,
        timeout=max(seconds, CONNECT_SECONDS_MIN),
        statement_cache_size=statements,
        max_cached_statement_lifetime=0,
        server_settings={"application_name": application_name},
        connection_class=Connection,
    )
    conn.prepared, conn.ready = (set() if statements else None), set()
    try:
        async with asyncio.timeout(max(seconds, CONNECT_SECONDS_MIN)):
            conn.direct = bool(statements) and await conn.is_direct()
    except BaseException:
        conn.terminate()
        raise
    return conn
