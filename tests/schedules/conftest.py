from __future__ import annotations

from datetime import timedelta

import pytest

from steadhold import jobs, schedules
from steadhold.db.pool import Pool
from steadhold.jobs import Complete, Settlement
from steadhold.play.single import Single
from steadhold.schedules import Job, Spec, telling
from tests.schedules.house import House

HOUR = timedelta(hours=1)


class Desk:
    """The verbs of schedules on one connection, and the workers of their jobs, so that a test reads as what happens."""

    def __init__(self, conn, workspace, clock):
        self.conn, self.workspace, self.clock = conn, workspace, clock

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(schedules, verb)(self.conn, self.workspace, *args, **kw)

    def made(self, id="s", **said):
        """Make an hourly schedule, unless it is said otherwise."""
        return self.put(id, spec(**said), None).schedule

    def read(self, id="s"):
        return self.get(id)

    def to(self, moment, seconds=0.01):
        """Let the time be a little past a moment."""
        self.clock.move((moment - self.clock.now()).total_seconds() + seconds)

    def pass_(self, count=1, id="s"):
        """Let the next instants come, one after the other, each recorded at once. Answers the last."""
        for _ in range(count):
            due = self.get(id).next_at
            self.to(due)
            assert self.tick(10) == 1
        return due

    def told(self, id="s"):
        """What became of instants, the oldest first: outcome (with its reason) and how many."""
        found = reversed(self.runs(id, None, 100).items)
        return [(f"{run.outcome}:{run.reason}" if run.reason else run.outcome, run.count) for run in found]

    def newest(self, id="s"):
        return self.runs(id, None, 1).items[0]

    def claim(self, limit=100):
        return jobs.claim(self.conn, self.workspace, "w", ["t"], limit)

    def work(self):
        """Claim what there is, and complete it."""
        claimed = self.claim()
        for job in claimed:
            jobs.settle(self.conn, self.workspace, Settlement(job.id, job.fence, Complete()))
        return len(claimed)

    def job(self, id):
        return jobs.get(self.conn, self.workspace, id)

    def events(self, id="s"):
        found = self.conn.execute(
            "select aggregate_revision, type from steadhold.events where aggregate_id = %s order by 1",
            [f"schedule:{id}"],
        ).fetchall()
        assert [number for number, _ in found] == list(range(1, len(found) + 1)), "the numbers have a gap"
        return [type.removeprefix("schedule.") for _, type in found if type not in telling.CHANGES]


def spec(**said):
    return Spec(**({"job": Job("t"), "every_seconds": 3_600} | said))


@pytest.fixture
def desk(conn, workspace, clock):
    return Desk(conn, workspace, clock)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield await House(Single(pool), workspace).enter()
