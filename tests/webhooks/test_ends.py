"""Webhooks in the database: replays between two moments, by turns and cancelled; what is late for ever."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from steadhold import events
from steadhold.kit.ids import uuid7
from steadhold.kit.outcome import Missing
from steadhold.webhooks import plans, replaying, sweeping
from steadhold.webhooks.model import Endpoint
from steadhold.webhooks.outcomes import Pruned, ReplayEnded
from tests.webhooks.house import BY, Sender, create, event, fan_out, listed, states

pytestmark = pytest.mark.database
DAY = 86_400


def begun(conn, workspace, at, only="all", **more):
    id = str(uuid.uuid4())
    return replaying.replay_many(conn, workspace, at.id, id, at.made_at - timedelta(seconds=1), only, **more)


def test_a_replay_ends_where_it_was_told_to(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(revision=1)])
    Sender(conn, workspace, made).send()
    between = made.made_at + timedelta(seconds=50)
    clock.move(100)
    fan_out(conn, workspace, [event(revision=2)])
    Sender(conn, workspace, made).send()
    replay = begun(conn, workspace, made, until=between)
    assert replay.until == between
    replaying.replay_on(conn, workspace, 10)
    assert replaying.look_replay(conn, workspace, replay.id).made == 1
    assert [d.event_id for d in listed(conn, workspace, made) if d.kind == 1] == ["order:1@1"]


def test_a_replay_is_of_nothing_that_comes_later(conn, workspace, clock):
    made = create(conn, workspace)
    replay = begun(conn, workspace, made, until=made.made_at + timedelta(days=1))
    clock.move(10)
    fan_out(conn, workspace, [event()])
    replaying.replay_on(conn, workspace, 10)
    assert replaying.look_replay(conn, workspace, replay.id).looked == 0


def test_a_replay_that_is_cancelled_places_nothing_more(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    replay = begun(conn, workspace, made)
    assert replaying.replay_on(conn, workspace, 1) == 1
    cancelled = replaying.cancel_replay(conn, workspace, replay.id)
    assert (cancelled.state, cancelled.made) == ("cancelled", 1)
    assert replaying.cancel_replay(conn, workspace, replay.id) == cancelled
    assert replaying.replay_on(conn, workspace, 10) == 0
    assert sum(d.kind == 1 for d in listed(conn, workspace, made)) == 1


def test_a_replay_that_is_over_is_not_cancelled(conn, workspace):
    made = create(conn, workspace)
    replay = begun(conn, workspace, made)
    replaying.replay_on(conn, workspace, 10)
    assert replaying.cancel_replay(conn, workspace, replay.id) == ReplayEnded()
    assert replaying.cancel_replay(conn, workspace, str(uuid.uuid4())) == Missing()


def test_a_long_replay_holds_up_no_other(conn, workspace):
    long, short = create(conn, workspace), create(conn, workspace)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 9)])
    first = begun(conn, workspace, long)
    assert replaying.replay_on(conn, workspace, 4) == 4
    second = begun(conn, workspace, short)
    assert replaying.replay_on(conn, workspace, 4) == 4
    looked = [replaying.look_replay(conn, workspace, replay.id).looked for replay in (first, second)]
    assert looked == [4, 4]


def test_what_gets_no_turn_for_as_long_as_it_is_kept_is_given_up(conn, workspace, clock):
    made = create(conn, workspace, rate=1e-6)
    fan_out(conn, workspace, [event(revision=1), event(revision=2)])
    Sender(conn, workspace, made).send()
    clock.move(29 * DAY)
    assert (due(conn, workspace), sweeping.give_up(conn, workspace, 10)) == (False, 0)
    clock.move(2 * DAY)
    assert (due(conn, workspace), sweeping.give_up(conn, workspace, 10)) == (True, 1)
    assert sorted(states(conn, workspace, made)) == ["delivered", "exhausted"]
    assert due(conn, workspace) is False


@pytest.mark.parametrize("blocks, left", [(False, ["exhausted", "pending"]), (True, ["blocked", "pending"])])
def test_what_is_given_up_of_a_lane_goes_by_its_rule(conn, workspace, clock, blocks, left):
    made = create(conn, workspace, ordered=True, blocks=blocks)
    fan_out(conn, workspace, [event(revision=1), event(revision=2)])
    clock.move(31 * DAY)
    assert sweeping.give_up(conn, workspace, 10) == 1
    assert states(conn, workspace, made) == left
    sent = Sender(conn, workspace, made).send()
    assert [(s.event_id, s.skipped) for s in sent] == ([] if blocks else [("order:1@2", 1)])


def due(conn, workspace):
    found = conn.execute("select duty from steadhold.due() where workspace = %s", (workspace,))
    return ("webhooks.late",) in found.fetchall()


def test_events_tell_nothing_of_a_url_behind_its_host(conn, workspace):
    made = create(conn, workspace, url="https://hooks.example.com:443/T0/secret?token=secret")
    plans.change(conn, workspace, made.id, made.revision, lambda spec: spec, by=BY)
    plans.disable(conn, workspace, made.id, by=BY)
    told = [json.loads(e.data) for e in events.history(conn, workspace, made.subject, 0, 10).events]
    assert [t.get("origin") for t in told] == [
        "https://hooks.example.com:443",
        None,
        "https://hooks.example.com:443",
        None,
    ]
    assert "secret" not in json.dumps(told)


def taken(conn, workspace):
    return conn.execute(
        "select taker from steadhold.event_takers where workspace = %s and taker = 'webhooks'", (workspace,)
    ).fetchall()


def test_events_are_taken_until_the_last_that_takes_them_is_removed(conn, workspace):
    first, second = create(conn, workspace), create(conn, workspace)
    create(conn, workspace, enabled=False)  # one that never was enabled takes none
    off = plans.disable(conn, workspace, first.id, by=BY).endpoint
    assert isinstance(plans.delete(conn, workspace, second.id, second.revision, by=BY), Endpoint)
    assert taken(conn, workspace) == [("webhooks",)], "what comes while it is disabled can be replayed later"
    plans.delete(conn, workspace, off.id, off.revision, by=BY)
    assert taken(conn, workspace) == []
    create(conn, workspace)
    assert taken(conn, workspace) == [("webhooks",)]


def removed(conn, workspace, clock, kept_seconds=DAY):
    """The ids of a delivery of an event and of a test, and of a replay, that are past their window and gone."""
    made = create(conn, workspace)
    now = conn.execute("select steadhold.clock()").fetchone()[0]
    fan_out(conn, workspace, [replace(event(), occurred_at=now)])
    replay = replaying.replay_many(
        conn, workspace, made.id, uuid7(int(now.timestamp() * 1000), bytes(10)), now - timedelta(seconds=1), "all"
    )
    ping = uuid7(int(now.timestamp() * 1000), b"0123456789")
    replaying.ping(conn, workspace, made.id, ping, b"{}", "webhook.ping")
    replaying.replay_on(conn, workspace, 10)
    Sender(conn, workspace, made).send()
    deliveries = [d.id for d in listed(conn, workspace, made)]
    clock.move(2 * kept_seconds)
    while replaying.purge(conn, workspace, 10, kept_seconds=kept_seconds):
        pass
    assert len(deliveries) == 3
    return deliveries, replay.id


def test_what_was_removed_is_never_told_to_have_not_been(conn, workspace, clock):
    deliveries, replay = removed(conn, workspace, clock)
    for id in deliveries:
        new = str(uuid.uuid4())
        assert isinstance(replaying.delivery(conn, workspace, id, kept_seconds=DAY), Pruned)
        assert isinstance(replaying.replay(conn, workspace, id, new, kept_seconds=DAY), Pruned)
        assert isinstance(replaying.cancel(conn, workspace, id, kept_seconds=DAY), Pruned)
    assert isinstance(replaying.look_replay(conn, workspace, replay, kept_seconds=DAY), Pruned)
    assert isinstance(replaying.cancel_replay(conn, workspace, replay, kept_seconds=DAY), Pruned)


def test_what_cannot_have_been_removed_yet_is_not_there(conn, workspace, clock):
    made = create(conn, workspace)
    now = conn.execute("select steadhold.clock()").fetchone()[0]
    fan_out(conn, workspace, [replace(event(), occurred_at=now)])
    (there,) = listed(conn, workspace, made)
    young = uuid7(int(now.timestamp() * 1000), bytes(10))
    for id in (young, str(uuid.uuid4())):
        assert replaying.delivery(conn, workspace, id, kept_seconds=DAY) == Missing()
        assert replaying.look_replay(conn, workspace, id, kept_seconds=DAY) == Missing()
    clock.move(2 * DAY)
    assert replaying.delivery(conn, workspace, there.id, kept_seconds=DAY).delivery.id == there.id
