"""Answers that are lost between a worker and the database, and a worker that is cut off."""

from __future__ import annotations

import asyncio
import tempfile

import pytest

from steadhold.worker import LeaseLost
from tests.faults.proxy import Fault, Proxy
from tests.worker.conftest import Yard

HISTORY = "select type from steadhold.events where aggregate_id = $1 order by aggregate_revision"


@pytest.fixture(params=[False, True], ids=["in transactions", "alone"])
async def proxy(request, dsn):
    with tempfile.TemporaryDirectory() as folder:
        async with Proxy(dsn, folder=folder if request.param else None) as proxy:
            yield proxy


@pytest.fixture
def cut_off(player, proxy, workspace):
    """Workers whose every word passes the proxy."""
    return Yard(player, workspace, {"dsn": proxy.dsn, "workspace": workspace})


async def history(yard, id):
    async with yard.player.pool.connection() as conn:
        return [type for (type,) in await conn.fetch(HISTORY, f"job:{id}")]


@pytest.mark.parametrize("delivered", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize("fault", [Fault.CUT, Fault.RESET])
async def test_a_settlement_whose_answer_is_lost_takes_effect_once(cut_off, proxy, fault, delivered):
    worker = cut_off.worker(concurrency=1, prefetch=0)

    @worker.job("t")
    async def handler(ctx, input):
        proxy.at_commit(fault, delivered=delivered)
        return "done"

    id = await cut_off.submit()
    async with cut_off.working(worker) as probe:
        await probe.seen("door.failed", verb="settle")
        await probe.seen("job.settled", job_id=id, state="completed")
    assert await cut_off.result(id) == b'"done"'
    assert await history(cut_off, id) == ["job.accepted", "job.running", "job.completed"]


@pytest.mark.parametrize("delivered", [True, False], ids=["committed", "not committed"])
async def test_a_stage_whose_answer_is_lost_is_committed_once(cut_off, proxy, delivered):
    worker, ran = cut_off.worker(concurrency=1, prefetch=0), []

    @worker.job("t")
    async def handler(ctx, input):
        proxy.at_commit(Fault.CUT, delivered=delivered)
        await ctx.stage("one", ran.append, 1)
        await ctx.stage("two", ran.append, 2)

    id = await cut_off.submit()
    async with cut_off.working(worker) as probe:
        await probe.seen("door.failed", verb="stage")
        await probe.seen("job.settled", job_id=id, state="completed")
    assert ran == [1, 2]
    checkpointed = ["job.checkpointed"] * 2
    assert await history(cut_off, id) == ["job.accepted", "job.running", *checkpointed, "job.completed"]


async def test_who_is_cut_off_stops_before_its_lease_ends(cut_off, proxy):
    worker = cut_off.worker(concurrency=1, lease_seconds=1)
    told = []

    @worker.job("t")
    async def handler(ctx, input):
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseLost) as lost:
                await ctx.stage("late", int)
            told.append(str(lost.value))

    id = await cut_off.submit()
    async with cut_off.working(worker) as probe:
        await probe.seen("lease.renewed", job_id=id)
        proxy.stall()
        await probe.seen("lease.lost", job_id=id, fence=1)
        proxy.resume()
    assert len(told) == 1
    assert await cut_off.stages(id) == {}
