"""jobs in group commits: verbs that meet in one transaction answer as if they had come one after another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.jobs import Complete, Fail, Release, Settlement, Submission, Wait
from steadhold.kit.outcome import StaleFence
from steadhold.play.lockstep import Lockstep

FAR = datetime(2999, 1, 1, tzinfo=UTC)


class Flushes:
    """Plays calls so that all of them meet in one flush."""

    def __init__(self, pool, workspace):
        self.workspace, self.player = workspace, Lockstep(pool, flushers=1)

    async def __call__(self, *calls):
        before = self.player.stats["flushes"]
        outcomes = await asyncio.gather(*[self.player.play(call) for call in calls])
        assert self.player.stats["flushes"] - before <= 2
        return outcomes

    async def one(self, verb, *args, **kw):
        return await self.player.play(verb.call(self.workspace, *args, **kw))

    async def running(self, **kw):
        await self.one(jobs.submit, Submission("t", **kw))
        return (await self.one(jobs.claim, "w", ["t"], 1))[0]

    def said(self, job, what):
        return jobs.settle.call(self.workspace, Settlement(job.id, job.fence, what))

    async def revisions(self, id):
        found = await self.one(jobs.get, id)
        return found.revision


@pytest.fixture
async def flushes(dsn, workspace):
    async with Pool(dsn, size=2) as pool:
        yield Flushes(pool, workspace)


async def test_many_jobs_are_settled_together(flushes):
    running = [await flushes.running() for _ in range(20)]
    settled = await flushes(*[flushes.said(job, Complete()) for job in running])
    assert [answer.state for answer in settled] == ["completed"] * 20


async def test_twins_of_a_settlement(flushes):
    job = await flushes.running()
    first, second = await flushes(flushes.said(job, Complete()), flushes.said(job, Complete()))
    assert sorted([first.repeated, second.repeated]) == [False, True]
    assert first.revision == second.revision == job.revision + 1


async def test_two_settlements_that_differ(flushes):
    job = await flushes.running()
    came = await flushes(flushes.said(job, Complete(b"1")), flushes.said(job, Complete(b"2")))
    assert {type(answer) for answer in came} == {jobs.Settled, jobs.JobEnded}
    job = await flushes.running()
    came = await flushes(flushes.said(job, Release(9)), flushes.said(job, Complete()))
    states = {answer.state if isinstance(answer, jobs.Settled) else type(answer) for answer in came}
    assert states in ({"accepted", StaleFence}, {"completed", StaleFence}, {"completed", jobs.JobEnded})


async def test_twins_of_a_stage(flushes):
    job = await flushes.running()
    stages = [jobs.checkpoint.call(flushes.workspace, job.id, job.fence, "s", b"1") for _ in range(3)]
    made = await flushes(*stages)
    assert sorted(answer.again for answer in made) == [False, True, True]
    assert (await flushes.one(jobs.get, job.id)).stages == 1


async def test_many_stages_of_one_job(flushes):
    job = await flushes.running()
    names = [f"s{n}" for n in range(5)]
    made = await flushes(*[jobs.checkpoint.call(flushes.workspace, job.id, job.fence, name) for name in names])
    assert sorted(answer.revision for answer in made) == [job.revision + n for n in range(1, 6)]
    left = await flushes.one(jobs.get, job.id)
    assert (left.stages, left.revision) == (5, job.revision + 5)


async def test_a_stage_and_the_end(flushes):
    job = await flushes.running()
    stage, done = await flushes(
        jobs.checkpoint.call(flushes.workspace, job.id, job.fence, "s"), flushes.said(job, Complete())
    )
    assert done.state == "completed"
    kept = await flushes.one(jobs.checkpoint_of, job.id, "s")
    assert isinstance(kept, jobs.Checkpoint) == isinstance(stage, jobs.Checkpointed)
    assert isinstance(stage, (jobs.Checkpointed, StaleFence))


async def test_a_request_to_cancel_and_the_end(flushes):
    job = await flushes.running()
    asked, done = await flushes(jobs.cancel.call(flushes.workspace, job.id, "me"), flushes.said(job, Complete()))
    assert (asked.outcome in ("requested", "too_late"), done.state) == (True, "completed")


async def test_signals_to_one_job(flushes):
    job = await flushes.running()
    told = await flushes(*[jobs.signal.call(flushes.workspace, job.id, "s", b"%d" % n) for n in range(5)])
    assert sorted(answer.revision for answer in told) == [job.revision + n for n in range(1, 6)]
    assert await flushes.revisions(job.id) == job.revision + 5


async def test_twins_of_a_unique_key(flushes):
    made = await flushes(*[
        jobs.submit.call(flushes.workspace, Submission("t", b"1", unique_key="k")) for _ in range(5)
    ])  # fmt: skip
    assert len({answer.id for answer in made}) == 1
    assert [type(answer) for answer in made].count(jobs.Submitted) == 1


async def test_two_jobs_that_wait_for_each_other(flushes):
    one, two = await flushes.running(), await flushes.running()
    came = await flushes(
        flushes.said(one, Wait("w", jobs.JobEnd(two.id), FAR)), flushes.said(two, Wait("w", jobs.JobEnd(one.id), FAR))
    )
    assert [answer.state for answer in came] == ["waiting", "waiting"]


@pytest.mark.parametrize("end", [Complete(), Fail("gone", "", klass="permanent")], ids=["completed", "failed"])
async def test_a_wait_and_the_end_that_it_is_for(flushes, end):
    """Whichever goes first in the flush, the waiter does not stay asleep."""
    for turn in range(4):
        elder, younger = await flushes.running(), await flushes.running()
        one, two = (elder, younger) if turn < 2 else (younger, elder)
        calls = [flushes.said(one, Wait("w", jobs.JobEnd(two.id), FAR)), flushes.said(two, end)]
        await flushes(*(calls if turn % 2 else calls[::-1]))
        await flushes.one(jobs.wake, 10)
        assert (await flushes.one(jobs.get, one.id)).state in ("accepted", "running")
        assert isinstance(await flushes.one(jobs.checkpoint_of, one.id, "w"), jobs.Checkpoint)


async def test_heartbeats_of_many(flushes):
    running = [await flushes.running() for _ in range(5)]
    beats = [jobs.heartbeat.call(flushes.workspace, job.id, job.fence, b"1") for job in running]
    assert [answer.id for answer in await flushes(*beats)] == [job.id for job in running]
