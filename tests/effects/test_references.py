"""What an effect refers to in context is there when it is planned, and stays as long as the effect."""

from __future__ import annotations

import pytest

from steadhold import blobs, context, effects
from steadhold.context import Content, Pruned, Unresolved
from steadhold.effects import EffectConflict, Moved
from steadhold.kit.outcome import Missing
from tests.context.desk import put, refer
from tests.context.test_races import NAMED, aged
from tests.context.test_references import age
from tests.effects.people import WORKER, intent
from tests.jobs.racing import preempted
from tests.jobs.test_races_references import gone, kept

ONE = b"the invoice"


@pytest.fixture
def named(conn, workspace):
    put(conn, workspace, "n", ONE)
    return refer("n", 1, ONE)


def fade(conn, workspace):
    """Let the revision go, and whatever nobody needs."""
    age(conn, workspace)
    blobs.prune(conn, workspace, 100)


def test_an_effect_keeps_what_it_refers_to(desk, named):
    assert isinstance(desk.plan(intent(id="e", data_ref=named), by=WORKER), Moved)
    fade(desk.conn, desk.workspace)
    assert isinstance(context.resolve(desk.conn, desk.workspace, named), Content)
    desk.abandon("e", by=WORKER)
    blobs.prune(desk.conn, desk.workspace, 100)
    assert isinstance(context.resolve(desk.conn, desk.workspace, named), Content)


def test_an_effect_refers_to_nothing_that_is_not_there(desk, named):
    for wrong in (refer("n", 1, b"other"), refer("n", 2, ONE), refer("m", 1, ONE), "context:n"):
        assert desk.plan(intent(id="e", data_ref=wrong), by=WORKER) == Unresolved(wrong)
        assert desk.get("e") == Missing()
    assert isinstance(desk.plan(intent(id="e", data_ref="s3://bucket/x"), by=WORKER), Moved)


def test_what_was_planned_is_the_same_however_often_it_is_said(desk, named):
    wanted = intent(id="e", data_ref=named)
    first = desk.plan(wanted, by=WORKER)
    context.unpin(desk.conn, desk.workspace, "effect:e")
    fade(desk.conn, desk.workspace)
    assert context.resolve(desk.conn, desk.workspace, named) == Pruned(None)
    again = desk.plan(wanted, by=WORKER)
    assert (again.effect.id, again.effect.revision, again.repeated) == (first.effect.id, 1, True)
    assert desk.plan(intent(id="e", data_ref="context:n"), by=WORKER) == EffectConflict("e")


@pytest.mark.races
def test_a_plan_and_a_prune_cannot_miss_each_other(explore):
    wanted = intent(id="e", data_ref=NAMED)
    seen = preempted(
        explore,
        setup=aged,
        actors={"plan": lambda scene: effects.plan.call(scene.workspace, wanted, by=WORKER), "prune": gone},
        always=lambda scene: kept(scene, relied=isinstance(scene.outcomes["plan"], Moved)),
    )
    assert {type(outcomes["plan"]).__name__ for outcomes in seen} == {"Moved", "Unresolved"}


async def test_a_key_refers_to_what_it_may_read(house):
    await house.player.play(context.put.call(house.workspace, "n", ONE, None))
    blind = await house.enter()
    refused = await blind.plans("e", data_ref=refer("n", 1, ONE))
    assert (refused.status, refused.json["code"], refused.json["scope"]) == (403, "missing_scope", "context:read")
    reader = await house.enter(scopes=("effects:*", "context:read"))
    unknown = await reader.plans("e", data_ref=refer("n", 2, ONE))
    assert (unknown.status, unknown.json["code"]) == (422, "unknown_reference")
    assert (await reader.plans("e", data_ref=refer("n", 1, ONE))).status == 201
