"""Webhooks come and go as takers of events under rivals: every interleaving of two."""

from __future__ import annotations

import uuid

import pytest

from steadhold import events
from steadhold.events import WritersOpen
from steadhold.kit.plan import single_operation
from steadhold.webhooks import delivering, plans
from steadhold.webhooks.model import TAKER, Result, Shown, Spec
from tests.webhooks.house import BY, URL
from tests.webhooks.test_races import made

pytestmark = pytest.mark.races


@single_operation
def comes(workspace: str, id: str):
    """What enabling does, without what it tells."""
    held = yield from plans.hold(workspace, id)
    assert (yield from events.want(workspace, TAKER))
    yield from plans.write(workspace, held, held.spec, enabled=True, why=None)


@single_operation
def goes(workspace: str, id: str):
    """What removing does, without what it tells."""
    held = yield from plans.hold(workspace, id)
    yield from plans.write(workspace, held, held.spec, enabled=False, why="asked", deleted=True)
    yield from plans.unwanted(workspace)


def test_who_is_enabled_while_the_last_one_is_removed_is_given_events(explore):
    def setup(stage):
        ids = [str(uuid.uuid4()) for _ in range(2)]
        for id in ids:
            stage.play(plans.create.call(stage.workspace, id, Spec(URL, ("*",)), ((b"sealed", None),), by=BY))
        stage.play(plans.enable.call(stage.workspace, ids[0], by=BY))
        return ids

    def check(scene):
        found = scene.conn.execute("select taker from steadhold.event_takers where workspace = %s", (scene.workspace,))
        assert found.fetchall() == [("webhooks",)]

    seen = explore(
        setup=setup,
        actors={
            "comes": lambda scene: comes.call(scene.workspace, scene.facts[1]),
            "goes": lambda scene: goes.call(scene.workspace, scene.facts[0]),
        },
        always=check,
    )
    assert seen.waits


def test_who_is_enabled_and_who_settles_do_not_wait_for_one_another(explore):
    """Events are wanted for the first time while the end of an endpoint is being told: nobody is refused."""

    def setup(stage):
        id, fence = made(retry_seconds=(0.0,))(stage)
        (begun,) = stage.play(delivering.begin.call(stage.workspace, id, fence, 10)).sendings
        stage.conn.execute("delete from steadhold.event_takers where workspace = %s", (stage.workspace,))
        return id, begun

    def settles(scene):
        id, begun = scene.facts
        return delivering.settle.call(scene.workspace, id, [Result(begun.delivery, begun.n, "refused", status=410)])

    def check(scene):
        assert isinstance(scene.outcomes["comes"], Shown | WritersOpen)
        assert scene.outcomes["settles"] == 1

    explore(
        setup=setup,
        actors={"comes": lambda scene: plans.enable.call(scene.workspace, scene.facts[0], by=BY), "settles": settles},
        always=check,
    )
