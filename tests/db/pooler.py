"""A transaction pooler in miniature: clients share backends, one transaction at a time, as behind PgBouncer.

It hands out the backend that has rested longest, so that a client on its own still wanders from one to another. One
that keeps prepared statements gives each a name of its own, and prepares it wherever its client comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

STARTUP = struct.pack("!i", 196608) + b"user\0steadhold\0database\0%s\0\0"
KEY = b"K" + struct.pack("!iii", 12, 7, 7)  # of its own: a request to cancel comes to the pooler
ENDS_A_TURN = (b"Q", b"S")  # after a simple query or a sync, the server says ready and nothing more


async def message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """One typed message: its kind, and the whole of it."""
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)


Messages = asyncio.Queue[tuple[bytes, bytes]]


async def read(reader: asyncio.StreamReader, into: Messages) -> None:
    """Queue what arrives; its end counts as the client's farewell."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            into.put_nowait(await message(reader))
    into.put_nowait((b"X", b""))


class Backend:
    """A connection to the server, what it has said, and the greeting it began with."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.greeting = b""
        self.said: Messages = asyncio.Queue()
        self.prepared: set[bytes] = set()
        self.owed = 0  # answers to what the pooler prepared here

    async def begin(self, database: str) -> None:
        hello = STARTUP % database.encode()
        self.writer.write(struct.pack("!i", len(hello) + 4) + hello)
        kind = b""
        while kind != b"Z":
            kind, whole = await message(self.reader)
            self.greeting += KEY if kind == b"K" else whole
        self.reading = asyncio.create_task(read(self.reader, self.said))

    async def end(self) -> None:
        self.reading.cancel()
        self.writer.close()
        await self.writer.wait_closed()


class Kept:
    """The prepared statements of one client, under the names that the pooler gave them."""

    numbers = itertools.count(1)

    def __init__(self) -> None:
        self.named: dict[bytes, tuple[bytes, bytes]] = {}

    def passed(self, kind: bytes, whole: bytes, backend: Backend) -> bytes:
        """What is sent to a backend for a message of the client."""
        if kind == b"P":
            name, _, rest = whole[5:].partition(b"\0")
            return self.prepare(name, rest, backend) if name else whole
        if kind == b"B":
            portal, name, rest = whole[5:].split(b"\0", 2)
            return self.asked(kind, portal + b"\0", name, rest, backend) if name else whole
        if kind in (b"D", b"C") and whole[5:6] == b"S" and len(whole) > 7:
            return self.asked(kind, b"S", whole[6:-1], b"", backend)
        return whole

    def prepare(self, name: bytes, rest: bytes, backend: Backend) -> bytes:
        self.named[name] = ours, _ = b"POOLER_%d" % next(self.numbers), rest
        backend.prepared.add(ours)
        return packed(b"P", ours + b"\0" + rest)

    def asked(self, kind: bytes, before: bytes, name: bytes, after: bytes, backend: Backend) -> bytes:
        ours, text = self.named[name]
        first = b""
        if ours not in backend.prepared:
            backend.prepared.add(ours)
            backend.owed += 1
            first = packed(b"P", ours + b"\0" + text)
        return first + packed(kind, before + ours + b"\0" + after)


def packed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


class Pooler:
    """Serves `size` backends of `database`, reached by the socket folder `upstream`."""

    def __init__(self, upstream: str, database: str, size: int, *, keeps: bool) -> None:
        self.upstream, self.database, self.size, self.keeps = upstream, database, size, keeps
        self.backends: list[Backend] = []
        self.rested: asyncio.Queue[Backend] = asyncio.Queue()
        self.clients: set[asyncio.Task[None] | None] = set()

    async def open(self) -> None:
        for _ in range(self.size):
            backend = Backend(*await asyncio.open_unix_connection(f"{self.upstream}/.s.PGSQL.5432"))
            await backend.begin(self.database)
            self.backends.append(backend)
            self.rested.put_nowait(backend)

    async def close(self) -> None:
        for client in list(self.clients):
            client.cancel()
        for backend in self.backends:
            await backend.end()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.add(asyncio.current_task())
        (length,) = struct.unpack("!i", await reader.readexactly(4))
        await reader.readexactly(length - 4)
        writer.write(self.backends[0].greeting)
        asks: Messages = asyncio.Queue()
        reading = asyncio.create_task(read(reader, asks))
        kept = Kept() if self.keeps else None
        with contextlib.suppress(asyncio.CancelledError):
            while (first := await asks.get())[0] != b"X":
                backend = await self.rested.get()
                try:
                    await self.transaction(first, asks, backend, writer, kept)
                finally:
                    self.rested.put_nowait(backend)
        reading.cancel()
        writer.close()
        self.clients.discard(asyncio.current_task())

    async def transaction(
        self,
        first: tuple[bytes, bytes],
        asks: Messages,
        backend: Backend,
        client: asyncio.StreamWriter,
        kept: Kept | None,
    ) -> None:
        """Pass messages both ways until the server has answered all and is in no transaction."""
        backend.writer.write(kept.passed(*first, backend) if kept else first[1])
        owed = first[0] in ENDS_A_TURN
        ask, said = (asyncio.create_task(queue.get()) for queue in (asks, backend.said))
        try:
            while True:
                await asyncio.wait((ask, said), return_when=asyncio.FIRST_COMPLETED)
                if said.done():
                    kind, whole = said.result()
                    if kind == b"1" and backend.owed:
                        backend.owed -= 1
                    else:
                        client.write(whole)
                    owed -= kind == b"Z"
                    if kind == b"Z" and not owed and whole[5:6] == b"I":
                        return
                    said = asyncio.create_task(backend.said.get())
                elif ask.done():
                    kind, whole = ask.result()
                    if kind == b"X":
                        backend.writer.write(b"Q\0\0\0\rrollback\0")
                        return
                    backend.writer.write(kept.passed(kind, whole, backend) if kept else whole)
                    owed += kind in ENDS_A_TURN
                    ask = asyncio.create_task(asks.get())
        finally:
            ask.cancel()
            said.cancel()


@asynccontextmanager
async def pooling(folder: Path, upstream: str, database: str, *, size: int, keeps: bool = False) -> AsyncIterator[str]:
    """The URL of a pooler that stands as long as this context; `keeps`: it keeps prepared statements."""
    pooler = Pooler(upstream, database, size, keeps=keeps)
    await pooler.open()
    server = await asyncio.start_unix_server(pooler.serve, folder / ".s.PGSQL.5432")
    try:
        yield f"postgresql://steadhold@/{database}?host={folder}"
    finally:
        server.close()
        await pooler.close()
