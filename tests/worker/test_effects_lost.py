"""Answers that were lost on their way to a worker, and facts of a try after which somebody began another."""

from __future__ import annotations

import pytest

from steadhold import effects
from steadhold.access import Actor
from steadhold.kit import failpoints
from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.limits import TEXT_CHARS_MAX
from steadhold.worker import Acted, EffectFailed, NoEffect, Snooze, StageFault
from steadhold.worker.door import DoorShut
from steadhold.worker.effects_on_postgres import EffectsOnPostgres
from steadhold.worker.effects_over_http import EffectsOverHttp
from tests.worker.test_effects import CHARGE, effect_of, steps, until

OTHER = Actor("other", None)


@pytest.fixture
def losing(monkeypatch):
    """Have the answers to the first of what is told of an effect be lost, after something else has happened."""

    def lose(first, meanwhile):
        left = [first]
        for door in (EffectsOnPostgres, EffectsOverHttp):
            monkeypatch.setattr(door, "outcome", _losing(door.outcome, left, meanwhile))

    return lose


def _losing(outcome, left, meanwhile):
    async def lost(self, report):
        said = await outcome(self, report)
        if left and left.pop():
            await meanwhile(report.id)
            raise DoorShut("cut")
        return said

    return lost


async def begun_by_another(yard, ctx, id):
    """As the worker that owns the job by then begins it."""
    grant = FenceRef(f"job:{ctx.job.id}", ctx.fence)
    return await yard.play(effects.initiate, id, by=OTHER, fences_held=[grant])


@pytest.mark.parametrize("fault", [NoEffect, EffectFailed])
async def test_a_failure_whose_answer_was_lost_is_not_told_of_the_next_try(yard, losing, fault):
    """Told once more, it would say of the try that is on its way that nothing happened, and a third would begin."""
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        async def again(id):
            await yard.play(effects.outcome, id, "failed", by=OTHER, no_effect=True)
            assert (await begun_by_another(yard, ctx, id)).effect.initiations == 2

        losing(True, again)

        async def charge():
            raise fault("declined")

        async with ctx.effect("charge", **CHARGE) as effect:
            with pytest.raises(fault):
                await effect.call(charge)

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (found.execution, found.initiations, found.reconciliation) == ("initiated", 2, "not_needed")


@pytest.mark.parametrize("fault", [NoEffect, EffectFailed])
async def test_the_failure_of_a_try_is_not_told_of_the_next(yard, fault):
    worker = yard.worker()

    @worker.job("t")
    async def handler(ctx, input):
        async def charge(id):
            await yard.play(effects.outcome, id, "failed", by=OTHER, no_effect=True)
            await begun_by_another(yard, ctx, id)
            raise fault

        async with ctx.effect("charge", **CHARGE) as effect:
            with pytest.raises(fault):
                await effect.call(charge, effect.id)

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert await steps(yard, found.id) == ["planned", "initiated", "failed", "initiated"]


async def test_a_success_whose_answer_was_lost_is_one_fact(yard, losing):
    """Also if somebody decided otherwise in between."""
    worker = yard.worker()

    async def decided(id):
        await yard.play(effects.outcome, id, "failed", by=OTHER)
        await yard.play(effects.reconcile, id, "failed", "statement", by=OTHER)

    losing(True, decided)

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            await effect.call(lambda: Acted("paid", venue_ref="pi_1"))

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (found.execution, found.reconciliation) == ("failed", "reconciled")


async def test_how_the_outside_calls_it_is_known_after_the_answer_alone_was_kept(yard, monkeypatch):
    """The run ends between the two: the next one tells all that the first was given."""
    worker, called = yard.worker(), []

    class Ended(BaseException):
        """The end of a run, as at a kill."""

    def hit(label):
        if label == "effect_kept" and len(called) == 1:
            called.append("ended")
            raise Ended

    monkeypatch.setattr(failpoints, "hit", hit)

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            try:
                return await effect.call(lambda: called.append(effect.id) or Acted(7, "pi_1", "mail 3"))
            except Ended:
                assert effect.execution == "initiated"
                return Snooze(0)

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (found.execution, found.venue_ref, found.evidence_ref) == ("succeeded", "pi_1", "mail 3")
    assert (called, await yard.result(id)) == ([found.id, "ended"], b"7")


@pytest.mark.parametrize("reference", ["", "a\0b", "x" * (TEXT_CHARS_MAX + 1), 7, "\ud800"])
async def test_a_reference_that_is_none_does_not_hide_that_it_succeeded(yard, reference):
    """Neither door takes it: the handler is told, and what is known is said all the same."""
    worker, faults = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        async with ctx.effect("charge", **CHARGE) as effect:
            try:
                await effect.call(lambda: Acted(1, venue_ref=reference, evidence_ref="mail 1"))
            except StageFault as fault:
                faults.append(str(fault))

    id = await yard.submit()
    await until(yard, worker, id)
    found = await effect_of(yard, id)
    assert (found.execution, found.venue_ref, found.evidence_ref) == ("succeeded", None, "mail 1")
    assert "no text" in faults[0]


@pytest.mark.parametrize(
    "wrong", [{"target": "a\0b"}, {"expires_in_seconds": 0}, {"answer_within_seconds": -1},
              {"answer_within_seconds": float("nan")}],
)  # fmt: skip
async def test_what_no_door_takes_is_a_bug_of_the_handler(yard, wrong):
    worker, faults = yard.worker(), []

    @worker.job("t")
    async def handler(ctx, input):
        with pytest.raises(StageFault, match="cannot be planned") as fault:
            ctx.effect("x", key=new_id(), request=None, **wrong)
        faults.append(fault)

    id = await yard.submit()
    await until(yard, worker, id)
    assert len(faults) == 1
