"""`python -m bench.hop DSN`: what one hop of HTTP takes from a read, where nothing else is done.

It answers each GET with the `bytea` that a row of this name has: nobody is known, asked or told, and nothing but the
request's line is read. It runs on the loop and the driver of a server of ours, on a connection for each client.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final, cast

import asyncpg
import uvloop

from steadhold.server.memory import keep_what_is_freed

READ: Final = "select bytes from bare where name = $1"


class Hop(asyncio.Protocol):
    """A connection. Its client sends one request at a time, whole."""

    def __init__(self, dsn: str) -> None:
        self._opened = asyncio.get_running_loop().create_task(asyncpg.connect(dsn))
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self._out = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer."""
        name = data.split(b" ", 2)[1].rpartition(b"/")[2].decode()
        self._answering = asyncio.get_running_loop().create_task(self._answer(name))

    def connection_lost(self, exc: Exception | None) -> None:
        """End what was opened for it."""
        del exc
        self._opened.add_done_callback(lambda opened: opened.result().terminate())

    async def _answer(self, name: str) -> None:
        conn = await self._opened
        body = await conn.fetchval(READ, name)
        self._out.writelines((b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body), body))


async def main(dsn: str) -> None:
    """Listen on a free port, and print it."""
    keep_what_is_freed()
    server = await asyncio.get_running_loop().create_server(lambda: Hop(dsn), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
