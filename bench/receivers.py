"""Receivers of webhooks on loopback: one that answers at once and tells when what came, and some that mean no good."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
LATE_SECONDS: Final = 2.0
DRIP_SECONDS: Final = 0.05

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """Keeps when each event came first; `came` tells of each."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.url = ""
        self._came = asyncio.Event()

    def note(self, head: bytes) -> None:
        """An event has come whole."""
        name = head.partition(b"webhook-id: ")[2].partition(b"\r\n")[0].decode()
        self.at.setdefault(name, time.perf_counter())
        self._came.set()

    async def until(self, count: int, seconds: float) -> None:
        """Wait until so many events have come. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while len(self.at) < count:
                self._came.clear()
                await self._came.wait()


class _Taking(asyncio.Protocol):
    """A connection on which one request comes after another."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver, self._came = receiver, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        while True:
            head, found, rest = self._came.partition(b"\r\n\r\n")
            lower = head.lower()
            length = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if not found or len(rest) < length:
                return
            self._came = rest[length:]
            self._receiver.note(lower)
            self._transport.write(ANSWER)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver that answers 200 at once."""
    receiver = Receiver()
    server = await asyncio.get_running_loop().create_server(lambda: _Taking(receiver), "127.0.0.1", 0)
    receiver.url = _url(server)
    try:
        yield receiver
    finally:
        server.close()


def _url(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


async def _never(writer: asyncio.StreamWriter) -> None:
    await writer.wait_closed()


async def _fails(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")


async def _late(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(LATE_SECONDS)
    writer.write(ANSWER)


async def _drips(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"x")
        await asyncio.sleep(DRIP_SECONDS)


async def _floods(writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await writer.drain()


HOSTILE: Final[tuple[Answer, ...]] = (_never, _fails, _late, _drips, _floods)


async def _served(count: int) -> None:
    servers: list[asyncio.Server] = []
    for n in range(count):
        servers.append(await asyncio.start_server(_told(HOSTILE[n % len(HOSTILE)]), "127.0.0.1", 0))
        print(_url(servers[-1]), flush=True)
    await asyncio.Event().wait()


def _told(answer: Answer) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0))
                await answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    return connected


if __name__ == "__main__":
    asyncio.run(_served(int(sys.argv[1])))
