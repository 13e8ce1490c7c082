"""The same tools over standard input and output, for a client that starts a program: `steadhold mcp`."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, Final, Self, cast

import anyio
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from steadhold.mcp.asking import Answered, Asked, Send
from steadhold.mcp.speaker import Context, Speaker

DOCUMENT: Final = "/openapi.json"
STDIN: Final = 0
PIECE_BYTES: Final = 64 * 1024


async def serve(send: Send) -> bool:
    """Serve one client until it ends its side. False: it was ended here, because the key is not valid any more."""
    end = _End(send)
    lines = _Lines(end.told)

    def sends(_: Context) -> Send:
        return end.send

    server = Speaker(sends, _document).server
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        await server.run(read, cast("Any", _Watched(write, end)), server.create_initialization_options())
    return not end.told.is_set()


async def _document(send: Send) -> bytes:
    answer = await send(Asked("GET", DOCUMENT))
    if answer.status != 200:
        raise MCPError(types.INTERNAL_ERROR, "The server of steadhold does not answer; try again, or ask who runs it.")
    return answer.body


class _End:
    """Whether the key has ended: that is seen in an answer, and told once the client has it."""

    def __init__(self, send: Send) -> None:
        self._send, self.seen, self.told = send, False, asyncio.Event()

    async def send(self, asked: Asked) -> Answered:
        answer = await self._send(asked)
        self.seen = self.seen or answer.status == 401
        return answer


class _Watched:
    """What is written; after the message that tells of the key's end, nothing more is read."""

    def __init__(self, write: Any, end: _End) -> None:
        self._write, self._end = write, end

    async def send(self, item: Any) -> None:
        await self._write.send(item)
        if self._end.seen:
            self._end.told.set()

    async def aclose(self) -> None:
        await self._write.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Lines:
    """Lines of standard input, until it ends or `ended` is told. A thread reads: nothing else can of whatever it is."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended, self._came = ended, asyncio.Queue[bytes]()
        self._left, self._loop = b"", asyncio.get_running_loop()
        self._stop = asyncio.ensure_future(ended.wait())
        threading.Thread(target=self._read, daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while b"\n" not in self._left:
            piece = await self._piece()
            if not piece:
                self._stop.cancel()
                raise StopAsyncIteration
            self._left += piece
        line, _, self._left = self._left.partition(b"\n")
        return line.decode("utf-8", "replace")

    async def _piece(self) -> bytes:
        came = asyncio.ensure_future(self._came.get())
        try:
            done, _ = await asyncio.wait((came, self._stop), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            came.cancel()
            raise
        if came in done:
            return came.result()
        came.cancel()
        return b""

    def _read(self) -> None:
        piece = b"?"
        while piece:
            try:
                piece = os.read(STDIN, PIECE_BYTES)
            except OSError:
                piece = b""
            try:
                self._loop.call_soon_threadsafe(self._came.put_nowait, piece)
            except RuntimeError:
                return  # the loop has ended
