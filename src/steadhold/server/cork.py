"""Head and body of an answer in one write: uvicorn writes each at once, and that is a system call each."""

from __future__ import annotations

from asyncio import Transport
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

App = Callable[[Any, Any, Any], Awaitable[None]]


class Cork(Transport):
    """Stands in for a transport while an answer is written, and writes it whole."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.transport, self.pieces = transport, list[bytes]()

    def write(self, data: Any) -> None:
        """Keep a piece."""
        self.pieces.append(data)

    def is_closing(self) -> bool:
        """Tell whether the real one is closing."""
        return self.transport.is_closing()

    def close(self) -> None:
        """Write what there is, and close."""
        self.pull()
        self.transport.close()

    def pull(self) -> None:
        """Write what there is."""
        if self.pieces:
            self.transport.write(b"".join(self.pieces))
            self.pieces.clear()


class Corked:
    """Sends for one request. An answer that comes in one piece leaves in one write; others as they come."""

    __slots__ = ("_cycle", "_start")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._start: Any = None

    async def send(self, message: Any) -> None:
        """Take a message of ASGI."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        start, self._start = self._start, None
        cycle = self._cycle
        transport = cycle.transport
        cork = cycle.transport = Cork(transport)
        try:
            if start is not None:
                await cycle.send(start)
            await cycle.send(message)
        finally:
            cycle.transport = transport
            cork.pull()


async def corked(cycle: RequestResponseCycle, app: App, scope: Any, receive: Any, _send: Any) -> None:
    """Run an application so that its answer leaves in one write."""
    await app(scope, receive, Corked(cycle).send)
