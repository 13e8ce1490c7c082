"""One run of a worker: doors are opened, lanes filled, and in the end everything is handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steadhold.jobs.model import Release
from steadhold.worker.attempt import Outside
from steadhold.worker.claiming import Claimer, Terms
from steadhold.worker.door import Door, Doors
from steadhold.worker.held import CLOCK, Held, tell
from steadhold.worker.lane import Lane
from steadhold.worker.log import LOG
from steadhold.worker.outage import Outage
from steadhold.worker.renewal import Renewal
from steadhold.worker.runner import Handler, Runner
from steadhold.worker.settler import Settler

WATCH_SECONDS: Final = 0.1
WATCH_SECONDS_MIN: Final = 0.01
HAND_BACK_SECONDS: Final = 5.0
"""How long stopped handlers may take to unwind, and their jobs to be handed back."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a shift is told."""

    handlers: Mapping[str, Handler]
    concurrency: int
    prefetch: int
    terms: Terms
    drain_seconds: float
    on: Callable[..., None] | None


class Shift:
    """From the first claim to the last word."""

    def __init__(self, plan: Plan, doors: Doors) -> None:
        self._plan, self._doors = plan, doors
        self._loop = asyncio.get_running_loop()
        self._told = asyncio.Queue[None]()
        self._outage = Outage()
        self._renewal = Renewal(doors, self._lost_elsewhere, plan.on, self._outage)
        self._lanes: list[Lane] = []
        self._claimers: list[Claimer] = []
        self._tasks: list[asyncio.Task[None]] = []

    def stop(self) -> None:
        """Stop claiming, drain, release; told again, release at once. From any thread."""
        self._loop.call_soon_threadsafe(self._told.put_nowait, None)

    async def work(self) -> None:
        """Work until told to stop."""
        door = await self._doors()
        settler = Settler(door, self._failed)
        outside = Outside(door, settler, self._renewal.leases, self._tell, self._failed, self._lose)
        runner = Runner(self._plan.handlers, outside)
        self._open_lanes(door, runner, settler)
        self._renewal.start()
        claims = [self._spawn(claimer.run()) for claimer in self._claimers]
        background = [self._spawn(self._watching()), self._spawn(door.listen(self._woken))]
        self._tell("worker.started", worker=self._plan.terms.worker, types=tuple(self._plan.handlers))
        try:
            try:
                await self._until_told(claims)
            finally:
                await self._drain(claims)
                await self._hand_back(settler, claims)
        finally:
            for task in (*claims, *background):
                task.cancel()
            await asyncio.gather(*claims, *background, return_exceptions=True)
            await asyncio.to_thread(self._renewal.stop)
            runner.close()
            await door.close()
            self._tell("worker.stopped", worker=self._plan.terms.worker)

    def _open_lanes(self, door: Door, runner: Runner, settler: Settler) -> None:
        handlers, plan = self._plan.handlers.values(), self._plan
        shared = [handler.type for handler in handlers if handler.concurrency is None]
        lanes = [(shared, plan.concurrency)] if shared else []
        lanes += [([handler.type], handler.concurrency) for handler in handlers if handler.concurrency is not None]
        for types, places in lanes:
            ahead = min(plan.prefetch, places * 10)
            lane = Lane(types, places, ahead, runner, settler, self._renewal.leases, self._tell)
            self._lanes.append(lane)
            self._claimers.append(Claimer(lane, door, plan.terms, self._tell, self._failed, self._outage))

    async def _until_told(self, claims: list[asyncio.Task[None]]) -> None:
        """Wait for the word to stop, or for a claimer's error, which is nobody's to handle."""
        told = self._spawn(self._told.get())
        try:
            done, _ = await asyncio.wait([told, *claims], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            told.cancel()

    async def _drain(self, claims: list[asyncio.Task[None]]) -> None:
        """Claim nothing more, hand back what has not begun, and let handlers end."""
        self._tell("worker.draining", worker=self._plan.terms.worker)
        for lane, claimer in zip(self._lanes, self._claimers, strict=True):
            claimer.stop()
            lane.release(float("inf"))
        told = self._spawn(self._told.get())
        idle = self._spawn(self._until_idle(claims))
        await asyncio.wait([told, idle], timeout=self._plan.drain_seconds, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        idle.cancel()

    async def _until_idle(self, claims: list[asyncio.Task[None]]) -> None:
        await _ended(claims)
        while True:
            for lane in self._lanes:
                lane.freed.clear()
                lane.release(float("inf"))
            busy = [lane for lane in self._lanes if not lane.idle]
            if not busy:
                return
            await busy[0].freed.wait()

    async def _hand_back(self, settler: Settler, claims: list[asyncio.Task[None]]) -> None:
        """Stop what still runs; its attempts are refunded. Claims on their way hand back themselves what they took."""
        for lane in self._lanes:
            lane.release(float("inf"))
            lane.stop_all(Release())
        try:
            async with asyncio.timeout(HAND_BACK_SECONDS):
                await _ended(claims)
                for lane in self._lanes:
                    while not lane.unwound:
                        lane.freed.clear()
                        await lane.freed.wait()
                await settler.finish()
        except TimeoutError:
            LOG.warning("Some jobs could not be handed back in time; their leases will lapse.")

    async def _watching(self) -> None:
        while True:
            now = CLOCK()
            for lane in self._lanes:
                lane.watch(now)
            ends = [held.deadline for held in self._renewal.leases.all() if not held.over]
            pause = min(ends, default=now + WATCH_SECONDS) - now
            await asyncio.sleep(min(max(pause, WATCH_SECONDS_MIN), WATCH_SECONDS))

    def _lost_elsewhere(self, held: Held) -> None:
        """Called by the thread of renewal."""
        self._loop.call_soon_threadsafe(self._lose, held)

    def _lose(self, held: Held) -> None:
        for lane in self._lanes:
            if held.job.type in lane.types:
                lane.lose(held)

    def _woken(self, type: str) -> None:
        for lane, claimer in zip(self._lanes, self._claimers, strict=True):
            if type in lane.types:
                claimer.wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._loop.create_task(work)

    def _tell(self, name: str, /, **facts: Any) -> None:
        if self._plan.on is not None:
            tell(self._plan.on, name, **facts)

    def _failed(self, verb: str, error: Exception) -> None:
        self._outage.failed(verb, error)
        self._tell("door.failed", verb=verb, why=str(error))


async def _ended(claims: list[asyncio.Task[None]]) -> None:
    """Wait until claimers have ended, however; who stops waiting ends none of them in the middle of a claim."""
    if claims:
        await asyncio.wait(claims)
