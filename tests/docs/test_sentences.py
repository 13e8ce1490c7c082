"""Sentences of docs/concepts.md that no room's own test says in these words."""

from __future__ import annotations

import itertools
from datetime import timedelta

import httpx2
import pytest

from steadhold import events, inboxes, jobs, locks, state
from steadhold.events import Happened
from steadhold.inboxes.model import Retention
from steadhold.jobs import Submission
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing
from tests.inboxes.conftest import event

EVENT = {
    "event_id": str, "schema_version": str, "aggregate_id": str, "aggregate_revision": int, "occurred_at": str,
    "type": str, "data_ref": str,
}  # fmt: skip


@pytest.mark.parametrize("committed_it", [False, True])
def test_a_change_and_its_event_are_there_together_or_not_at_all(committed, workspace, committed_it):
    with committed.transaction(force_rollback=not committed_it):
        events.append(committed, workspace, "order-7", None, [Happened("order.placed")], state="placed")
        jobs.submit(committed, workspace, Submission("invoice"))
    with committed.transaction():
        found = events.aggregate(committed, workspace, "order-7")
        told = events.history(committed, workspace, "order-7", 0, 9)
        queued = committed.execute("select count(*) from steadhold.jobs where type = 'invoice'").fetchone()
    assert queued == (int(committed_it),)
    if committed_it:
        assert (found.revision, [event.type for event in told.events]) == (1, ["order.placed"])
    else:
        assert (found, told) == (Missing(), Missing())


def test_revisions_order_events_and_the_clock_does_not(conn, workspace, clock):
    events.append(conn, workspace, "order-7", None, [Happened("order.placed")])
    clock.move(-3600)
    events.append(conn, workspace, "order-7", 1, [Happened("order.paid")])
    placed, paid = events.history(conn, workspace, "order-7", 0, 9).events
    assert [placed.type, paid.type] == ["order.placed", "order.paid"]
    assert [placed.aggregate_revision, paid.aggregate_revision] == [1, 2]
    assert paid.occurred_at < placed.occurred_at - timedelta(minutes=59)


def test_revisions_of_two_aggregates_say_nothing_of_each_other(conn, workspace):
    for order in ("order-7", "order-8", "order-7"):
        found = events.aggregate(conn, workspace, order)
        revision = None if isinstance(found, Missing) else found.revision
        events.append(conn, workspace, order, revision, [Happened("order.moved")])
    assert [events.aggregate(conn, workspace, order).revision for order in ("order-7", "order-8")] == [2, 1]


@pytest.mark.parametrize(("fence", "revision", "valid"), [*itertools.product([True, False], repeat=3)])
def test_a_write_is_eligible_if_fence_and_revision_and_itself_are_right(conn, workspace, fence, revision, valid):
    state.put(conn, workspace, "release", b"1", None)
    held = locks.acquire(conn, workspace, "deploy", "ci-7", 30)
    grant = FenceRef("lock:deploy", held.fence if fence else held.fence + 1)
    body = b'{"version": 2}' if valid else b'{"version": }'
    try:
        state.put(conn, workspace, "release", body, 1 if revision else 2, [grant])
    except ValueError:
        assert not valid
    written = state.get(conn, workspace, "release").body != b"1"
    assert written == (fence and revision and valid)


def test_a_key_means_an_event_of_its_inbox_and_of_no_other(conn, workspace):
    for inbox in ("orders", "invoices"):
        inboxes.put(conn, workspace, inbox, Retention(None, None, None), None)
    told = [inboxes.append_one(conn, workspace, inbox, event("order-7-paid")) for inbox in ("orders", "invoices")]
    assert [(one.sequence, one.duplicate) for one in told] == [(1, False), (1, False)]
    assert told[0].event_id != told[1].event_id


def test_an_event_says_what_it_is(site, key):
    headers = {"Authorization": f"Bearer {key.key}"}
    with httpx2.Client(base_url=site.url, headers=headers) as http:
        made = {"events": [{"type": "order.placed", "data": {"total": "9.50"}}]}
        http.post("/v1/aggregates/order-7/events", json=made, headers={"If-None-Match": "*"}).raise_for_status()
        (told,) = http.get("/v1/aggregates/order-7/events").json()["items"]
    assert {name: type(told.get(name)) for name in EVENT} == EVENT
    assert [told[name] for name in ("event_id", "aggregate_id", "aggregate_revision")] == ["order-7@1", "order-7", 1]
    assert told["data_ref"].startswith("event:order-7@1#sha256:")


def test_a_jobs_events_tell_how_long_it_was_in_each_state(conn, workspace, clock):
    submitted = jobs.submit(conn, workspace, Submission("report"))
    clock.move(100)
    (job,) = jobs.claim(conn, workspace, "w", ["report"], 1)
    clock.move(20)
    jobs.settle(conn, workspace, jobs.Settlement(job.id, job.fence, jobs.Complete()))
    told = events.history(conn, workspace, f"job:{submitted.id}", 0, 9).events
    assert [event.type for event in told] == ["job.accepted", "job.running", "job.completed"]
    accepted, running, completed = (event.occurred_at for event in told)
    assert timedelta(seconds=100) <= running - accepted < timedelta(seconds=110)
    assert timedelta(seconds=20) <= completed - running < timedelta(seconds=30)
