"""What a call comes to: unknown, failed, without effect; and who is asked before anybody has to look."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.worker import Acted, EffectFailed, NoEffect, OutcomeUnknown, Retry, Snooze
from tests.worker.test_effects import CHARGE, effect_of, steps, until


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("says", ["succeeded", "failed", "nothing"])
async def test_the_reconcile_hook_is_asked_first(yard, says, sync):
    worker, asked = yard.worker(), []

    def look(unknown):
        asked.append(unknown.effect_id)
        if says == "failed":
            raise EffectFailed("they know nothing of it")
        return Acted("found", venue_ref="pi_1") if says == "succeeded" else None

    def charge():
        raise ConnectionError("cut")

    if sync:

        @worker.job("t")
        def handler(ctx, input):
            with ctx.effect("charge", **CHARGE, reconcile=look) as effect:
                return effect.call(charge)

    else:

        @worker.job("t")
        async def handler(ctx, input):
            async with ctx.effect("charge", **CHARGE, reconcile=look) as effect:
                return await effect.call(charge)

    await yard.play(jobs.configure, "t", jobs.Configuration(attempts_max=1), None)
    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id)
    assert (await yard.look(id)).state == ("completed" if says == "succeeded" else "failed")
    found = await effect_of(yard, id)
    left = {
        "succeeded": ("succeeded", "reconciled"),
        "failed": ("failed", "reconciled"),
        "nothing": ("unknown", "needed"),
    }
    assert ((found.execution, found.reconciliation), asked) == (left[says], [found.id])
    code = {"succeeded": None, "failed": "effect_failed", "nothing": "OutcomeUnknown"}
    assert (await yard.look(id)).error_code == code[says]


async def test_what_had_no_effect_is_begun_again_and_what_failed_is_not(yard):
    worker, called = yard.worker(), []

    async def charge():
        called.append(1)
        if len(called) == 1:
            raise NoEffect("nobody listens there")
        raise EffectFailed("the card is declined")

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            try:
                await effect.call(charge)
            except NoEffect:
                return Retry()

    await yard.play(jobs.configure, "t", jobs.Configuration(retry=jobs.Retry(0.01, 0.01, 0)), None)
    id = await yard.submit()
    await until(yard, worker, id, "failed")
    found = await effect_of(yard, id)
    assert (len(called), found.initiations, found.execution, found.no_effect) == (2, 2, "failed", False)
    assert (await yard.look(id)).error_code == "effect_failed"
    assert await steps(yard, found.id) == ["planned", "initiated", "failed", "initiated", "failed"]


async def test_a_repeatable_one_is_called_again_under_the_same_id(yard):
    worker, called = yard.worker(), []

    async def charge(id):
        called.append(id)
        if len(called) == 1:
            raise TimeoutError
        return "paid"

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE, repeatable=True) as effect:
            try:
                return await effect.call(charge, effect.id)
            except OutcomeUnknown:
                return Snooze(0)

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert called == [found.id] * 2
    assert (found.execution, found.reconciliation, found.initiations) == ("succeeded", "reconciled", 2)
