"""Where the callers of one workspace stand while flushes run."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Any

from steadhold.play.flush import Entry


class Lane:
    """One workspace: who waits for the next flush, and who waits behind a stranger's lock."""

    __slots__ = (
        "apart",
        "awaited",
        "bell",
        "flushers",
        "loop",
        "lost",
        "parked",
        "queued",
        "ready",
        "stuck",
        "workspace",
    )

    def __init__(self, workspace: str) -> None:
        self.workspace, self.loop = workspace, asyncio.get_running_loop()
        self.ready: deque[Entry[Any]] = deque()
        self.stuck: Counter[str] = Counter()
        self.parked: deque[Entry[Any]] = deque()
        self.flushers = 0
        self.apart = 0
        self.queued = False
        self.lost = False
        self.awaited = 0
        self.bell: asyncio.Future[None] | None = None  # set while somebody waits for as many callers as are awaited

    @property
    def idle(self) -> bool:
        """Whether nobody waits here, and nothing is under way."""
        return not (self.calls or self.flushers or self.queued or self.apart or self.stuck)

    @property
    def calls(self) -> int:
        """How many callers wait here."""
        return len(self.ready) + len(self.parked)

    def take(self, most: int) -> list[Entry[Any]]:
        """Take the callers of the next flush; who has gone away meanwhile is left out."""
        taken: list[Entry[Any]] = []
        while self.ready and len(taken) < most:
            entry = self.ready.popleft()
            if not entry.answer.done():
                taken.append(entry)
        return taken

    def place(self, entry: Entry[Any]) -> None:
        """Let a caller wait for the next flush."""
        self.ready.append(entry)
        if self.bell is not None and len(self.ready) >= self.awaited and not self.bell.done():
            self.bell.set_result(None)

    async def gather(self, more: int, seconds: float) -> None:
        """Wait until so many more callers have come to those who wait, or for the time to pass."""
        self.awaited, self.bell = len(self.ready) + more, asyncio.get_running_loop().create_future()
        await asyncio.wait((self.bell,), timeout=seconds)
        self.bell = None
