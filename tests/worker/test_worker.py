"""What a worker does with jobs, the same through both doors."""

from __future__ import annotations

import asyncio
import json
import threading
from decimal import Decimal

import pytest

from steadhold import context, jobs
from steadhold.worker import Done, LeaseLost
from tests.context.desk import refer


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


async def test_how_much_was_covered_is_kept(yard):
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        return Done([1], coverage=jobs.Coverage("partial", expected=3, covered=1))

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert (await yard.look(id)).coverage == b'{"state":"partial","expected":3,"covered":1}'


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
    assert (await yard.look(id)).fence == 1


async def test_who_is_told_may_fail_and_nothing_stops(yard):
    worker = yard.worker(lease_seconds=1)
    tell = worker.on

    def on(name, **facts):
        tell(name, **facts)
        raise RuntimeError("deaf")

    worker.on = on

    @worker.job("t")
    async def handler(ctx, input):
        await worker.probe.seen("lease.renewed", job_id=ctx.job.id, times=2)

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="completed")
    assert (await yard.look(id)).state == "completed"


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


async def test_a_result_in_context_is_there_or_the_job_fails(yard):
    await yard.play(context.put, "n", b"1", None)
    there, wrong = refer("n", 1, b"1"), refer("n", 2, b"1")
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        return Done(result_ref=input)

    good, bad = [await yard.submit(input=json.dumps(named).encode()) for named in (there, wrong)]
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=good, state="completed")
        await probe.seen("job.settled", job_id=bad, state="failed")
    assert (await yard.look(good)).result_ref == there
    assert (await yard.look(bad)).error_code == "unknown_reference"


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
    async with asyncio.timeout(20):
        while (await yard.look(late)).attempt:  # the server took it for a claim that was given up, and takes it back
            await asyncio.sleep(0)


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
