"""Every interleaving of those who write, subscribe, match and publish."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold import events
from steadhold.events import Appended, Happened, Spec, flow, relaying, subscribing
from steadhold.events.flow import Subscribed, Taken, Unsubscribed
from steadhold.fences import Granted
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from tests.events.verbs import record

pytestmark = pytest.mark.races

INBOX, PATIENT = "inbox:x", 60_000
LANE = (INBOX, flow.lane_of("o"))
ALL = Spec(("*",), INBOX)


def subscribe(scene, id="s", spec=ALL):
    return subscribing.subscribe.call(scene.workspace, id, spec, None, patience_ms=PATIENT)


def match(scene):
    return relaying.match.call(scene.workspace, 100)


def append(scene, expected, *types):
    return events.append.call(scene.workspace, "o", expected, [Happened(type) for type in types])


def published(scene, state=None):
    found = scene.conn.execute(
        "select aggregate_revision from steadhold.publications where workspace = %s and aggregate_id = 'o'"
        " and (%s::int is null or state = %s) order by 1",
        [scene.workspace, state, state],
    )
    return [revision for (revision,) in found]


def inbox(workspace, name, batch):
    """An inbox that is a history: what comes twice, or out of order, breaks it."""
    for one in batch:
        told = [(f"inbox:{name}/{one.event.aggregate_id}", one.event.aggregate_revision, Happened(one.event.type))]
        yield from events.record(workspace, told)
    return [Taken() for _ in batch]


def received(scene):
    found = scene.conn.execute(
        "select aggregate_revision from steadhold.events where workspace = %s and aggregate_id = 'inbox:x/o'"
        " order by 1",
        [scene.workspace],
    )
    return [revision for (revision,) in found]


def test_who_subscribed_before_a_commit_is_given_its_event(explore):
    def write(scene):
        made = yield from events.append.plan(scene.workspace, "o", None, [Happened("made")])
        seen = yield from events.subscription.plan(scene.workspace, "s")
        return made, isinstance(seen, events.Subscription)

    def given(scene):
        _, subscribed_before = scene.outcomes["writer"]
        assert isinstance(scene.outcomes["subscriber"], Subscribed)
        scene.play(match(scene))
        assert not subscribed_before or published(scene) == [1]

    seen = explore(setup=lambda stage: None, actors={"writer": write, "subscriber": subscribe}, always=given)
    assert seen.waits
    assert {outcome["writer"][1] for outcome in seen.outcomes} == {True, False}


def test_who_subscribes_while_the_last_one_leaves_is_still_served(explore):
    def served(scene):
        assert isinstance(scene.outcomes["comes"], Subscribed)
        assert isinstance(scene.outcomes["leaves"], Unsubscribed)
        scene.play(append(scene, None, "made"))
        scene.play(match(scene))
        assert published(scene) == [1]

    explore(
        setup=lambda stage: stage.play(subscribe(stage, "first")),
        actors={
            "comes": lambda scene: subscribe(scene, "second"),
            "leaves": lambda scene: subscribing.unsubscribe.call(scene.workspace, "first", 1),
        },
        always=served,
    )


def test_a_revision_is_matched_no_later_than_the_next(explore):
    def setup(stage):
        stage.play(subscribe(stage))
        stage.play(append(stage, None, "a"))

    def in_order(scene):
        found = published(scene)
        assert found == [*range(1, len(found) + 1)]

    def all_there(scene):
        in_order(scene)
        scene.play(match(scene))
        assert published(scene) == [1, 2]

    explore(
        setup=setup,
        actors={
            "one": match,
            "two": lambda scene: [record.call(scene.workspace, [("o", 2, Happened("b"))]), lambda _: match(scene)],
        },
        between=in_order,
        always=all_there,
    )


def ready(stage):
    stage.play(subscribe(stage))
    stage.play(append(stage, None, "a", "b"))
    stage.play(match(stage))


def deliver(scene, fence):
    ref = FenceRef(flow.subject(*LANE), fence)
    return relaying.deliver.call(scene.workspace, *LANE, ref, "", inbox)


@pytest.mark.parametrize("steps", [0, 1, 6, 7, 8, 9])
def test_a_relay_stopped_past_its_lease_publishes_nothing_twice_nor_out_of_order(explore, steps):
    def setup(stage):
        ready(stage)
        assert isinstance(stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "old")), Granted)

    def new(scene):
        hold = relaying.hold_lane.call(scene.workspace, *LANE, "new")
        return [hold, lambda held: deliver(scene, held.fence if isinstance(held, Granted) else 9)]

    def once(scene):
        found = received(scene)
        assert found in ([], [1, 2])
        assert published(scene, 3) == found

    seen = explore(
        setup=setup,
        actors={"old": lambda scene: deliver(scene, 1), "new": new},
        always=once,
        clock_moves={"past its lease": 31},
        schedule=", ".join(["old"] * steps + ["past its lease", "new"]),
    )
    (ended,) = seen.outcomes
    stale = StaleFence(flow.subject(*LANE))
    assert ended["old"] in (stale, (1, "o"))
    assert (ended["old"], ended["new"]) != (stale, stale)


def test_what_was_skipped_is_not_published_and_what_was_published_not_skipped(explore):
    def setup(stage):
        ready(stage)
        stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "old"))

    def skip(scene):
        first = yield from events.publications.plan(scene.workspace, "pending", None, 10)
        ids = {one.aggregate_revision: one.id for one in first}
        return (yield from events.skip.plan(scene.workspace, ids[1])) if 1 in ids else None

    def one_of_both(scene):
        skipped, found = published(scene, 4), received(scene)
        assert sorted([*skipped, *found]) == [1, 2]
        assert skipped == ([1] if isinstance(scene.outcomes["operator"], flow.Steered) else [])

    seen = explore(
        setup=setup,
        actors={"relay": lambda scene: deliver(scene, 1), "operator": skip},
        always=one_of_both,
    )
    assert seen.waits


def test_an_event_whose_window_has_not_begun_is_not_purged(explore):
    def setup(stage):
        ready(stage)
        stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "old"))

    def kept(scene):
        found = scene.play(events.history.call(scene.workspace, "o", 0, 10))
        assert [event.aggregate_revision for event in found.events] == [1, 2]
        assert isinstance(scene.outcomes["purge"], int)

    explore(
        setup=setup,
        actors={
            "relay": lambda scene: deliver(scene, 1),
            "purge": lambda scene: events.purge.call(scene.workspace, 10, kept_seconds=3_600),
        },
        always=kept,
    )


def test_appends_and_a_replay_give_each_event_a_publication(explore):
    def setup(stage):
        stage.play(subscribe(stage))
        assert isinstance(stage.play(append(stage, None, "a")), Appended)

    def replay(scene):
        span = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
        return subscribing.replay.call(scene.workspace, "s", *span, ("", 0), 10)

    def there(scene):
        scene.play(match(scene))
        assert published(scene, 0) == [1]

    explore(setup=setup, actors={"match": match, "replay": replay}, always=there)


def test_nothing_of_a_replay_outlives_a_subscription_that_is_deleted_meanwhile(explore):
    span = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))

    def published_once(stage):
        stage.play(subscribe(stage))
        stage.play(append(stage, None, "a"))
        stage.play(match(stage))
        (found,) = stage.play(subscribing.publications.call(stage.workspace, "pending", None, 10))
        stage.play(subscribing.skip.call(stage.workspace, found.id))

    def ended(scene):
        assert isinstance(scene.outcomes["deleter"], Unsubscribed)
        scene.play(subscribing.end.call(scene.workspace, 10))
        assert published(scene, 0) == []

    seen = explore(
        setup=published_once,
        actors={
            "deleter": lambda scene: subscribing.unsubscribe.call(scene.workspace, "s", 1),
            "replayer": lambda scene: subscribing.replay.call(scene.workspace, "s", *span, ("", 0), 10),
        },
        always=ended,
    )
    assert len({repr(outcomes["replayer"]) for outcomes in seen.outcomes}) == 2


@pytest.mark.parametrize("steps", range(11))
def test_nothing_is_published_once_a_deletion_was_answered(explore, steps, monkeypatch):
    """The deleter goes on whenever it can: a backlog that it leaves to others is nothing that it waits for."""
    monkeypatch.setattr(subscribing, "SKIPPED_AT_ONCE", 0)

    def setup(stage):
        ready(stage)
        stage.play(relaying.hold_lane.call(stage.workspace, *LANE, "old"))

    def look(scene):
        found = yield from events.history.plan(scene.workspace, "inbox:x/o", 0, 10)
        return len(found.events) if isinstance(found, events.History) else 0

    def no_more(scene):
        scene.play(subscribing.end.call(scene.workspace, 10))
        assert len(received(scene)) == scene.outcomes["deleter"]
        assert published(scene, 3) == received(scene)
        assert published(scene, 0) == []

    seen = explore(
        setup=setup,
        actors={
            "deleter": lambda scene: [
                subscribing.unsubscribe.call(scene.workspace, "s", 1), lambda _: look(scene),
            ],
            "relay": lambda scene: deliver(scene, 1),
        },
        always=no_more,
        schedule=", ".join([*["relay"] * steps, "deleter"]),
    )  # fmt: skip
    (ended,) = seen.outcomes
    assert ended["deleter"] in {0, 2}
