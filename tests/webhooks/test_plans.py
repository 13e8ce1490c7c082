"""Webhooks in the database: what becomes deliveries, attempts, and what they come to."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

import pytest

from steadhold import access, events
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.webhooks import delivering, plans, replaying
from steadhold.webhooks.model import Placed
from steadhold.webhooks.outcomes import Disabled, SecretsFull
from tests.webhooks.house import BY, URL, Sender, create, event, fan_out, listed, states

pytestmark = pytest.mark.database


def test_an_endpoint_begins_disabled_and_takes_nothing(conn, workspace):
    made = create(conn, workspace, enabled=False)
    assert (made.enabled, made.why, made.revision) == (False, "new", 1)
    fan_out(conn, workspace, [event()])
    assert states(conn, workspace, made) == []


def test_an_enabled_endpoint_gets_each_event_that_it_takes_once(conn, workspace):
    some = create(conn, workspace, types=("order.*",))
    none = create(conn, workspace, types=("bill.*",))
    for _ in range(2):
        fan_out(conn, workspace, [event(revision=1), event(revision=2)])
    assert states(conn, workspace, some) == ["pending", "pending"]
    assert states(conn, workspace, none) == []


def test_what_comes_while_it_is_disabled_is_skipped_and_can_be_replayed(conn, workspace):
    made = create(conn, workspace)
    plans.disable(conn, workspace, made.id, by=BY)
    fan_out(conn, workspace, [event()])
    assert states(conn, workspace, made) == ["skipped"]
    assert isinstance(
        replaying.replay(conn, workspace, listed(conn, workspace, made)[0].id, str(uuid.uuid4())), Disabled
    )
    plans.enable(conn, workspace, made.id, by=BY)
    replaying.replay_many(conn, workspace, made.id, str(uuid.uuid4()), made.made_at - timedelta(days=1), "missing")
    assert replaying.replay_on(conn, workspace, 10) == 1
    assert states(conn, workspace, made) == ["skipped", "pending"]


def test_every_change_is_told_by_an_event_and_stands_in_the_audit(conn, workspace):
    made = create(conn, workspace)
    plans.disable(conn, workspace, made.id, by=BY)
    again = plans.disable(conn, workspace, made.id, by=BY)
    told = [e.type for e in events.history(conn, workspace, made.subject, 0, 10).events]
    assert told == ["webhook.created", "webhook.enabled", "webhook.disabled"]
    assert again.endpoint.revision == len(told)
    trail = access.trail(conn, workspace, 10, resource=made.subject)
    assert sorted(row.kind for row in trail) == sorted(told)


def test_a_change_needs_the_current_revision(conn, workspace):
    made = create(conn, workspace, enabled=False)
    assert plans.change(conn, workspace, made.id, 7, lambda spec: spec, by=BY) == RevisionConflict(1)
    assert plans.delete(conn, workspace, made.id, 7, by=BY) == RevisionConflict(1)
    assert plans.delete(conn, workspace, made.id, 1, by=BY).revision == 2
    assert plans.get(conn, workspace, made.id) == Missing()
    assert plans.enable(conn, workspace, made.id, by=BY) == Missing()


def test_there_are_no_more_endpoints_than_entitled(conn, workspace):
    access.put_entitlements(conn, workspace, access.Entitlements(endpoints_max=1), None, by=BY)
    create(conn, workspace)
    full = plans.create(conn, workspace, str(uuid.uuid4()), plans.Spec(URL, ("*",)), (), by=BY)
    assert full == access.StorageExhausted("endpoints", 1, 1)
    assert access.entitlements(conn, workspace).used["endpoints"] == 1


def test_rotated_secrets_sign_for_their_own_grace(conn, workspace, clock):
    made = create(conn, workspace)
    first = plans.rotate(conn, workspace, made.id, (b"two", None), 100, by=BY)
    clock.move(50)
    both = plans.rotate(conn, workspace, made.id, (b"three", None), 100, by=BY)
    assert [s.sealed for s in first.secrets] == [b"two", b"sealed"]
    assert [s.sealed for s in both.secrets] == [b"three", b"two", b"sealed"]
    assert plans.rotate(conn, workspace, made.id, (b"four", None), 100, by=BY) == SecretsFull()
    clock.move(51)
    assert [s.sealed for s in plans.get(conn, workspace, made.id).secrets] == [b"three", b"two"]
    now = plans.rotate(conn, workspace, made.id, (b"four", None), 0, by=BY)
    assert [s.sealed for s in now.secrets] == [b"four", b"two"]


def test_the_bytes_of_an_attempt_are_those_of_the_event_each_time(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    first = sender.send("refused", status=500)
    clock.move(10)
    second = sender.send("delivered", status=200)
    assert [s.body for s in first] == [s.body for s in second]
    assert b'"data":{"n":1.10}' in first[0].body
    assert json.loads(first[0].body)["event_id"] == "order:1@1"
    assert [s.n for s in (*first, *second)] == [1, 2]
    assert states(conn, workspace, made) == ["delivered"]


def test_a_delivery_ends_exhausted_after_its_schedule(conn, workspace, clock):
    made = create(conn, workspace, retry_seconds=(0.0, 5.0))
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    assert len(sender.send("refused", status=500)) == 1
    assert sender.send("refused") == ()
    clock.move(7)
    assert len(sender.send("unknown", why="timeout")) == 1
    assert states(conn, workspace, made) == ["exhausted"]


def test_an_attempt_that_was_not_made_counts_for_nothing(conn, workspace):
    made = create(conn, workspace, retry_seconds=(0.0,))
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    sender.send("refused", made=False, why="disabled")
    (left,) = listed(conn, workspace, made)
    assert (left.state, left.attempts, left.tries) == ("pending", 1, 0)
    assert plans.get(conn, workspace, made.id).endpoint.health.failures == 0


def test_what_its_sender_says_nothing_of_is_unknown(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    begun = sender.begin().sendings
    clock.move(24)
    assert replaying.delivery(conn, workspace, begun[0].delivery).attempts[0].state == "started"
    assert delivering.lapse(conn, workspace, 10) == 0
    clock.move(2)
    assert delivering.lapse(conn, workspace, 10) == 1
    found = replaying.delivery(conn, workspace, begun[0].delivery)
    assert (found.delivery.state, found.attempts[0].state) == ("pending", "unknown")
    assert sender.settle(begun) == 0
    assert replaying.delivery(conn, workspace, begun[0].delivery).attempts[0].state == "unknown"


def test_only_who_has_the_lease_begins(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    old = Sender(conn, workspace, made, "old")
    assert delivering.lease(conn, workspace, made.id, "new") is None
    clock.move(31)
    new = Sender(conn, workspace, made, "new")
    assert isinstance(old.begin(), StaleFence)
    assert delivering.still(conn, workspace, made.id, old.fence, URL) == set()
    assert len(new.begin().sendings) == 1


def test_nothing_may_be_sent_once_it_is_disabled(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(), event(revision=2)])
    sender = Sender(conn, workspace, made)
    (sending,) = sender.begin(1).sendings
    assert delivering.still(conn, workspace, made.id, sender.fence, URL) == {(sending.delivery, sending.n)}
    plans.disable(conn, workspace, made.id, by=BY)
    assert delivering.still(conn, workspace, made.id, sender.fence, URL) == set()
    assert sender.begin().sendings == ()
    sender.settle([sending], "refused", made=False)
    assert replaying.skip(conn, workspace, 10) == 2
    assert states(conn, workspace, made) == ["skipped", "skipped"]


def test_an_address_that_changed_is_not_dialled(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    sender.begin()
    assert delivering.still(conn, workspace, made.id, sender.fence, "https://example.com/other") == set()


def test_an_endpoint_has_as_many_attempts_at_once_as_it_may(conn, workspace):
    made = create(conn, workspace, concurrency=2)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 6)])
    sender = Sender(conn, workspace, made)
    begun = sender.begin().sendings
    assert len(begun) == 2
    assert sender.begin().sendings == ()
    sender.settle(begun[:1])
    assert len(sender.begin().sendings) == 1


def test_a_failing_endpoint_is_paused_probed_and_let_up(conn, workspace, clock):
    made = create(conn, workspace, concurrency=8)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 20)])
    sender = Sender(conn, workspace, made)
    sender.send("refused", limit=5, status=500)
    assert sender.begin().sendings == ()
    clock.move(29)
    assert sender.begin().sendings == ()
    clock.move(2)
    sender = Sender(conn, workspace, made)
    assert len(sender.send("delivered", status=200)) == 1
    assert len(sender.send("delivered", status=200)) == 2
    assert len(sender.send("delivered", status=200)) == 4


def test_gone_disables_and_says_so(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    Sender(conn, workspace, made).send("refused", status=410)
    now = plans.get(conn, workspace, made.id).endpoint
    assert (now.enabled, now.why) == (False, "gone")
    last = events.history(conn, workspace, made.subject, 0, 10).events[-1]
    assert (last.type, json.loads(last.data)["why"], last.aggregate_revision) == (
        "webhook.disabled",
        "gone",
        now.revision,
    )


def test_days_without_a_success_and_a_count_disable(conn, workspace, clock):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 30)])
    for _ in range(30):
        Sender(conn, workspace, made).send("refused", status=500)
        clock.move(86_400 / 5)
        if not plans.get(conn, workspace, made.id).endpoint.enabled:
            break
    now = plans.get(conn, workspace, made.id).endpoint
    assert now.why == "failing"
    assert now.health.failures >= 20


def test_a_lane_goes_one_by_one_in_order(conn, workspace):
    made = create(conn, workspace, ordered=True, concurrency=8)
    fan_out(conn, workspace, [event(revision=2), event(revision=1), event("order:2", 1)])
    fan_out(conn, workspace, [event(revision=3)])
    sender = Sender(conn, workspace, made)
    seen = []
    while sent := sender.send():
        seen.append(sorted(s.event_id for s in sent))
    assert seen == [["order:1@1", "order:2@1"], ["order:1@2"], ["order:1@3"]]


def test_what_is_given_up_is_told_to_the_next_of_the_lane(conn, workspace):
    made = create(conn, workspace, ordered=True, retry_seconds=(0.0,))
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    sender = Sender(conn, workspace, made)
    told = [sender.send(state)[0].skipped for state in ("refused", "refused", "delivered")]
    assert told == [0, 1, 2]
    assert states(conn, workspace, made) == ["exhausted", "exhausted", "delivered"]


def test_a_lane_that_blocks_waits_for_an_operator_and_is_announced(conn, workspace, clock):
    made = create(conn, workspace, ordered=True, blocks=True, retry_seconds=(0.0,))
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    sender = Sender(conn, workspace, made)
    sender.send("refused")
    assert states(conn, workspace, made) == ["blocked", "pending", "pending"]
    assert sender.send() == ()
    for _ in range(3):
        clock.move(86_401)
        assert [replaying.announce(conn, workspace, 10) for _ in range(2)] == [1, 0]
    told = [e.type for e in events.history(conn, workspace, made.subject, 0, 10).events]
    assert told == ["webhook.created", "webhook.enabled", *["webhook.blocked"] * 4]
    sender = Sender(conn, workspace, made)
    blocked = listed(conn, workspace, made)[0].id
    assert isinstance(replaying.replay(conn, workspace, blocked, str(uuid.uuid4())), Placed)
    assert [s.event_id for s in sender.send()] == ["order:1@1"]
    assert [s.event_id for s in sender.send()] == ["order:1@2"]


def test_a_blocked_one_that_is_cancelled_lets_the_next_go(conn, workspace):
    made = create(conn, workspace, ordered=True, blocks=True, retry_seconds=(0.0,))
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 3)])
    sender = Sender(conn, workspace, made)
    sender.send("refused")
    assert replaying.cancel(conn, workspace, listed(conn, workspace, made)[0].id).unknown is False
    assert [(s.event_id, s.skipped) for s in sender.send()] == [("order:1@2", 1)]
