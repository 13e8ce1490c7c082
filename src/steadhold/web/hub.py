"""Who waits for what, within this process. A hint only makes waiters look again; a poll would find the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Key: TypeAlias = tuple[str, ...]
"""A workspace and a topic."""


class Hint:
    """One waiter. `gone` says that its client has left."""

    __slots__ = ("_event", "alone", "gone")

    def __init__(self, *, alone: bool) -> None:
        self._event, self.alone, self.gone = asyncio.Event(), alone, False

    @property
    def woken(self) -> bool:
        """Whether it was woken and has not looked yet."""
        return self._event.is_set()

    def wake(self) -> None:
        """Make it look again."""
        self._event.set()

    def leave(self) -> None:
        """Its client has gone."""
        self.gone = True
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait to be woken, or for the time to pass."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()


class Hub:
    """The waiters of this process, by topic."""

    def __init__(self) -> None:
        self.tell: Callable[[Key], None] = lambda _: None  # set by whoever carries hints to other processes
        self._waiters: dict[Key, dict[Hint, None]] = {}
        self._hints: set[Hint] = set()
        self.stopping = False

    def __len__(self) -> int:
        return len({hint for hints in self._waiters.values() for hint in hints})

    @contextmanager
    def waiting(self, keys: Iterable[Key], *, alone: bool) -> Iterator[Hint]:
        """Be woken by any of these keys for as long as this is open; whoever comes once all stops is woken at once."""
        hint = Hint(alone=alone)
        if self.stopping:
            hint.wake()
        keys = tuple(keys)
        self._hints.add(hint)
        for key in keys:
            self._waiters.setdefault(key, {})[hint] = None
        try:
            yield hint
        finally:
            self._hints.discard(hint)
            for key in keys:
                hints = self._waiters[key]
                del hints[hint]
                if not hints:
                    del self._waiters[key]

    def touch(self, key: Key) -> None:
        """Something happened here: wake its waiters, in other processes too."""
        self.wake(key)
        self.tell(key)

    def wake(self, key: Key) -> None:
        """Wake all waiters of this process, but of those who wait alone only the first that sleeps."""
        alone_woken = False
        for hint in self._waiters.get(key, ()):
            if hint.alone and (alone_woken or hint.woken):
                continue
            alone_woken |= hint.alone
            hint.wake()

    def stop(self) -> None:
        """The server is going: wake everyone, for the last time."""
        self.stopping = True
        for hint in self._hints:
            hint.wake()
