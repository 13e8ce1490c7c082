"""A request and its answer as the doors see them, whoever carries them: any ASGI server, or a connection of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from steadhold.web import wire
from steadhold.web.body import Receive
from steadhold.web.wire import Send


class Exchange(Protocol):
    """One request, and the one answer that it gets. `raw_path` and `query` are the address as it was sent.

    `receive` is ASGI's: the pieces of the body, then the word that the client has left.
    """

    method: str
    raw_path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]

    @property
    def receive(self) -> Receive:
        """What ASGI calls receive."""
        ...

    def whole(self) -> bytes | None:
        """The body, taken at once if all of it is there; None: `receive` it."""
        ...

    async def answer(self, status: int, fields: bytes, body: bytes) -> None:
        """Answer. `fields` are lines as they are sent; a HEAD gets no body."""
        ...


class OverAsgi:
    """An exchange that an ASGI server carries."""

    __slots__ = ("_receive", "_send", "headers", "method", "query", "raw_path")

    def __init__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        self.raw_path, self.query = _raw_path(scope), bytes(scope["query_string"])
        self._receive, self._send = receive, send

    @property
    def receive(self) -> Receive:
        """The server's own."""
        return self._receive

    def whole(self) -> bytes | None:
        """ASGI does not tell before it is asked."""
        return None

    async def answer(self, status: int, fields: bytes, body: bytes) -> None:
        """Answer in ASGI's messages."""
        await wire.tell(self._send, status, fields, body, head=self.method == "HEAD")


def _raw_path(scope: Mapping[str, Any]) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    root = scope.get("root_path", "").encode()
    return raw[len(root) :] if root and raw.startswith(root) else raw
