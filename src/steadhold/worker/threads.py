"""Threads for handlers that are plain functions. They are daemons: one that never returns must not keep the
process alive after its job was handed back.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

Work: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Threads:
    """As many threads as were ever busy at once."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    async def run(self, fn: Callable[[], Any]) -> Any:
        """Answer what `fn` returns, or raise what it raises, whatever that is."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._count += 1
                threading.Thread(target=self._loop, name=f"steadhold-handler-{self._count}", daemon=True).start()
        self._work.put((fn, answer, loop))
        error, result = await answer
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Let idle threads end; a busy one ends after its work."""
        for _ in range(self._count):
            self._work.put(None)

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            fn, answer, loop = work
            came = _outcome(fn)
            with self._lock:
                self._idle += 1
            try:
                loop.call_soon_threadsafe(_tell, answer, came)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            del fn, answer, loop, came, work


def _outcome(fn: Callable[[], Any]) -> tuple[BaseException | None, Any]:
    try:
        return None, fn()
    except BaseException as error:  # noqa: BLE001 - whoever waits for the answer judges it
        return error, None


def _tell(answer: asyncio.Future[Any], came: tuple[BaseException | None, Any]) -> None:
    if not answer.done():
        answer.set_result(came)
