"""Claims jobs for a lane while it has places: woken by hints, and never asking less often than `poll_seconds_max`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from steadhold.db.backoff import SPREAD
from steadhold.jobs.model import Release, Settlement
from steadhold.jobs.outcomes import Beat, Beaten, Claimed
from steadhold.jobs.plans import EPOCH
from steadhold.kit.ids import new_id
from steadhold.worker.door import Ask, Door, DoorShut
from steadhold.worker.held import CLOCK, Held
from steadhold.worker.lane import Lane
from steadhold.worker.outage import Outage

POLL_SECONDS_MIN: Final = 0.05
POLL_GROWTH: Final = 1.6
WAIT_SECONDS: Final = 20.0
LATE_SHARE: Final = 0.1
"""An answer that took more of the lease than this is re-validated before a handler begins."""

FLOOR_LAG: Final = timedelta(seconds=2)


class Floor:
    """From where claims look for jobs. What is older was claimed, or commits late and is found by a look at all."""

    def __init__(self, rescan_seconds: float) -> None:
        self._rescan_seconds = rescan_seconds
        self._floor = EPOCH
        self._look_at_all_at = 0.0
        self._left_some = False
        self._short = False

    def next(self, now: float) -> datetime:
        """The floor of the next claim."""
        return EPOCH if now >= self._look_at_all_at or self._short else self._floor

    def saw(self, floor: datetime, got: Sequence[Claimed], limit: int, now: float) -> None:
        """Learn from a claim. Where the last look at all left some, one that finds few is followed by another."""
        full = len(got) >= limit
        if got:
            self._floor = max(self._floor, max(job.run_at for job in got) - FLOOR_LAG)
        if floor is EPOCH:
            self._look_at_all_at = now + self._rescan_seconds
            self._left_some, self._short = full, False
        else:
            self._short = self._left_some and not full


@dataclass(frozen=True, slots=True)
class Terms:
    """What every claim of a worker says."""

    worker: str
    versions: tuple[str, ...]
    lease_seconds: float | None
    poll_seconds_max: float


class Claimer:
    """The claims of one lane."""

    def __init__(
        self,
        lane: Lane,
        door: Door,
        terms: Terms,
        tell: Callable[..., None],
        failed: Callable[[str, Exception], None],
        outage: Outage,
    ) -> None:
        self._lane, self._door, self._terms, self._tell = lane, door, terms, tell
        self._failed, self._outage = failed, outage
        self._floor = Floor(terms.poll_seconds_max)
        self._woken = asyncio.Event()
        self._pause = POLL_SECONDS_MIN
        self._asked_at = 0.0
        self._stopping = False
        self._request: asyncio.Task[list[Claimed]] | None = None

    def wake(self) -> None:
        """Look now: somebody says that there is something."""
        self._woken.set()

    def stop(self) -> None:
        """Claim nothing more. What is on its way is handed back."""
        self._stopping = True
        self.wake()
        self._lane.freed.set()
        if self._request is not None and self._door.wakes:
            self._request.cancel()

    async def run(self) -> None:
        """Claim until stopped."""
        while not self._stopping:
            while not self._lane.hungry and not self._stopping:
                self._lane.freed.clear()
                await self._lane.freed.wait()
            if self._stopping:
                return
            self._woken.clear()
            got = await self._claim()
            if got:
                self._pause = POLL_SECONDS_MIN
            elif not self._stopping:
                await self._idle(CLOCK() - self._asked_at)

    async def _claim(self) -> bool:
        """Claim once; say whether there was something."""
        sent = self._asked_at = CLOCK()
        ask = self._ask(sent)
        self._request = asyncio.get_running_loop().create_task(self._door.claim(ask))
        try:
            got = await self._request
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            await self._hand_back(ask)
            return False
        except DoorShut as error:
            self._failed("claim", error)
            self._pause = self._terms.poll_seconds_max
            return False
        finally:
            self._request = None
        self._outage.over()
        self._floor.saw(ask.floor, got, ask.limit, sent)
        for job in got:
            self._tell("job.claimed", job_id=job.id, fence=job.fence, type=job.type, attempt=job.attempt)
        valid = [] if self._stopping else await self._valid([Held(job, sent) for job in got], CLOCK() - sent)
        if self._stopping:  # looked at last of all: the check may have taken as long as an outage
            await self._release(got)
            return False
        self._lane.take(valid)
        return bool(got)

    def _ask(self, now: float) -> Ask:
        return Ask(
            self._terms.worker,
            self._lane.types,
            min(self._lane.room, self._door.claim_max),
            self._terms.lease_seconds,
            self._terms.versions,
            self._floor.next(now),
            new_id(),
            WAIT_SECONDS if self._door.wakes and not self._outage.lasts else 0.0,  # an end of it is to be seen soon
        )

    async def _idle(self, took_seconds: float) -> None:
        """Nothing was there: wait for a hint, at first a little while, then longer. A door that waits did so."""
        if self._door.wakes and took_seconds > self._terms.poll_seconds_max:
            return
        pause = self._pause * SPREAD.uniform(0.9, 1.0)
        self._pause = min(self._pause * POLL_GROWTH, self._terms.poll_seconds_max)
        try:
            await asyncio.wait_for(self._woken.wait(), pause)
        except TimeoutError:
            return
        self._pause = POLL_SECONDS_MIN

    async def _valid(self, helds: list[Held], took_seconds: float) -> list[Held]:
        """Leave out what may have lapsed while the answer was on its way: only what we sent bounds a lease."""
        late = [held for held in helds if took_seconds > held.job.lease_seconds * LATE_SHARE]
        if not late:
            return helds
        sent = CLOCK()
        try:
            answers = await self._door.heartbeat_many([Beat(held.job.id, held.job.fence) for held in late])
        except DoorShut as error:
            self._failed("heartbeat", error)
            return [held for held in helds if held not in late]
        gone: set[Held] = set()
        for held, answer in zip(late, answers, strict=True):
            if isinstance(answer, Beaten):
                length = (answer.lease_expires_at - answer.server_time).total_seconds()
                held.renewed(sent, length, cancel_requested=answer.cancel_requested)
                held.arrived = sent
            else:
                gone.add(held)
        return [held for held in helds if held not in gone]

    async def _hand_back(self, ask: Ask) -> None:
        """The answer to a claim was not waited for: ask what it took, and release that."""
        try:
            await self._release(await self._door.claim(replace(ask, wait_seconds=0.0, limit=1)))
        except DoorShut as error:
            self._failed("claim", error)

    async def _release(self, got: Sequence[Claimed]) -> None:
        if not got:
            return
        try:
            await self._door.settle_many([Settlement(job.id, job.fence, Release()) for job in got])
        except DoorShut as error:
            self._failed("settle", error)
