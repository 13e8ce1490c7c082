"""One job system in a process of its own, told line by line what to do. Needs nothing but the standard library.

Enqueuer and worker share the process and its event loop, for every system alike. A job's handler does nothing but
tell that it was begun.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

CONCURRENCY = 100
CHUNK = 1_000
SPACING_SECONDS = 0.02
BACKLOG_MIN, BACKLOG_MAX = 400, 4_000


class System(Protocol):
    """What a file of a job system defines."""

    route: str
    worker: str

    async def open(self, dsn: str) -> None:
        """Set its schema up and connect."""
        ...

    async def enqueue(self, count: int) -> None:
        """Enqueue so many jobs by the fastest call that it has."""
        ...

    async def one(self, at: float) -> None:
        """Enqueue one job that carries when its call began."""
        ...

    async def start(self) -> None:
        """Start the worker."""
        ...

    async def unsettled(self) -> int:
        """How many jobs the database does not hold as done."""
        ...


class Tally:
    """What handlers tell."""

    def __init__(self) -> None:
        self.begun = 0
        self.delays_ms: list[float] = []

    def hit(self, at: float = 0) -> None:
        """Tell that a job was begun; `at` is when its enqueuer's call began, 0 where nobody asks."""
        self.begun += 1
        if at:
            self.delays_ms.append((time.time() - at) * 1e3)


async def chunked(count: int, send: Callable[[int], Awaitable[Any]], size: int = CHUNK) -> None:
    """Send so many in calls of at most `size`."""
    for begun in range(0, count, size):
        await send(min(size, count - begun))


async def parallel(count: int, send: Callable[[int], Awaitable[Any]], width: int = 16) -> None:
    """Send so many one by one, `width` at once: for systems without a call for many."""

    async def some(lane: int) -> None:
        for _ in range(lane, count, width):
            await send(lane)

    await asyncio.gather(*(some(lane) for lane in range(width)))


class Bench:
    """Does what it is told, and answers with figures."""

    def __init__(self, system: System, tally: Tally) -> None:
        self.system, self.tally = system, tally

    async def enqueue(self, jobs: int, **_: Any) -> dict[str, Any]:
        """Enqueue while no worker runs."""
        began = time.perf_counter()
        await self.system.enqueue(jobs)
        return {"seconds": time.perf_counter() - began}

    async def drain(self, jobs: int, seconds_max: float, **_: Any) -> dict[str, Any]:
        """Start the worker; from then until every job is settled in the database."""
        self.tally.begun = 0
        began = time.perf_counter()
        await self.system.start()
        done = await self._settled(jobs, began + seconds_max)
        return {"seconds": time.perf_counter() - began, "jobs": done}

    async def latency(self, jobs: int, **_: Any) -> dict[str, Any]:
        """From the beginning of an enqueuer's call to the beginning of the handler, one job at a time."""
        for _ in range(10):
            await self.system.one(time.time())
            await asyncio.sleep(SPACING_SECONDS)
        await asyncio.sleep(1.0)
        self.tally.delays_ms.clear()
        for _ in range(jobs):
            await self.system.one(time.time())
            await asyncio.sleep(SPACING_SECONDS)
        await self._until(lambda: len(self.tally.delays_ms) >= jobs, time.perf_counter() + 15)
        return {"delays_ms": [round(each, 3) for each in self.tally.delays_ms]}

    async def steady(self, seconds: float, **_: Any) -> dict[str, Any]:
        """Keep about a second's work before the running worker, and count what is begun in each second."""
        begun_before = sent = self.tally.begun
        backlog = BACKLOG_MIN
        rates: list[int] = []
        began = second = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds:
            if sent - self.tally.begun < backlog:
                await self.system.enqueue(backlog // 4)
                sent += backlog // 4
            else:
                await asyncio.sleep(0.005)
            if now - second >= 1:
                rates.append(round((self.tally.begun - begun_before) / (now - second)))
                begun_before, second = self.tally.begun, now
                backlog = min(BACKLOG_MAX, max(BACKLOG_MIN, rates[-1]))
        await self._settled(0, time.perf_counter() + 10)
        return {"begun_each_second": rates}

    async def _settled(self, jobs: int, until: float) -> int:
        await self._until(lambda: self.tally.begun >= jobs, until)
        while (left := await self.system.unsettled()) and time.perf_counter() < until:  # noqa: ASYNC110 - it polls
            await asyncio.sleep(0.01)
        return max(0, jobs - left)

    async def _until(self, holds: Callable[[], bool], until: float) -> None:
        while not holds() and time.perf_counter() < until:  # noqa: ASYNC110 - handlers may run in other threads
            await asyncio.sleep(0.002)


async def serve(system: System, tally: Tally) -> None:
    """Answer each line of standard input by a line, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not be read as an answer
    bench = Bench(system, tally)
    await system.open(sys.argv[1])
    _say(answers, {"route": system.route, "worker": system.worker})
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        _say(answers, await getattr(bench, asked.pop("do"))(**asked))
    os._exit(0)  # workers that are still polling are of no interest now


def _say(answers: Any, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def main(system: System, tally: Tally, *, uv: bool = True) -> None:
    """Run until told no more, and end at once."""
    logging.disable(logging.WARNING)
    try:
        if uv:
            import uvloop

            uvloop.run(serve(system, tally))
        else:
            asyncio.run(serve(system, tally))
    except BaseException as error:  # noqa: BLE001 - it is told, whatever it is
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
