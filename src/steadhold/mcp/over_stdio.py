"""The same tools over standard input and output, for a client that starts a program: `steadhold mcp`."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import Any, Final, Self, cast

import anyio
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from steadhold.mcp.asking import Answered, Asked, Send
from steadhold.mcp.speaker import Context, Speaker

DOCUMENT: Final = "/openapi.json"
STDIN: Final = 0
STDOUT: Final = 1
LOOK_SECONDS: Final = 0.5
"""How often it is looked whether a client that sends nothing more still reads."""

PIECE_BYTES: Final = 64 * 1024


async def serve(send: Send) -> bool:
    """Serve one client until it ends its side. False: it was ended here, because the key is not valid any more."""
    client = os.dup(STDOUT)
    end = _End(send, client)
    try:
        await _spoken(end)
    except* BrokenPipeError:
        pass  # it reads no more
    finally:
        os.close(client)
    return not end.told.is_set()


async def _spoken(end: _End) -> None:
    lines = _Lines(end.told)

    def sends(_: Context) -> Send:
        return end.send

    server = Speaker(sends, _document).server
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        watched = cast("Any", _Came(read, end)), cast("Any", _Watched(write, end))
        await server.run(*watched, server.create_initialization_options())


async def _document(send: Send) -> bytes:
    answer = await send(Asked("GET", DOCUMENT))
    if answer.status != 200:
        raise MCPError(types.INTERNAL_ERROR, "The server of steadhold does not answer; try again, or ask who runs it.")
    return answer.body


class _End:
    """Whether the key has ended: that is seen in an answer, and told once the client has it.

    And what is still to be answered when the client sends nothing more: `asked` are the ids of its requests.
    """

    def __init__(self, send: Send, client: int) -> None:
        self._send, self.seen, self.told = send, False, asyncio.Event()
        self.asked: Counter[Any] = Counter()
        self._client, self._quiet = client, asyncio.Event()

    async def send(self, asked: Asked) -> Answered:
        answer = await self._send(asked)
        self.seen = self.seen or answer.status == 401
        return answer

    def came(self, message: Any) -> None:
        """Note a request, and one that its client has taken back."""
        if isinstance(message, types.JSONRPCRequest):
            self.asked[message.id] += 1
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self.answered((message.params or {}).get("requestId"))

    def answered(self, request_id: Any) -> None:
        """Note that a request needs no answer any more."""
        if isinstance(request_id, (str, int)):
            self.asked -= Counter({request_id: 1})
        self._quiet.set()

    async def all_answered(self) -> None:
        """Wait for the answers to what was asked, as long as somebody reads them."""
        while self.asked and not self.told.is_set() and not _left(self._client):
            self._quiet.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._quiet.wait(), LOOK_SECONDS)


def _left(client: int) -> bool:
    """Whether nobody reads any more what is written."""
    if sys.platform == "win32":
        return False
    looks = select.poll()
    looks.register(client, 0)
    return bool(looks.poll(0))


class _Came:
    """What is read. Its end comes when all is answered: the protocol drops what is under way when it ends."""

    def __init__(self, read: Any, end: _End) -> None:
        self._read, self._end = read, end

    @property
    def last_context(self) -> Any:
        """In which context the message was sent, which the protocol asks for."""
        return getattr(self._read, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._read.__anext__()
        except StopAsyncIteration:
            await self._end.all_answered()
            raise
        if not isinstance(item, Exception):
            self._end.came(item.message)
        return item

    async def aclose(self) -> None:
        await self._read.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Watched:
    """What is written; after the message that tells of the key's end, nothing more is read."""

    def __init__(self, write: Any, end: _End) -> None:
        self._write, self._end = write, end

    async def send(self, item: Any) -> None:
        await self._write.send(item)
        if self._end.seen:
            self._end.told.set()
        if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)):
            self._end.answered(item.message.id)

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
        self._left, self._over, self._loop = b"", False, asyncio.get_running_loop()
        self._stop = asyncio.ensure_future(ended.wait())
        threading.Thread(target=self._read, daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while b"\n" not in self._left and not self._over:
            piece = await self._piece()
            self._left, self._over = self._left + piece, not piece
        if self._over and (not self._left or self._ended.is_set()):
            self._stop.cancel()
            raise StopAsyncIteration
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
