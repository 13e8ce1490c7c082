"""A lane and its parts, with a door that answers as it is told."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from steadhold.jobs.outcomes import Beaten, Claimed, Settled
from steadhold.kit.ids import new_id
from steadhold.worker import held as helds
from steadhold.worker.attempt import Outside
from steadhold.worker.door import Jammed
from steadhold.worker.held import Held, Leases
from steadhold.worker.lane import Lane
from steadhold.worker.runner import Handler, Runner
from steadhold.worker.settler import Settler

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(lease_seconds=30.0, **more):
    id = new_id()
    fields = {
        "id": id, "fence": 1, "lease_seconds": lease_seconds, "revision": 2, "root_job_id": id, "type": "t",
        "lease_expires_at": NOW + timedelta(seconds=lease_seconds), "configuration_revision": 0, "attempt": 1,
        "priority": 5, "stage_count": 0, "input": b"null", "input_ref": None, "input_digest": b"", "inputs": None,
        "run_at": NOW, "deadline_at": None, "timeout_at": None, "evidence_not_before": None, "correlation_id": None,
        "trace": None,
    }  # fmt: skip
    return Claimed(**{**fields, **more})


class Door:
    """Answers each verb by the next of its answers, and keeps what was said."""

    wakes = False
    claim_max = 100

    def __init__(self):
        self.claims, self.settled, self.answers, self.beats = [], [], [], []
        self.jobs = asyncio.Queue()
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.jammed, self.freed = set(), asyncio.Event()

    async def claim(self, ask):
        self.claims.append(ask)
        self.asked.set()
        return self.jobs.get_nowait() if not self.jobs.empty() else []

    async def settle_many(self, settlements, *, patient=False):
        self.settled.append([(settlement.id, settlement.said) for settlement in settlements])
        await self.open.wait()
        if jammed := self.jammed & {settlement.id for settlement in settlements}:
            await (self.freed.wait() if patient else asyncio.sleep(0))
            if not patient:
                raise Jammed(f"somebody holds {jammed}")
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        return [Settled(settlement.id, "completed", 3) for settlement in settlements]

    async def heartbeat_many(self, beats):
        self.beats.append(beats)
        return [self.answer(beat) for beat in beats]

    def answer(self, beat):
        return Beaten(beat.id, NOW + timedelta(seconds=30), NOW, cancel_requested=False)


class Bench:
    """A lane of some places, the parts around it, and what was told."""

    def __init__(self, places=2, prefetch=0, handler=None):
        self.door, self.told = Door(), []
        self.failures = []
        self.settler = Settler(self.door, lambda verb, error: self.failures.append((verb, str(error))))
        self.leases = Leases(lambda: None)
        self.go = asyncio.Event()
        outside = Outside(self.door, self.settler, self.leases, self.tell, print, self.lose)
        handlers = {"t": Handler("t", handler or self.handler, None, raw=False)}
        self.lane = Lane(["t"], places, prefetch, Runner(handlers, outside), self.settler, self.leases, self.tell)
        self.running = []

    def lose(self, held):
        self.lane.lose(held)

    def tell(self, name, **facts):
        self.told.append((name, facts.get("job_id")))

    async def handler(self, ctx, input):
        self.running.append(ctx.job.id)
        await self.go.wait()

    def give(self, *jobs, sent=None):
        made = [Held(job, helds.CLOCK() if sent is None else sent) for job in jobs]
        self.lane.take(made)
        return made

    async def turn(self, until):
        for _ in range(200):
            if until():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"it did not come: {self.told}")
