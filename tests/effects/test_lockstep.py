"""effects in group commits: verbs that meet in one transaction answer as if they had come one after another."""

from __future__ import annotations

from collections import Counter

import pytest

from steadhold import effects
from steadhold.db.pool import Pool
from steadhold.effects import AlreadyInitiated, Entry, EntryConflict, Moved
from tests.effects.people import OPERATOR, VENUE, WORKER, intent
from tests.jobs.test_lockstep import Flushes


@pytest.fixture
async def flushes(dsn, workspace):
    async with Pool(dsn, size=2) as pool:
        yield Flushes(pool, workspace)


async def planned(flushes, *steps, **kw):
    wanted = intent(**kw)
    await flushes.one(effects.plan, wanted, by=WORKER)
    for step in steps:
        await flushes.one(effects.initiate, wanted.id, by=WORKER) if step == "begin" else await flushes.one(
            effects.outcome, wanted.id, step, by=WORKER
        )
    return wanted.id


def call(flushes, verb, *args, by=WORKER, **kw):
    return verb.call(flushes.workspace, *args, by=by, **kw)


async def test_of_many_that_begin_one_does(flushes):
    id = await planned(flushes)
    got = await flushes(*[call(flushes, effects.initiate, id) for _ in range(8)])
    assert Counter(type(outcome) for outcome in got) == {Moved: 1, AlreadyInitiated: 7}


async def test_the_same_plan_many_times(flushes):
    wanted = intent()
    got = await flushes(*[call(flushes, effects.plan, wanted) for _ in range(8)])
    assert Counter(outcome.repeated for outcome in got) == {False: 1, True: 7}
    assert {outcome.effect.revision for outcome in got} == {1}


async def test_a_callback_that_is_duplicated(flushes):
    id = await planned(flushes, "begin")
    said = {"by": VENUE, "evidence_id": "e1", "venue_ref": "pi_1"}
    got = await flushes(*[call(flushes, effects.outcome, id, "succeeded", **said) for _ in range(5)])
    assert Counter(outcome.repeated for outcome in got) == {False: 1, True: 4}
    assert len({outcome.effect for outcome in got}) == 1
    assert len(await flushes.one(effects.history, id, 0, 100)) == 3
    assert [what for what in flushes.player.stats if what.startswith(("fallback", "alone"))] == []


async def test_a_callback_and_an_operator_meet(flushes):
    id = await planned(flushes, "begin", "unknown")
    callback = call(flushes, effects.outcome, id, "failed", by=VENUE)
    operator = call(flushes, effects.reconcile, id, "succeeded", "x", by=OPERATOR)
    first, second = await flushes(callback, operator)
    found = await flushes.one(effects.get, id)
    assert isinstance(first, Moved)
    assert (found.execution, found.reconciliation) == ("failed", "reconciled") or (
        isinstance(second, Moved) and found.reasons == ("contradiction",)
    )


async def test_one_charge_fifty_times_is_one_entry(flushes):
    entry = Entry("order-7", "12.50", "EUR")
    got = await flushes(*[call(flushes, effects.enter, "sales", entry) for _ in range(50)])
    other = await flushes(call(flushes, effects.enter, "sales", Entry("order-7", "12.5", "EUR")))
    assert Counter(outcome.repeated for outcome in got) == {False: 1, True: 49}
    assert other == [EntryConflict("order-7")]
    assert len(await flushes.one(effects.entries, "sales", None, 100)) == 1
