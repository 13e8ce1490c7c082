"""Receivers on loopback, kind and hostile, that count what reaches them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager


class Receiver:
    """Answers each request by `answer(reader, writer, head, body)`; keeps what came."""

    def __init__(self, answer):
        self.answer, self.seen, self.connections = answer, [], 0
        self.arrived = asyncio.Condition()

    async def _one(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:] if ": " in line)
                fields = {name.lower(): value for name, value in fields.items()}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                async with self.arrived:
                    self.seen.append((fields, body))
                    self.arrived.notify_all()
                await self.answer(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def some(self, count):
        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(lambda: len(self.seen) >= count), 20)
        return self.seen


def says(status=200, body=b"", **fields):
    async def answer(writer):
        told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{told}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    return answer


async def never(writer):
    """Say nothing for as long as the other side is there."""
    await writer.wait_closed()


async def cut(writer):
    """Act, and close without an answer."""
    writer.close()


def drips(head):
    async def answer(writer):
        writer.write(head)
        closed = asyncio.ensure_future(writer.wait_closed())
        closed.add_done_callback(lambda done: done.cancelled() or done.exception())
        while not closed.done():
            writer.write(b"x")
            await writer.drain()
            await asyncio.wait({closed}, timeout=0.01)

    return answer


def sends(megabytes):
    async def answer(writer):
        writer.write(f"HTTP/1.1 200 X\r\nContent-Length: {megabytes * 2**20}\r\n\r\n".encode())
        for _ in range(megabytes):
            writer.write(b"x" * 2**20)
            await writer.drain()

    return answer


def floods(head, piece):
    """Begin an answer and never end it, as fast as the other side reads."""

    async def answer(writer):
        writer.write(head)
        while True:
            writer.write(piece * 100)
            await writer.drain()

    return answer


@asynccontextmanager
async def receiving(answer, host="127.0.0.1"):
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver._one, host, 0)
    receiver.port = server.sockets[0].getsockname()[1]
    receiver.url = f"http://{host}:{receiver.port}/hook"
    try:
        yield receiver
    finally:
        server.close()
