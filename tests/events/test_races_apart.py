"""Every interleaving of a relay that sets apart with those who skip, retry and replay what something stands behind."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from steadhold import events
from steadhold.events import Happened, Retry, Spec, Taken, flow, relaying, subscribing
from steadhold.kit.fields import FenceRef
from steadhold.kit.plan import operation, rows
from tests.events import older

pytestmark = pytest.mark.races

LANE = ("inbox:x", flow.lane_of("o"))
REF = FenceRef(flow.subject(*LANE), 1)
ALL = Spec(("a",), "inbox:x")
ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
VERBS = ["skip", "retry", "older-skip", "older-retry"]
OPEN = """
select aggregate_revision, id::text, state from steadhold.publications where workspace = %s and state < 3
order by aggregate_revision, subscription
"""


def refusing(*revisions):
    """An inbox that takes nothing of these revisions."""

    def append(_workspace, _name, batch):
        return [Retry("down", 3_000.0) if one.event.aggregate_revision in revisions else Taken() for one in batch]
        yield

    return append


def deliver(scene, *refused):
    return relaying.deliver.call(scene.workspace, *LANE, REF, "", refusing(*refused))


def open_ones(scene):
    return scene.conn.execute(OPEN, [scene.workspace]).fetchall()


def happen(stage, revision):
    stage.play(events.append.call(stage.workspace, "o", revision - 1 or None, [Happened("a")]))
    stage.play(relaying.match.call(stage.workspace, 100))


def waits(stage, at=1, behind=1):
    """One that waits, all before it published, and behind it some that no relay has met; the ids of what is open."""
    stage.play(subscribing.subscribe.call(stage.workspace, "s", ALL, None, patience_ms=60_000))
    stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "relay"))
    for revision in range(1, at + 1):
        happen(stage, revision)
    stage.play(deliver(stage, at))
    for revision in range(at + 1, at + behind + 1):
        happen(stage, revision)
    return {revision: id for revision, id, _ in open_ones(stage)}


def waits_apart(stage):
    found = waits(stage, behind=2)
    stage.play(deliver(stage))
    return found


def published(scene):
    """Let the relay do what it can: what is left then."""
    dealt = 1
    while scene.play(relaying.lanes.call(scene.workspace)) and dealt:
        dealt, _ = scene.play(deliver(scene))
    return [revision for revision, *_ in open_ones(scene)]


def of_first(verb):
    """An operator, at a server of this release or of the one before, says it of the first."""
    if verb in {older.skip, older.retry}:
        return lambda scene: verb.call(scene.workspace, ("o", 1, "s", UUID(scene.facts[1])))
    return lambda scene: verb.call(scene.workspace, scene.facts[1])


@pytest.mark.parametrize("verb", [events.skip, events.retry, older.skip, older.retry], ids=VERBS)
def test_what_is_met_behind_one_that_goes_meanwhile_goes_on(explore, verb):
    def gone(scene):
        assert published(scene) == []

    seen = explore(setup=waits, actors={"relay": deliver, "operator": of_first(verb)}, always=gone)
    assert seen.waits


@pytest.mark.parametrize("verb", [events.skip, older.skip], ids=["skip", "older-skip"])
def test_what_is_held_up_and_skipped_at_once_holds_nothing_up(explore, verb):
    def claimed(stage):
        stage.play(subscribing.subscribe.call(stage.workspace, "s", ALL, None, patience_ms=60_000))
        stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "relay"))
        happen(stage, 1)
        happen(stage, 2)
        _, batch = stage.play(relaying.claim.call(stage.workspace, *LANE, REF, ""))
        return {1: open_ones(stage)[0][1], "batch": batch}

    def settle(scene):
        batch = scene.facts["batch"]
        return relaying.settle.call(scene.workspace, REF, batch, [Retry("down", 3_000.0) for _ in batch])

    def gone(scene):
        assert published(scene) == []

    seen = explore(setup=claimed, actors={"relay": settle, "operator": of_first(verb)}, always=gone)
    assert seen.waits


def test_what_is_replayed_before_one_that_waits_is_not_set_apart(explore):
    def replay(scene):
        return subscribing.replay.call(scene.workspace, "s", *ALWAYS, ("", 0), 10)

    def only_what_waits_is_left(scene):
        assert published(scene) == [2, 3]

    explore(
        setup=lambda stage: waits(stage, at=2),
        actors={"relay": deliver, "replay": replay},
        always=only_what_waits_is_left,
    )


def test_of_several_that_are_skipped_at_once_each_lets_in_what_is_behind_it(explore):
    @operation
    def skip(workspace, revision, id):
        yield from relaying.hold(workspace, [("o", revision, "s")])
        yield from relaying.skip(workspace, [("o", revision, "s", UUID(id))])

    def skipping(revision):
        return lambda scene: skip.call(scene.workspace, revision, scene.facts[revision])

    def gone(scene):
        assert published(scene) == []

    seen = explore(setup=waits_apart, actors={"one": skipping(1), "two": skipping(2)}, always=gone)
    assert seen.waits


@pytest.mark.parametrize("verb", [events.skip, older.skip], ids=["skip", "older-skip"])
def test_what_comes_next_and_is_skipped_while_all_before_it_is_published_lets_in(explore, monkeypatch, verb):
    monkeypatch.setattr(relaying, "EACH", 1)

    def in_turn(stage):
        found = waits_apart(stage)
        stage.play(events.retry.call(stage.workspace, found[1]))
        return found

    def of_the_next(scene):
        of = scene.facts[2] if verb is events.skip else ("o", 2, "s", UUID(scene.facts[2]))
        return verb.call(scene.workspace, of)

    def gone(scene):
        assert published(scene) == []

    seen = explore(setup=in_turn, actors={"relay": deliver, "operator": of_the_next}, always=gone)
    assert seen.waits


def one_more(stage):
    """One that waits, one that is set apart behind it, and one that no relay has met."""
    found = waits(stage)
    stage.play(deliver(stage))
    happen(stage, 3)
    return found


def test_what_is_set_apart_while_one_before_it_is_skipped_goes_on_behind_what_is_published(explore, monkeypatch):
    monkeypatch.setattr(relaying, "EACH", 1)

    @operation
    def skip(workspace, id):
        yield from rows(relaying.SQL.skip, workspace=workspace, ids=[UUID(id)])

    @operation
    def meet_and_go_on(workspace, first):
        yield from relaying.hold(workspace, [("o", 1, "s")])
        yield from rows(relaying.SQL.set_apart, workspace=workspace, ids=[UUID(first)], each=relaying.APART)
        yield from rows(relaying.SQL.again, workspace=workspace, ids=[UUID(first)])
        yield from relaying.deliver.plan(workspace, *LANE, REF, "", refusing())

    def gone(scene):
        assert published(scene) == []

    actors = {
        "relay": lambda scene: meet_and_go_on.call(scene.workspace, scene.facts[1]),
        "operator": lambda scene: skip.call(scene.workspace, scene.facts[2]),
    }
    seen = explore(setup=one_more, actors=actors, always=gone)
    assert seen.waits


def test_what_is_set_apart_while_all_before_it_is_skipped_goes_on(explore):
    @operation
    def skip(workspace, id):
        yield from rows(relaying.SQL.skip, workspace=workspace, ids=[UUID(id)])

    @operation
    def meet(workspace, first):
        yield from relaying.hold(workspace, [("o", 1, "s")])
        yield from rows(relaying.SQL.set_apart, workspace=workspace, ids=[UUID(first)], each=relaying.APART)

    def skipping(revision):
        return lambda scene: skip.call(scene.workspace, scene.facts[revision])

    def meeting(scene):
        return meet.call(scene.workspace, scene.facts[1])

    def gone(scene):
        assert published(scene) == []

    actors = {"one": skipping(1), "two": skipping(2), "relay": meeting}
    seen = explore(setup=one_more, actors=actors, always=gone)
    assert seen.waits
