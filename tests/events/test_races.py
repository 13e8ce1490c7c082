"""Every interleaving of a change and whoever waits for it, and of appends to one aggregate."""

from __future__ import annotations

import uuid

import pytest

from steadhold import events, fences
from steadhold.events import Appended, EventTaken, Happened, Head, Waiting
from steadhold.fences import Granted, Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import RevisionConflict, StaleFence
from tests.events.verbs import due, grant, move, take, wait

pytestmark = pytest.mark.races

SUBJECT, JOB = "effect:e", str(uuid.UUID(int=1))


def open_head(stage):
    stage.play(move.call(stage.workspace, [Head(SUBJECT, 1, "open", open=True)]))


def wait_unless_done(scene):
    head = yield from events.hold(scene.workspace, SUBJECT)
    if not head.open:
        return "already"
    yield from events.wait(scene.workspace, [Waiting(JOB, "s", SUBJECT, None)])
    return "waits"


def close(scene):
    return move.call(scene.workspace, [Head(SUBJECT, 2, "done", open=False)])


def test_a_wait_and_a_change_cannot_miss_each_other(explore):
    def woken(scene):
        assert scene.play(due.call(scene.workspace, 10)) == ([JOB] if scene.outcomes["waiter"] == "waits" else [])

    seen = explore(setup=open_head, actors={"waiter": wait_unless_done, "changer": close}, always=woken)
    assert seen.waits
    assert {o["waiter"] for o in seen.outcomes} == {"waits", "already"}


def test_a_wait_that_is_over_is_taken_once(explore):
    def waiting(stage):
        open_head(stage)
        stage.play(wait.call(stage.workspace, [Waiting(JOB, "s", SUBJECT, None)]))
        stage.play(move.call(stage.workspace, [Head(SUBJECT, 2, "done", open=False)]))

    def once(scene):
        (one,), (two,) = scene.outcomes["one"], scene.outcomes["two"]
        assert (one is None) != (two is None)

    seen = explore(
        setup=waiting,
        actors={name: lambda scene: take.call(scene.workspace, [JOB]) for name in ("one", "two")},
        always=once,
    )
    assert seen.waits


@pytest.mark.parametrize("expected", [None, 1])
def test_one_of_two_appends_from_a_revision_wins_and_leaves_no_gap(explore, expected):
    def setup(stage):
        if expected:
            stage.play(events.append.call(stage.workspace, "order", None, [Happened("made")]))

    def append(scene):
        return events.append.call(scene.workspace, "order", expected, [Happened("a"), Happened("b")])

    def one(scene):
        top = (expected or 0) + 2
        assert {type(o) for o in scene.outcomes.values()} == {Appended, RevisionConflict}
        assert RevisionConflict(top) in scene.outcomes.values()
        found = scene.play(events.history.call(scene.workspace, "order", 0, 10))
        assert [e.aggregate_revision for e in found.events] == list(range(1, top + 1))

    assert explore(setup=setup, actors={"one": append, "two": append}, always=one).waits


def test_an_owned_aggregate_takes_nothing_from_a_holder_who_was_taken_over(explore):
    def owned(stage):
        stage.play(grant.call(stage.workspace, [Wanted("lock:order", "old", 60)]))
        append = events.append.call(
            stage.workspace, "order", None, [Happened("made")], owner="lock:order", fence=FenceRef("lock:order", 1)
        )
        assert isinstance(stage.play(append), Appended)

    def late(scene):
        ref = FenceRef("lock:order", 1)
        return events.append.call(scene.workspace, "order", 1, [Happened("late")], fence=ref)

    def new(scene):
        (taken,) = yield from fences.grant(scene.workspace, [Wanted("lock:order", "new", 60)])
        if not isinstance(taken, Granted):
            return taken
        ref = FenceRef("lock:order", taken.fence)
        return (yield from events.append.plan(scene.workspace, "order", 1, [Happened("new")], fence=ref))

    def one_writer(scene):
        old, taken = scene.outcomes["old"], scene.outcomes["new"]
        assert not (isinstance(old, Appended) and isinstance(taken, Appended))
        found = scene.play(events.history.call(scene.workspace, "order", 1, 10))
        assert [e.type for e in found.events] == ["late"] * isinstance(old, Appended) + ["new"] * isinstance(
            taken, Appended
        )

    seen = explore(setup=owned, actors={"old": late, "new": new}, always=one_writer, clock_moves={"past its end": 61})
    assert seen.waits
    assert {type(o["old"]) for o in seen.outcomes} >= {Appended, StaleFence}
    assert any(isinstance(o["new"], Appended) for o in seen.outcomes)


def test_one_id_is_given_to_one_event_however_many_want_it(explore):
    def append(scene, aggregate):
        return events.append.call(scene.workspace, aggregate, None, [Happened("a", event_id="mine")])

    def once(scene):
        assert {type(told) for told in scene.outcomes.values()} == {Appended, EventTaken}

    seen = explore(
        setup=lambda _stage: None,
        actors={name: lambda scene, name=name: append(scene, name) for name in ("one", "two")},
        always=once,
    )
    assert seen.waits
