"""Taking connections off a listener that other processes take them off as well."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from steadhold.server.listening import BACKLOG

AT_ONCE: Final = 4
TURN_SECONDS: Final = 0.001
WORN_SECONDS: Final = 1.0
"""How long none is taken where the system has no room for one more."""


class Accepting:
    """Takes a few connections, and then leaves the others' turn to them: who is awake first would have them all.

    It stands in for asyncio's own server, of which uvicorn needs no more than this.
    """

    def __init__(self, listener: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._listener, self._protocol = listener, protocol
        self._loop = asyncio.get_running_loop()
        self._greeting: set[asyncio.Task[object]] = set()
        self._closed = False
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._listen()

    def _listen(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener.fileno(), self._take)

    def _take(self) -> None:
        pause = TURN_SECONDS
        try:
            for _ in range(AT_ONCE):
                self._greet(self._listener.accept()[0])
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:
            pause = WORN_SECONDS
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(pause, self._listen)

    def _greet(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._connected(connection))
        self._greeting.add(task)
        task.add_done_callback(self._greeting.discard)

    async def _connected(self, connection: socket.socket) -> None:
        await self._loop.connect_accepted_socket(self._protocol, connection)

    def close(self) -> None:
        """Take no more."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._listener.fileno())

    async def wait_closed(self) -> None:
        """All that were taken are known to who serves them."""
        await asyncio.gather(*self._greeting, return_exceptions=True)
