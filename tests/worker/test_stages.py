"""Stages are committed, and answered ever after; waits hand the job back."""

from __future__ import annotations

import asyncio
from datetime import datetime
from decimal import Decimal

import pytest

from steadhold import jobs
from steadhold.worker import CancelRequested, Done, Permanent, Snooze, StageFault


async def test_a_committed_stage_is_answered_and_not_run_again(yard):
    worker, ran = yard.worker(), []

    def square(n):
        ran.append(n)
        return (n * n, 0.5)

    @worker.job("t")
    async def handler(ctx, input):
        answered = [await ctx.stage(f"square-{n}", square, n) for n in (2, 3)]
        return answered if ctx.job.fence > 1 else Snooze(0)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
        assert probe.count("stage.replayed", job_id=id) == 2
    assert ran == [2, 3]
    assert await yard.result(id) == b"[[4,0.5],[9,0.5]]"
    assert await yard.stages(id) == {"square-2": b"[4,0.5]", "square-3": b"[9,0.5]"}


async def test_a_stage_answers_the_first_time_as_it_will_later(yard):
    worker, answers = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        answers.append(await ctx.stage("a", lambda: {"pair": (1, 0.1)}))
        return Done() if len(answers) > 1 else Snooze(0)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert answers == [{"pair": [1, Decimal("0.1")]}] * 2


async def test_a_stage_that_was_given_something_else_is_a_bug(yard):
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        await ctx.stage("a", abs, ctx.fence)
        return Snooze(0)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    view = await yard.look(id)
    assert (view.error_code, view.error_class) == ("StageFault", "bug")


async def test_names_of_stages_are_used_once_and_are_ids(yard):
    worker, faults = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        await ctx.stage("a", int)
        for name in ("a", "no/id", "x" * 201):
            with pytest.raises(StageFault) as fault:
                await ctx.stage(name, int)
            faults.append(str(fault.value))
        with pytest.raises(StageFault):
            await ctx.stage("b", print, object())
        with pytest.raises(StageFault):
            await ctx.stage("c", object)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert "name of its own" in faults[0]
    assert "cannot be used" in faults[1]


async def test_what_cannot_be_waited_for_is_a_fault_at_once(on_postgres):
    worker, faults = on_postgres.worker(), []
    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - that is what is refused

    @worker.job("t")
    async def handler(ctx, input):
        for waits in (
            lambda: ctx.sleep("a", -1),
            lambda: ctx.sleep("a", float("inf")),
            lambda: ctx.sleep("a", None),
            lambda: ctx.wait_for("a", timeout_seconds=1),
            lambda: ctx.wait_for("a", signal="b", job="c", timeout_seconds=1),
            lambda: ctx.wait_for("a", signal="b"),
            lambda: ctx.wait_for("a", signal="no/id", timeout_seconds=1),
            lambda: ctx.wait_for("a", signal="b", until=naive),
        ):
            with pytest.raises(StageFault) as fault:
                await waits()
            faults.append(str(fault.value))

    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert len(faults) == 8


async def test_a_sleeping_job_is_run_again_from_its_sleep(yard, clock):
    worker, ran = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        await ctx.stage("before", ran.append, "before")
        await ctx.sleep("nap", 3_600)
        await ctx.stage("after", ran.append, "after")

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.waiting", job_id=id)
        assert (await yard.look(id)).state == "waiting"
        clock.move(3_601)
        assert await yard.play(jobs.wake, 100) == 1
        await probe.seen("job.settled", job_id=id, state="completed")
        assert probe.count("job.waiting", job_id=id) == 1
    assert ran == ["before", "after"]


async def test_a_function_sleeps_and_waits_too(yard):
    worker = yard.worker()

    @worker.job("t")
    def handler(ctx, input):
        try:
            ctx.sleep("no-time", 0)
            return ctx.wait_for("go", signal="go", timeout_seconds=600)["data"]
        except Exception:  # noqa: BLE001 - as handlers do
            return "whoever waits is taken off, whatever a handler catches"

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.waiting", job_id=id)
        await yard.play(jobs.signal, id, "go", b'{"n":1.0}')
        await yard.play(jobs.wake, 100)
        await probe.seen("job.settled", job_id=id, state="completed")
    assert await yard.result(id) == b'{"n":1.0}'


async def test_a_job_waits_for_another(yard):
    worker = yard.worker()

    @worker.job("first")
    async def first(ctx, input):
        raise Permanent("broken", "It is.")

    @worker.job("second")
    async def second(ctx, input):
        return await ctx.wait_for("first", job=input, timeout_seconds=600)

    one = await yard.submit("first")
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=one, state="failed")
        two = await yard.submit("second", input=f'"{one}"'.encode())
        await probe.seen("job.settled", job_id=two, state="completed")
        assert probe.count("job.waiting") == 0
    assert b'"error_code":"broken"' in await yard.result(two)


async def test_waiting_for_what_is_not_there_fails(yard):
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        await ctx.wait_for("none", job="01980000-0000-7000-8000-000000000000", timeout_seconds=600)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    assert (await yard.look(id)).error_code == "unknown_subject"


async def test_who_is_to_be_cancelled_may_not_begin_to_wait(yard):
    worker, told = yard.worker(), []
    go = asyncio.Event()

    @worker.job("t")
    async def handler(ctx, input):
        await go.wait()
        try:
            await ctx.sleep("nap", 60)
        except CancelRequested:
            told.append(ctx.cancel_requested)
            raise

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.started", job_id=id)
        await yard.play(jobs.cancel, id, "somebody")
        go.set()
        await probe.seen("job.settled", job_id=id, state="cancelled")
    assert told == [True]
