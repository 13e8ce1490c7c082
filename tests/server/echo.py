"""A real server over an application that does what the address says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from steadhold.server.exchange import Exchange
from steadhold.server.protocol import Connection
from steadhold.server.run import Server, serving

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
HOST = b"Host: here\r\n"
PIECES = tuple(bytes([n]) * 200_000 for n in range(5))
ASK = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"


class Echo:
    """An application of ASGI that does what the address says."""

    def __init__(self) -> None:
        self.gate, self.left = asyncio.Event(), asyncio.Event()
        self.seen: list[dict[str, Any]] = []
        self.received: list[Any] = []

    async def start(self) -> None:
        """Nothing is to be opened."""

    async def stop(self) -> None:
        """Nothing is to be closed."""

    def stop_waiting(self) -> None:
        """Nobody waits."""

    async def serve(self, exchange: Exchange) -> None:
        if exchange.raw_path == b"/pieces":
            await exchange.answer(200, b"content-length: %d\r\n" % sum(map(len, PIECES)), PIECES)
        else:
            await self(exchange.scope(), exchange.receive, exchange.send)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        self.seen.append(scope)
        await getattr(self, scope["path"].strip("/") or "small")(receive, send)

    async def small(self, _receive: Receive, send: Send) -> None:
        await _head(send, [(b"content-length", b"2")])
        await send({"type": "http.response.body", "body": b"ok"})

    async def gated(self, receive: Receive, send: Send) -> None:
        await self.gate.wait()
        await self.small(receive, send)

    async def linger(self, receive: Receive, send: Send) -> None:
        await self.small(receive, send)
        await self.gate.wait()

    async def body(self, receive: Receive, send: Send) -> None:
        more = True
        while more:
            self.received.append(await receive())
            more = self.received[-1].get("more_body", False)
        await self.small(receive, send)

    async def stream(self, _receive: Receive, send: Send) -> None:
        await _head(send, [])
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await self.gate.wait()
        await send({"type": "http.response.body", "body": b"two"})

    async def wait(self, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()

    async def short(self, _receive: Receive, send: Send) -> None:
        await _head(send, [(b"content-length", b"9")])
        await send({"type": "http.response.body", "body": b"ok"})

    async def split(self, _receive: Receive, send: Send) -> None:
        await _head(send, [(b"x-a", b"b\r\nx-c: d")])
        await send({"type": "http.response.body", "body": b"ok"})

    async def broken(self, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("a secret")

    async def silent(self, _receive: Receive, _send: Send) -> None:
        return


async def _head(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


class Site:
    def __init__(self, app: Echo, server: Server, port: int) -> None:
        self.app, self.server, self.port = app, server, port

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *pieces: bytes) -> bytes:
        """All that is answered until the server closes."""
        reader, writer = await self.connect()
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            answer = await reader.read()
        writer.close()
        return answer

    @property
    def connections(self) -> set[Connection]:
        return self.server.server_state.connections


@asynccontextmanager
async def echoing() -> AsyncIterator[Site]:
    """Serve an echo on a port of its own."""
    app = Echo()
    listener = socket.create_server(("127.0.0.1", 0))
    async with serving(app, listener) as server:
        yield Site(app, server, listener.getsockname()[1])


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0)


def last(address: bytes, more: bytes = b"") -> bytes:
    return b"GET " + address + b" HTTP/1.1\r\n" + HOST + more + b"Connection: close\r\n\r\n"
