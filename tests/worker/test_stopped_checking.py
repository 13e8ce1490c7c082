"""A worker that is told to stop while what it holds is asked about: nothing begins or goes on behind that."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.jobs.model import Release
from steadhold.jobs.outcomes import NothingToAwait, Settled
from steadhold.worker import claiming
from steadhold.worker.door import DoorShut
from steadhold.worker.on_postgres import OnPostgres
from steadhold.worker.over_http import OverHttp
from steadhold.worker.verdicts import failure
from tests.worker.bench import Bench, claimed

TURNS = 100  # of the loop: more than it takes until a stop is told to everybody


@pytest.mark.parametrize("shut", [False, True])
@pytest.mark.parametrize("stops", [1, 2])
async def test_what_is_checked_when_the_stop_comes_does_not_begin(yard, monkeypatch, stops, shut):
    monkeypatch.setattr(claiming, "LATE_SHARE", 0)
    door = OverHttp if "url" in yard.place else OnPostgres
    worker, check, begun = yard.worker(drain_seconds=60), door.heartbeat_many, []

    @worker.job("t")
    async def handler(ctx, input):
        begun.append(ctx.fence)

    async def check_and_be_stopped(self, beats):
        answers = await check(self, beats)
        for _ in range(stops):
            worker.stop()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if shut:
            raise DoorShut("gone")
        return answers

    monkeypatch.setattr(door, "heartbeat_many", check_and_be_stopped)
    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("worker.stopped")
    view = await yard.look(id)
    assert (view.state, view.attempt, begun) == ("accepted", 0, [])


async def test_what_is_stopped_before_its_first_step_is_handed_back():
    bench = Bench()
    (held,) = bench.give(claimed())
    bench.lane.stop_all(Release())
    await bench.turn(lambda: bench.lane.idle)
    assert bench.door.settled == [[(held.job.id, Release())]]
    assert bench.running == []


def waiting_bench(*, asynchronous, after):
    async def awaits(ctx, input):
        try:
            await ctx.sleep("nap", 1)
        except Exception:  # noqa: BLE001 - as handlers do
            after.append("refused")
        after.append("on")

    def calls(ctx, input):
        ctx.sleep("nap", 1)
        ctx.check()
        after.append("on")

    return Bench(handler=awaits if asynchronous else calls)


def answering(bench, answer, before=lambda: None):
    """What is said first is answered so, and what is said later as ever."""
    settle = bench.door.settle_many

    async def answers(settlements, *, patient=False):
        got = await settle(settlements)
        if len(bench.door.settled) > 1:
            return got
        before()
        return [answer]

    bench.door.settle_many = answers


async def until(holds):
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0)


GOES_ON = [Settled("", "running", 3, woke=b"null"), NothingToAwait("job")]


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("answer", GOES_ON)
async def test_a_wait_that_is_said_when_the_stop_comes_does_not_let_its_handler_go_on(asynchronous, answer):
    after = []
    bench = waiting_bench(asynchronous=asynchronous, after=after)
    answering(bench, answer)
    bench.door.open.clear()
    (held,) = bench.give(claimed())
    await until(lambda: bench.door.settled)
    bench.lane.stop_all(Release())
    bench.lane.stop_all(failure("timeout", "The first stop is the one that is said.", "timeout"))
    bench.door.open.set()
    await until(lambda: bench.lane.idle)
    assert bench.door.settled[1:] == [[(held.job.id, Release())]]
    assert after == []


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("answer", GOES_ON)
async def test_a_stop_between_the_answer_to_a_wait_and_its_handler_stops_that(asynchronous, answer):
    after = []
    bench = waiting_bench(asynchronous=asynchronous, after=after)
    loop = asyncio.get_running_loop()
    answering(bench, answer, before=lambda: loop.call_soon(bench.lane.stop_all, Release()))
    (held,) = bench.give(claimed())
    await until(lambda: bench.lane.idle)
    assert bench.door.settled[1:] == [[(held.job.id, Release())]]
    assert after == []


async def test_a_wait_that_holds_stays_one_however_the_stop_comes():
    after = []
    bench = waiting_bench(asynchronous=True, after=after)
    bench.door.open.clear()
    bench.give(claimed())
    await bench.turn(lambda: bench.door.settled)
    bench.lane.stop_all(Release())
    bench.door.open.set()
    await bench.turn(lambda: bench.lane.idle)
    assert len(bench.door.settled) == 1
    assert after == []
