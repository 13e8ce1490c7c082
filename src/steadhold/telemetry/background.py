"""What telemetry has to do that may take long, done by a thread: nobody who is served waits for it."""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

WAITING_MAX: Final = 10_000
"""What waits for the thread at most. More is dropped, and counted: a slow collector costs what it would have had."""

FAREWELL_SECONDS: Final = 2.0
"""How long the end of the process waits for what is left."""


class Background:
    """Does things in order, in one thread of its own, which begins with the first (and again after a fork)."""

    def __init__(self, name: str, waiting_max: int = WAITING_MAX) -> None:
        self.dropped = 0
        self._name, self._waiting_max = name, waiting_max
        self._work: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def do(self, what: Callable[..., Any], *about: Any) -> bool:
        """Have it done later, whatever it raises; False where too much waits already."""
        if self._work.qsize() >= self._waiting_max:
            self.dropped += 1
            return False
        self._work.put((what, about))
        if self._thread is None or not self._thread.is_alive():
            self._begin()
        return True

    def flush(self, seconds: float = FAREWELL_SECONDS) -> bool:
        """Wait until all that waits now was done; False where that took too long."""
        done = threading.Event()
        self._work.put((done.set, ()))
        if self._thread is None or not self._thread.is_alive():
            self._begin()
        return done.wait(seconds)

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None:
                atexit.register(self.flush)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            what, about = self._work.get()
            with contextlib.suppress(Exception):  # a collector that fails is no reason to stop
                what(*about)
            del what, about
