"""Names looked up in threads, for this machine may take long over one: that makes nobody else wait."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

LOOKUPS_MAX: Final = 128
"""Names that one process looks up at once, of those that were found soon the last time; and as many of all others."""

SOON_SECONDS: Final = 1.0
NAMES_MAX: Final = 10_000

Name = tuple[str, int]
Find = Callable[[str, int], Sequence[str]]


def found_by_machine(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, as this machine looks them up. Raises OSError."""
    return [str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class Lookups:
    """Looks names up. A name has one thread at most, whoever asks for it and however long that takes.

    Names that were found soon the last time have threads of their own: any number of names that nobody answers for, or
    that are new, leave those alone.
    """

    def __init__(self, find: Find = found_by_machine, most: int = LOOKUPS_MAX) -> None:
        self._find = find
        self._soon = ThreadPoolExecutor(most, thread_name_prefix="webhook names")
        self._others = ThreadPoolExecutor(most, thread_name_prefix="other webhook names")
        self._looking: dict[Name, Future[Sequence[str]]] = {}
        self._found_soon: dict[Name, None] = {}

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """All addresses of a name. Raises OSError."""
        name = (host, port)
        looking = self._looking.get(name)
        if looking is None or looking.done():
            threads = self._soon if name in self._found_soon else self._others
            looking = self._looking[name] = threads.submit(self._look, name)
        return await asyncio.shield(asyncio.wrap_future(looking))

    def _look(self, name: Name) -> Sequence[str]:
        began = time.monotonic()
        try:
            return self._find(*name)
        finally:
            self._looking.pop(name, None)
            self._found_soon.pop(name, None)
            if time.monotonic() - began <= SOON_SECONDS and len(self._found_soon) < NAMES_MAX:
                self._found_soon[name] = None
