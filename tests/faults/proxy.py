"""A proxy in front of PostgreSQL that loses answers: it cuts, swallows or holds what passes at a COMMIT.

A statement of ours that is a transaction by itself commits by its execution, and has when the server is ready again.

```python
async with Proxy(dsn) as proxy:
    struck = proxy.at_commit(Fault.CUT, delivered=True)
    …  # use proxy.dsn: its next COMMIT happens, and the answer is lost
    await struck.wait()
```
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Awaitable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from steadhold.db.house import CHECK

COMMIT = re.compile(rb"(?:^|;)\s*(?:commit|end)\b", re.IGNORECASE)
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
RESET = struct.pack("ii", 1, 0)
SOCKET = 5432


class Fault(StrEnum):
    """What happens to the connection at the COMMIT."""

    CUT = "cut"
    """Both sides see it closed."""
    RESET = "reset"
    """The client sees a reset, the server a close."""
    SWALLOW = "swallow"
    """Nothing passes any more, in either direction, and nobody is told: a partition."""
    HOLD = "hold"
    """Nothing passes until `release`."""


@dataclass(eq=False)
class Strike:
    """A fault that waits for its COMMIT."""

    fault: Fault
    delivered: bool
    passes: int
    struck: asyncio.Event = field(default_factory=asyncio.Event)

    def due(self, *, delivered: bool) -> bool:
        if self.struck.is_set() or self.delivered is not delivered:
            return False
        self.passes -= 1
        return self.passes < 0


class Proxy:
    """Listens on the loopback interface, or on a socket in a folder; `dsn` is the URL of the same database through it.

    In a folder it is taken for the server itself, and what goes alone there goes alone. By TCP its port tells it apart.

    `delay_seconds` keeps back each of the server's messages for that long; with `refusing`, connections are
    closed as they come.
    """

    def __init__(self, dsn: str, *, folder: str | None = None) -> None:
        self._server_dsn = urlsplit(dsn)
        self._folder = folder
        self.delay_seconds = 0.0
        self.refusing = False
        self._strike: Strike | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._released = asyncio.Event()
        self._closing = asyncio.Event()
        self._links: set[Link] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    @property
    def dsn(self) -> str:
        """The URL of the same database, through this proxy."""
        if self._folder:
            return self._server_dsn._replace(query=f"host={self._folder}&port={SOCKET}").geturl()
        user, _, _ = self._server_dsn.netloc.rpartition("@")
        where = f"{user}@127.0.0.1:{self._port}" if user else f"127.0.0.1:{self._port}"
        return self._server_dsn._replace(netloc=where, query="sslmode=disable").geturl()

    def at_commit(self, fault: Fault, *, delivered: bool, passes: int = 0) -> asyncio.Event:
        """Strike once at a COMMIT, after letting some pass. The event tells that it has been struck.

        `delivered`: the server commits, and its answer is struck; else the COMMIT itself is, before it arrives.
        """
        self._released.clear()
        self._strike = Strike(fault, delivered, passes)
        return self._strike.struck

    def release(self) -> None:
        """Let go on what was held."""
        self._released.set()

    def stall(self) -> None:
        """Let nothing pass on any connection, until `resume`."""
        self._flowing.clear()

    def resume(self) -> None:
        """Let everything pass again."""
        self._flowing.set()

    def cut(self) -> None:
        """Cut every connection now."""
        for link in self._links:
            link.cut()

    async def __aenter__(self) -> Self:
        if self._folder:
            self._listener = await asyncio.start_unix_server(self._welcome, f"{self._folder}/.s.PGSQL.{SOCKET}")
            return self
        self._listener = await asyncio.start_server(self._welcome, "127.0.0.1", 0)
        self._port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._closing.set()
        self._listener.close()
        self.cut()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _welcome(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if self.refusing:
            to_client.transport.abort()
            return
        from_server, to_server = await self._connect()
        link = Link(to_client, to_server)
        self._links.add(link)
        for pumping in (self._to_server(link, from_client), self._to_client(link, from_server)):
            pump = asyncio.ensure_future(self._pump(link, pumping))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        query = parse_qs(self._server_dsn.query)
        host = query.get("host", [self._server_dsn.hostname or "127.0.0.1"])[0]
        port = int(query.get("port", [self._server_dsn.port or 5432])[0])
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pump(self, link: Link, pumping: Awaitable[None]) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await pumping
        link.cut()
        self._links.discard(link)

    async def _to_server(self, link: Link, client: asyncio.StreamReader) -> None:
        await self._begin(link, client)
        while True:
            kind, message = await _message(client)
            if link.commits(kind, message[5:]):
                await self._at(link, delivered=False)
            await self._pass(link, link.to_server, message)

    async def _begin(self, link: Link, client: asyncio.StreamReader) -> None:
        """Pass on what has no type: the first packets. Encryption is declined here."""
        while True:
            length = await client.readexactly(4)
            packet = length + await client.readexactly(int.from_bytes(length) - 4)
            if int.from_bytes(packet[4:8]) not in (SSL_REQUEST, GSS_REQUEST):
                return await self._pass(link, link.to_server, packet)
            await self._pass(link, link.to_client, b"N")

    async def _to_client(self, link: Link, server: asyncio.StreamReader) -> None:
        while True:
            kind, message = await _message(server)
            if link.committed(kind, message[5:]):
                await self._at(link, delivered=True)
            if self.delay_seconds:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), self.delay_seconds)
            await self._pass(link, link.to_client, message)

    async def _pass(self, link: Link, to: asyncio.StreamWriter, message: bytes) -> None:
        await self._flowing.wait()
        await link.whole.wait()
        to.write(message)
        await to.drain()

    async def _at(self, link: Link, *, delivered: bool) -> None:
        strike = self._strike
        if strike is None or not strike.due(delivered=delivered):
            return
        strike.struck.set()
        match strike.fault:
            case Fault.HOLD:
                await self._released.wait()
            case Fault.SWALLOW:
                link.whole.clear()
            case Fault.CUT | Fault.RESET:
                link.cut(reset=strike.fault is Fault.RESET)
                raise ConnectionError(strike.fault)


@dataclass(eq=False)
class Link:
    """One client's connection and what is known of its statements."""

    to_client: asyncio.StreamWriter
    to_server: asyncio.StreamWriter
    whole: asyncio.Event = field(default_factory=asyncio.Event)
    statements: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    portals: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    idle: bool = True
    alone: bool = False

    def __post_init__(self) -> None:
        self.whole.set()

    def commits(self, kind: bytes, body: bytes) -> bool:
        """Tell whether a message makes the server commit: a query, or the execution of a prepared one."""
        match kind:
            case b"Q":
                return bool(COMMIT.search(body))
            case b"P":
                name, query, _ = body.split(b"\0", 2)
                self.statements[name] = query
            case b"B":
                portal, name, _ = body.split(b"\0", 2)
                self.portals[portal] = self.statements.get(name, b"")
            case b"E":
                query = self.portals.get(body.split(b"\0", 1)[0], b"")
                self.alone = self.idle and b"steadhold." in query and query != CHECK.encode()
                return self.alone or bool(COMMIT.search(query))
            case _:
                pass
        return False

    def committed(self, kind: bytes, body: bytes) -> bool:
        """Tell whether the server says by a message that it has committed."""
        if kind == b"C":
            return body.startswith(b"COMMIT")
        if kind != b"Z":
            return False
        self.idle = body == b"I"
        alone, self.alone = self.alone, False
        return alone and self.idle

    def cut(self, *, reset: bool = False) -> None:
        """Close both sides at once; what was not yet sent is lost."""
        if reset and (sock := self.to_client.get_extra_info("socket")):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        for side in (self.to_client, self.to_server):
            side.transport.abort()


async def _message(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await stream.readexactly(5)
    return head[:1], head + await stream.readexactly(int.from_bytes(head[1:]) - 4)
