"""Webhooks in the database: lanes after a disable, rates that outlive a lease, answers of other addresses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steadhold.webhooks import delivering, plans, replaying
from tests.webhooks.house import BY, Sender, create, event, fan_out, states

pytestmark = pytest.mark.database


def test_a_lane_of_which_the_first_was_skipped_goes_on_once_it_is_enabled(conn, workspace):
    made = create(conn, workspace, ordered=True)
    fan_out(conn, workspace, [event(f"order:{a}", n) for a in range(8) for n in range(1, 4)])
    plans.disable(conn, workspace, made.id, by=BY)
    assert replaying.skip(conn, workspace, 12) == 12
    plans.enable(conn, workspace, made.id, by=BY)
    sender = Sender(conn, workspace, made)
    while sender.send():
        pass
    assert sorted(states(conn, workspace, made)) == ["delivered"] * 12 + ["skipped"] * 12


def test_enabling_again_sends_nothing_of_a_lane_early(conn, workspace):
    made = create(conn, workspace, ordered=True)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    sender = Sender(conn, workspace, made)
    begun = sender.begin().sendings
    plans.enable(conn, workspace, made.id, by=BY)
    assert sender.begin().sendings == ()
    sender.settle(begun)
    assert [s.event_id for s in sender.send()] == ["order:1@2"]


def test_a_rate_is_kept_by_whoever_sends(conn, workspace, clock):
    made = create(conn, workspace, rate=0.1)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    first = Sender(conn, workspace, made, "first")
    assert len(first.send()) == 1
    delivering.release(conn, workspace, made.id, first.fence)
    second = Sender(conn, workspace, made, "second")
    assert (second.send(), due(conn, workspace)) == ((), [])
    clock.move(9)
    assert second.send() == ()
    clock.move(2)
    assert due(conn, workspace) == [made.id]
    assert (len(second.send()), second.send()) == (1, ())


def due(conn, workspace):
    found = conn.execute("select webhook::text from steadhold.due_deliveries() where workspace = %s", (workspace,))
    return [webhook for (webhook,) in found]


def test_a_rate_that_is_raised_is_not_held_back_by_the_one_before(conn, workspace):
    made = create(conn, workspace, rate=1e-12)
    fan_out(conn, workspace, [event(revision=n) for n in range(1, 4)])
    sender = Sender(conn, workspace, made)
    assert (len(sender.send()), sender.send()) == (1, ())
    plans.change(conn, workspace, made.id, made.revision, lambda spec: replace(spec, rate=100.0), by=BY)
    assert len(sender.send()) == 2


@pytest.mark.parametrize("status", [410, 500])
def test_what_the_address_before_answers_tells_nothing_of_the_one_now(conn, workspace, clock, status):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event()])
    sender = Sender(conn, workspace, made)
    begun = sender.begin().sendings
    clock.move(1)
    plans.change(conn, workspace, made.id, made.revision, lambda spec: replace(spec, url="https://example.org/"), by=BY)
    assert sender.settle(begun, "refused", status=status) == 1
    now = plans.get(conn, workspace, made.id).endpoint
    assert (now.enabled, now.health.failures) == (True, 0)


def test_what_is_under_way_when_it_is_disabled_is_told_as_it_ends(conn, workspace):
    made = create(conn, workspace)
    fan_out(conn, workspace, [event(revision=1), event(revision=2), event(revision=3)])
    sender = Sender(conn, workspace, made)
    arrives, fails = sender.begin(2).sendings
    plans.disable(conn, workspace, made.id, by=BY)
    assert (replaying.skip(conn, workspace, 10), replaying.skip(conn, workspace, 10)) == (1, 0)
    sender.settle([arrives])
    sender.settle([fails], "unknown", why="timeout")
    assert replaying.skip(conn, workspace, 10) == 1
    assert replaying.delivery(conn, workspace, arrives.delivery).delivery.state == "delivered"
    assert replaying.delivery(conn, workspace, fails.delivery).delivery.state == "skipped"
