"""Webhooks in the database: what is replayed, pinged, cancelled and removed."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from steadhold.webhooks import delivering, plans, replaying
from steadhold.webhooks.model import Cancelled
from steadhold.webhooks.outcomes import Ended, Pruned
from tests.webhooks.house import BY, URL, Sender, create, event, fan_out, states

pytestmark = pytest.mark.database


def test_a_replay_is_a_delivery_of_its_own_with_the_same_event(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    (first,) = sender.send()
    placed = replaying.replay(conn, workspace, first.delivery, str(uuid.uuid4()))
    (second,) = sender.send()
    assert second.delivery == placed.id != first.delivery
    assert (second.event_id, second.body, second.kind) == (first.event_id, first.body, 1)


@pytest.mark.parametrize("state, unknown", [("unknown", True), ("refused", False)])
def test_cancelling_says_whether_it_may_have_arrived(conn, workspace, state, unknown):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    (sent,) = Sender(conn, workspace, made).send(state)
    cancelled = replaying.cancel(conn, workspace, sent.delivery)
    assert isinstance(cancelled, Cancelled)
    assert (cancelled.delivery.state, cancelled.unknown) == ("cancelled", unknown)
    assert replaying.cancel(conn, workspace, sent.delivery) == cancelled


def test_cancelling_what_has_begun_is_unknown_and_its_answer_is_still_written_down(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    begun = sender.begin().sendings
    assert replaying.cancel(conn, workspace, begun[0].delivery).unknown is True
    assert delivering.still(conn, workspace, made.id, sender.fence, URL) == set()
    assert sender.settle(begun) == 1
    found = replaying.delivery(conn, workspace, begun[0].delivery)
    assert (found.delivery.state, found.attempts[0].state) == ("cancelled", "delivered")


def test_what_has_ended_is_not_cancelled(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    (sent,) = Sender(conn, workspace, made).send()
    assert replaying.cancel(conn, workspace, sent.delivery) == Ended("delivered")


def test_a_ping_goes_to_a_disabled_endpoint_once(conn, workspace):
    made = create(conn, workspace, enabled=False)
    id = str(uuid.uuid4())
    replaying.ping(conn, workspace, made.id, id, replaying.ping_body(id, made.id, "webhook.ping"), "webhook.ping")
    sender = Sender(conn, workspace, made)
    (sent,) = sender.begin().sendings
    assert (sent.delivery, sent.kind) == (id, 2)
    assert delivering.still(conn, workspace, made.id, sender.fence, URL) == {(id, 1)}
    sender.settle([sent], "refused")
    assert states(conn, workspace, made) == ["exhausted"]


def test_what_failed_is_replayed_and_nothing_else(conn, workspace):
    made = create(conn, workspace, retry_seconds=(0.0,))
    fan_out(conn, workspace, [event(revision=1)])
    sender = Sender(conn, workspace, made)
    sender.send("refused")
    fan_out(conn, workspace, [event(revision=2)])
    sender.send()
    since = made.made_at - timedelta(seconds=1)
    begun = replaying.replay_many(conn, workspace, made.id, str(uuid.uuid4()), since, "failed")
    assert replaying.replay_on(conn, workspace, 10) == 2
    done = replaying.look_replay(conn, workspace, begun.id)
    assert (done.state, done.looked, done.made) == ("done", 2, 1)
    assert [s.event_id for s in sender.send()] == ["order:1@1"]


def test_a_replay_reaches_as_far_as_deliveries_are_kept(conn, workspace, clock):
    made = create(conn, workspace)
    since = made.made_at - timedelta(days=31)
    pruned = replaying.replay_many(conn, workspace, made.id, str(uuid.uuid4()), since, "all")
    assert isinstance(pruned, Pruned)
    assert pruned.first_retained is not None


def test_what_is_past_its_window_goes_unless_it_is_pending(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(revision=1), event(revision=2)])
    Sender(conn, workspace, made).send(limit=1)
    clock.move(31 * 86_400)
    assert replaying.purge(conn, workspace, 10) == 2
    assert states(conn, workspace, made) == ["pending"]


def test_a_replay_sends_no_pings(conn, workspace):
    made, other = create(conn, workspace), create(conn, workspace)
    id = str(uuid.uuid4())
    replaying.ping(conn, workspace, other.id, id, replaying.ping_body(id, other.id, "order.placed"), "order.placed")
    since = made.made_at - timedelta(seconds=1)
    for endpoint in (made, other):
        replaying.replay_many(conn, workspace, endpoint.id, str(uuid.uuid4()), since, "all")
        replaying.replay_on(conn, workspace, 10)
    assert (states(conn, workspace, made), states(conn, workspace, other)) == ([], ["pending"])


def test_a_test_that_is_sent_again_stays_one(conn, workspace):
    made = create(conn, workspace)
    id, again = str(uuid.uuid4()), str(uuid.uuid4())
    replaying.ping(conn, workspace, made.id, id, replaying.ping_body(id, made.id, "order.placed"), "order.placed")
    sender = Sender(conn, workspace, made)
    sender.send("refused")
    replaying.replay(conn, workspace, id, again)
    assert [(s.delivery, s.kind) for s in sender.send("refused")] == [(again, 2)]
    assert states(conn, workspace, made) == ["exhausted", "exhausted"]


def test_a_ping_to_what_was_deleted_ends(conn, workspace):
    made = create(conn, workspace)
    id = str(uuid.uuid4())
    replaying.ping(conn, workspace, made.id, id, replaying.ping_body(id, made.id, "webhook.ping"), "webhook.ping")
    plans.delete(conn, workspace, made.id, made.revision, by=BY)
    assert ("webhooks.skipped" in due(conn, workspace), replaying.skip(conn, workspace, 10)) == (True, 1)
    assert replaying.delivery(conn, workspace, id).delivery.state == "skipped"
    assert "webhooks.skipped" not in due(conn, workspace)


def test_what_was_deleted_goes_with_the_last_that_tells_of_it(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    Sender(conn, workspace, made).send()
    replaying.replay_many(conn, workspace, made.id, str(uuid.uuid4()), made.made_at - timedelta(seconds=1), "failed")
    replaying.replay_on(conn, workspace, 10)
    plans.delete(conn, workspace, made.id, made.revision, by=BY)
    assert (rows_left(conn, workspace), "webhooks.purge" in due(conn, workspace)) == ([1, 1, 1, 1, 1], False)
    clock.move(31 * 86_400)
    assert "webhooks.purge" in due(conn, workspace)
    while replaying.purge(conn, workspace, 10):
        pass
    assert (rows_left(conn, workspace), "webhooks.purge" in due(conn, workspace)) == ([0, 0, 0, 0, 0], False)


def due(conn, workspace):
    found = conn.execute("select duty from steadhold.due_webhooks() where workspace = %s", (workspace,))
    return {duty for (duty,) in found}


def rows_left(conn, workspace):
    tables = ("webhooks", "deliveries", "attempts", "webhook_bodies", "webhook_replays")
    counts = (f"select count(*) from steadhold.{t} where workspace = %s" for t in tables)
    return [conn.execute(count, (workspace,)).fetchone()[0] for count in counts]
