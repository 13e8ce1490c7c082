"""Actions outside are begun once, whatever happens to the job, and never called again where nobody knows."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steadhold import effects, jobs
from steadhold.access import Actor
from steadhold.worker import (
    Acted,
    CancelRequested,
    OutcomeUnknown,
    Snooze,
    StageFault,
)
from steadhold.worker.effects_wanted import effect_id

VENUE = Actor("venue", None)
CHARGE = {"key": "7", "request": {"order": 7}, "amount": "12.50", "currency": "EUR"}


async def effect_of(yard, job, name="charge", key="7"):
    root = (await yard.look(job)).root_job_id
    return await yard.play(effects.get, effect_id(root, name, key))


async def until(yard, worker, id, state="completed"):
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state=state)


async def steps(yard, id):
    lines = await yard.play(effects.history, id, 0, 100, "execution")
    return [line.to_state for line in lines]


async def test_it_is_called_once_and_answered_ever_after(yard):
    worker, called = yard.worker(), []

    async def charge(id):
        called.append(id)
        return Acted({"receipt": 1}, venue_ref="pi_1")

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            answer = await effect.call(charge, effect.id)
        assert (effect.execution, effect.venue_ref) == ("succeeded", "pi_1")
        return answer if ctx.fence > 1 else Snooze(0)

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert called == [found.id]
    assert (found.execution, found.venue_ref, found.amount, found.job_id) == ("succeeded", "pi_1", "12.50", id)
    assert await yard.result(id) == b'{"receipt":1}'


async def test_a_handler_in_a_thread_does_the_same(yard):
    worker, called = yard.worker(), []

    @worker.job("t")
    def handler(ctx, input):
        with ctx.effect("charge", **CHARGE) as effect:
            answer = effect.call(lambda: called.append(effect.id) or "paid")
        return answer if ctx.fence > 1 else Snooze(0)

    id = await yard.submit()
    await until(yard, worker, id)
    assert (len(called), await yard.result(id)) == (1, b'"paid"')
    assert (await effect_of(yard, id)).execution == "succeeded"


@pytest.mark.parametrize("sync", [False, True])
async def test_what_breaks_while_it_is_called_is_unknown_and_not_called_again(yard, sync):
    worker, called = yard.worker(), []

    def charge():
        called.append(1)
        raise TimeoutError("the venue did not answer")

    if sync:

        @worker.job("t")
        def handler(ctx, input):
            with ctx.effect("charge", **CHARGE) as effect:
                try:
                    return effect.call(charge)
                except OutcomeUnknown:
                    return Snooze(0) if ctx.fence == 1 else "somebody looks"

    else:

        @worker.job("t")
        async def handler(ctx, input):
            async with ctx.effect("charge", **CHARGE) as effect:
                try:
                    return await effect.call(charge)
                except OutcomeUnknown:
                    return Snooze(0) if ctx.fence == 1 else "somebody looks"

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (called, found.execution, found.reconciliation) == ([1], "unknown", "needed")
    assert await yard.result(id) == b'"somebody looks"'


async def test_a_retry_of_the_job_charges_nobody_twice(yard):
    worker, called = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            await effect.call(lambda: called.append(effect.id))
        if ctx.job.root_job_id == ctx.job.id:
            raise NotImplementedError

    id = await yard.submit()
    await until(yard, worker, id, "failed")
    retried = await yard.play(jobs.retry, id, jobs.Submission("t").id)
    await until(yard, worker, retried.id)
    assert called == [(await effect_of(yard, id)).id]


async def test_an_answer_that_came_meanwhile_is_not_doubted(yard):
    """The venue called back while the call broke: it is known, and nobody has to look."""
    worker = yard.worker()

    async def charge(id):
        await yard.play(effects.outcome, id, "succeeded", by=VENUE, venue_ref="pi_9")
        raise TimeoutError

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            try:
                await effect.call(charge, effect.id)
            except OutcomeUnknown:
                return Snooze(0)
        return effect.venue_ref

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (found.execution, found.reconciliation, await yard.result(id)) == ("succeeded", "not_needed", b'"pi_9"')


async def test_nothing_is_begun_once_somebody_asked_to_cancel(yard):
    worker, called = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        await yard.play(jobs.cancel, ctx.job.id, "olga")
        while not ctx.cancel_requested:
            ctx.progress(None)
            await worker.probe.seen("lease.renewed", job_id=ctx.job.id)
        async with ctx.effect("charge", **CHARGE) as effect:
            with pytest.raises(CancelRequested):
                await effect.call(called.append, 1)
        raise CancelRequested

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id)
    assert (await yard.look(id)).state == "cancelled"
    assert (called, (await effect_of(yard, id)).execution) == ([], "planned")


async def test_what_is_no_action_is_a_bug_of_the_handler(yard):
    worker, faults = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        words = {"key": 7}, {"amount": 1.5, "currency": "EUR"}, {"name": "a b"}
        for wrong in ({"amount": "1"}, {"request": {1, 2}}, *words):
            with pytest.raises(StageFault) as fault:
                ctx.effect(**{"name": "x", "key": "k", "request": None, **wrong})
            faults.append(str(fault.value))
        async with ctx.effect("charge", key="k", request=1) as effect:
            await effect.call(int)
            with pytest.raises(StageFault, match="begun before"):
                await effect.call(int)
        with pytest.raises(StageFault, match="another request"):
            async with ctx.effect("charge", key="k", request=2):
                pass

    id = await yard.submit()
    await until(yard, worker, id)
    assert len(faults) == 5
    assert "such as '7'" in faults[2]


async def test_identities_are_made_of_the_root_the_name_and_the_key():
    made = {effect_id(*parts) for parts in (("a", "b", "c"), ("a", "bc", ""), ("ab", "", "c"), ("", "ab", "c"))}
    assert len(made) == 4
    assert len(effect_id("r", "n" * 200, "k")) <= 190


async def test_the_outcome_of_what_is_not_ours_any_more_is_told_all_the_same(yard, clock):
    """The lease lapsed while the venue was called: the charge is a fact, whoever owns the job."""
    worker, loop, told = yard.worker(lease_seconds=1), asyncio.get_running_loop(), threading.Event()

    async def lapse():
        clock.move(3600)
        assert await yard.play(jobs.lapse, 10) == 1
        await worker.probe.seen("lease.lost", fence=1)

    def charge():
        asyncio.run_coroutine_threadsafe(lapse(), loop).result()
        return Acted("late", venue_ref="pi_2")

    @worker.job("t")
    def handler(ctx, input):
        if ctx.fence > 1:
            told.wait()
        try:
            with ctx.effect("charge", **CHARGE) as effect:
                return effect.call(charge)
        finally:
            told.set()

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, fence=2)
    found = await effect_of(yard, id)
    assert await steps(yard, found.id) == ["planned", "initiated", "succeeded"]
    assert (found.venue_ref, found.reconciliation, await yard.result(id)) == ("pi_2", "not_needed", b"null")
