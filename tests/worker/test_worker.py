"""What a worker does with jobs, the same through both doors."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal

import pytest

from steadhold import jobs
from steadhold.worker import CancelRequested, Done, LeaseLost, Permanent, Snooze, StageFault


async def test_a_job_is_given_exactly_its_input_and_keeps_exactly_its_result(yard):
    worker, given = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        given.append(input)
        return [input["n"] + 1, input["x"]]

    id = await yard.submit(input=b'{"n": 12345678901234567890, "x": 0.10}')
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert given == [{"n": 12345678901234567890, "x": Decimal("0.10")}]
    assert await yard.result(id) == b"[12345678901234567891,0.10]"


async def test_raw_handlers_are_given_the_bytes(yard):
    worker, given = yard.worker(), []

    @worker.job("t", raw=True)
    async def handler(ctx, input):
        given.append(input)

    id = await yard.submit(input=b'{"n": 1e999999999999999999}')
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id)
    assert given == [b'{"n": 1e999999999999999999}']


async def test_functions_run_in_threads_of_their_own(yard):
    worker = yard.worker()
    together = threading.Barrier(3, timeout=20)

    @worker.job("t")
    def handler(ctx, input):
        together.wait()
        return ctx.stage("name", lambda: threading.current_thread() is threading.main_thread())

    ids = [await yard.submit() for _ in range(3)]
    async with yard.working(worker) as probe:
        for id in ids:
            await probe.seen("job.settled", job_id=id, state="completed")
    assert [await yard.result(id) for id in ids] == [b"false"] * 3


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


async def test_a_request_to_cancel_reaches_the_handler(yard):
    worker = yard.worker(lease_seconds=1)

    @worker.job("t")
    async def handler(ctx, input):
        while True:
            ctx.check()
            await asyncio.sleep(0)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.started", job_id=id)
        await yard.play(jobs.cancel, id, "somebody")
        await probe.seen("job.settled", job_id=id, state="cancelled")


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


async def test_progress_is_shown(yard):
    worker = yard.worker()
    go = asyncio.Event()

    @worker.job("t")
    async def handler(ctx, input):
        ctx.progress({"done": 1})
        await go.wait()

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("lease.renewed", job_id=id)
        assert (await yard.look(id)).progress == b'{"done":1}'
        go.set()
        await probe.seen("job.settled", job_id=id)


async def test_a_type_with_places_of_its_own_keeps_to_them(yard):
    worker = yard.worker(concurrency=2)
    at_once = {"few": 0, "many": 0}
    most = dict(at_once)

    async def handler(ctx, input):
        type = ctx.job.type
        at_once[type] += 1
        most[type] = max(most[type], at_once[type])
        await ctx.stage("a", int)
        at_once[type] -= 1

    worker.job("few", concurrency=1)(handler)
    worker.job("many")(handler)
    ids = [await yard.submit(type) for type in ("few", "many") for _ in range(6)]
    async with yard.working(worker) as probe:
        for id in ids:
            await probe.seen("job.settled", job_id=id, state="completed")
    assert most == {"few": 1, "many": 2}


async def test_what_the_job_asks_of_its_evidence_is_held(yard):
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        return 1

    long_ago = (await yard.look(await yard.submit("other"))).created_at
    id = await yard.submit(evidence_not_before=long_ago)
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    assert (await yard.look(id)).error_code == "evidence_required"


async def test_whose_job_is_another_s_stops(yard, clock):
    worker = yard.worker(lease_seconds=1)
    stopped = asyncio.Event()
    go = threading.Event()
    lost = []

    @worker.job("async")
    async def handler(ctx, input):
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseLost):
                await ctx.stage("late", int)
            stopped.set()

    @worker.job("sync")
    def in_thread(ctx, input):
        go.wait(20)
        for use in (ctx.check, lambda: ctx.progress(1), lambda: ctx.stage("late", int), lambda: ctx.sleep("nap", 1)):
            with pytest.raises(LeaseLost):
                use()
        lost.append(ctx.fence)

    ids = [await yard.submit("async"), await yard.submit("sync")]
    async with yard.working(worker) as probe:
        for id in ids:
            await probe.seen("job.started", job_id=id)
        clock.move(60)
        for id in ids:
            await probe.seen("lease.lost", job_id=id)
        go.set()
        await asyncio.wait_for(stopped.wait(), 20)
    assert lost == [1]
    assert [await yard.stages(id) for id in ids] == [{}, {}]


async def test_a_blocked_event_loop_keeps_its_leases(on_postgres):
    worker = on_postgres.worker(lease_seconds=1)

    @worker.job("t")
    async def handler(ctx, input):
        worker.probe.wait_for("lease.renewed", job_id=ctx.job.id, times=6)

    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert (await on_postgres.look(id)).fence == 1


async def test_told_to_stop_it_lets_jobs_end_and_hands_the_rest_back(yard):
    worker = yard.worker(drain_seconds=60)
    go = asyncio.Event()
    cleaned = []

    @worker.job("short")
    async def short(ctx, input):
        await go.wait()

    @worker.job("long", concurrency=1)
    async def long(ctx, input):
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(ctx.fence)

    brief, endless = await yard.submit("short"), await yard.submit("long")
    async with yard.working(worker) as probe:
        for id in (brief, endless):
            await probe.seen("job.started", job_id=id)
        worker.stop()
        await probe.seen("worker.draining")
        late = await yard.submit("short")
        go.set()
        await probe.seen("job.settled", job_id=brief, state="completed")
        worker.stop()
        await probe.seen("worker.stopped")
    view = await yard.look(endless)
    assert (view.state, view.attempt, cleaned) == ("accepted", 0, [1])
    assert (await yard.look(late)).attempt == 0


async def test_a_function_that_goes_on_is_handed_back_and_told(yard):
    worker = yard.worker()
    go, told = threading.Event(), threading.Event()

    @worker.job("t")
    def handler(ctx, input):
        go.wait(20)
        with pytest.raises(LeaseLost):
            ctx.check()
        told.set()

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.started", job_id=id)
        worker.stop()
        await probe.seen("worker.stopped")
    view = await yard.look(id)
    go.set()
    assert (view.state, view.attempt) == ("accepted", 0)
    assert await asyncio.to_thread(told.wait, 20)
