"""Leases are renewed on a thread of their own, over a connection of its own.

So neither handlers that block the event loop nor a pool that has run dry lose leases: only a process that is
stopped, or cut off, does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from steadhold.jobs.outcomes import Beat, Beaten
from steadhold.kit import failpoints
from steadhold.kit.outcome import StaleFence
from steadhold.worker.door import Door, Doors
from steadhold.worker.held import CLOCK, RENEWALS_PER_LEASE, Held, Leases, tell
from steadhold.worker.outage import Outage

SLEEP_SECONDS_MAX: Final = 60.0
AGAIN_SECONDS: Final = 0.2
BEATS_MAX: Final = 500
TELL_SECONDS: Final = 0.25
"""Progress is told no more often."""


class Renewal:
    """The thread. `lost(held)` is called, on it, for a job that somebody else owns now."""

    def __init__(
        self, doors: Doors, lost: Callable[[Held], None], on: Callable[..., None] | None, outage: Outage
    ) -> None:  # fmt: skip
        self.leases = Leases(self._hurry)
        self._doors, self._lost, self._on, self._outage = doors, lost, on, outage
        self._thread = threading.Thread(target=self._run, name="steadhold-renewal", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Event | None = None
        self._stopping = False
        self._told = 0.0

    def start(self) -> None:
        """Start renewing."""
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing. Blocks until what is on its way was answered."""
        self._stopping = True
        self._hurry()
        self._thread.join(timeout=5.0)

    def _hurry(self) -> None:
        loop, woken = self._loop, self._woken
        if loop is not None and woken is not None:
            try:
                loop.call_soon_threadsafe(woken.set)
            except RuntimeError:  # it has ended meanwhile
                return

    def _run(self) -> None:
        asyncio.run(self._renewing())

    async def _renewing(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        door: Door | None = None
        try:
            while not self._stopping:
                pause = self._pause()
                if pause > 0:
                    await self._sleep(pause)
                    continue
                try:
                    door = door or await self._doors()
                    await self._beat(door)
                except Exception as error:  # noqa: BLE001 - whatever it is, the other leases are to be renewed
                    self._outage.failed("heartbeat", error)
                    self._tell("door.failed", verb="heartbeat", why=str(error))
                    await self._sleep(AGAIN_SECONDS)
        finally:
            if door is not None:
                await door.close()

    def _pause(self) -> float:
        """Seconds until the next lease is due."""
        now = CLOCK()
        soonest = self.leases.soonest(now + SLEEP_SECONDS_MAX)
        if any(held.progress is not None for held in self.leases.all()):
            soonest = max(soonest, self._told + TELL_SECONDS)
        return soonest - now

    async def _sleep(self, seconds: float) -> None:
        assert self._woken is not None
        try:
            await asyncio.wait_for(self._woken.wait(), seconds)
        except TimeoutError:
            return
        self._woken.clear()

    async def _beat(self, door: Door) -> None:
        now = CLOCK()
        # Those that are due soon go along: one request instead of many.
        due = [held for held in self.leases.all() if held.renew_at <= now + held.job.lease_seconds / 12]
        for n in range(0, len(due), BEATS_MAX):
            await self._renew(door, due[n : n + BEATS_MAX])
        self._told = now

    async def _renew(self, door: Door, due: Sequence[Held]) -> None:
        sent = CLOCK()
        beats = [Beat(held.job.id, held.job.fence, held.progress) for held in due]
        failpoints.hit("during_heartbeat")
        patience = max(1.0, min(held.job.lease_seconds for held in due) / (2 * RENEWALS_PER_LEASE))
        answers = await asyncio.wait_for(door.heartbeat_many(beats), patience)
        self._outage.over()
        for held, beat, answer in zip(due, beats, answers, strict=True):
            if held.progress is beat.progress:
                held.progress = None
            self._note(held, sent, answer)

    def _note(self, held: Held, sent: float, answer: Beaten | StaleFence) -> None:
        if isinstance(answer, Beaten):
            length = (answer.lease_expires_at - answer.server_time).total_seconds()
            held.renewed(sent, length, cancel_requested=answer.cancel_requested)
            self._tell("lease.renewed", job_id=held.job.id, fence=held.job.fence)
        else:
            # One that is being settled may have ended by our own word: then the answer to that word decides.
            held.renew_at = float("inf")
            if not held.settling and not held.over:
                self._lost(held)

    def _tell(self, name: str, **facts: Any) -> None:
        tell(self._on, name, **facts)
