"""A request and its answer as the doors see them, whoever carries them: any ASGI server, or a connection of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol
from urllib.parse import quote

from steadhold.web import wire
from steadhold.web.body import Receive
from steadhold.web.wire import Send

CUT_SECONDS: Final = 0.5
"""How long a client has to take the end of an answer that is ended for it."""

WRITE_BYTES_MAX: Final = 256 * 1024
"""So much of a piece is given to a connection at once: what its client has not taken lies there as a copy."""


class Exchange(Protocol):
    """One request, and the one answer that it gets. `raw_path` and `query` are the address as it was sent.

    `receive` is ASGI's: the pieces of the body, then the word that the client has left.
    """

    method: str
    raw_path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """Who answers it."""
        ...

    @property
    def root(self) -> str:
        """What stands before `raw_path` in the address that the client wrote: where an application mounted us."""
        ...

    @property
    def receive(self) -> Receive:
        """What ASGI calls receive."""
        ...

    def whole(self) -> bytes | None:
        """The body, taken at once if all of it is there; None: `receive` it."""
        ...

    async def answer(self, status: int, fields: bytes, pieces: tuple[bytes, ...]) -> None:
        """Answer. `fields` are lines as they are sent; a HEAD gets no body."""
        ...

    async def begin(self, status: int, fields: bytes, *, closes: bool) -> None:
        """Begin an answer whose body comes in pieces. `closes`: nothing is answered on this connection after it."""
        ...

    async def piece(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece of a body, as soon as the client has read enough of those before."""
        ...

    async def cut(self, *, whole: bool) -> None:
        """End an answer that was begun. The client must see that it is not all, unless it is `whole`."""
        ...

    def take_slowly(self) -> None:
        """The body is received piece by piece: whoever does so bounds how long it may take."""
        ...


class OverAsgi:
    """An exchange that an ASGI server carries."""

    __slots__ = ("_receive", "_send", "headers", "method", "query", "raw_path", "root", "task")

    def __init__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        self.root = quote(scope.get("root_path", ""))
        self.raw_path, self.query = _raw_path(scope), bytes(scope["query_string"])
        self._receive, self._send = receive, send
        self.task = asyncio.current_task()

    @property
    def receive(self) -> Receive:
        """The server's own."""
        return self._receive

    def whole(self) -> bytes | None:
        """ASGI does not tell before it is asked."""
        return None

    async def answer(self, status: int, fields: bytes, pieces: tuple[bytes, ...]) -> None:
        """Answer in ASGI's messages."""
        await wire.tell(self._send, status, fields, pieces, head=self.method == "HEAD")

    async def begin(self, status: int, fields: bytes, *, closes: bool) -> None:
        """Send the start; what becomes of the connection is the server's business."""
        del closes
        await self._send({"type": "http.response.start", "status": status, "headers": wire.pairs(fields)})

    async def piece(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece; how long that waits for the client is the server's business."""
        await self._send({"type": "http.response.body", "body": body, "more_body": not last})

    async def cut(self, *, whole: bool) -> None:
        """End what may end here, if the client takes it at once; a server cuts what an application leaves open."""
        if whole:
            with suppress(Exception):
                async with asyncio.timeout(CUT_SECONDS):
                    await self.piece(b"", last=True)

    def take_slowly(self) -> None:
        """The server's business."""


def _raw_path(scope: Mapping[str, Any]) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    root = scope.get("root_path", "").encode()
    return raw[len(root) :] if root and raw.startswith(root) else raw
