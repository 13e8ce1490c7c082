"""Events, heads and waits on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

import uuid
from datetime import timedelta

import psycopg
import pytest

from steadhold import events
from steadhold.events import (
    Appended,
    EventsPruned,
    EventTaken,
    Happened,
    Head,
    ReservedId,
    TransitionConflict,
    Waiting,
    event_id,
)
from steadhold.fences import Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import EVENT_DATA_BYTES_MAX, EVENTS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.events.verbs import drop_heads, due, forget, grant, heads_of, hold, move, record, settled, take, unwait, wait

DAY = 86_400
JOB, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


def revisions(conn, workspace, aggregate_id, after=0, limit=100):
    found = events.history(conn, workspace, aggregate_id, after, limit)
    return "missing" if found == Missing() else [e.aggregate_revision for e in found.events]


def now(conn):
    return conn.execute("select steadhold.clock()").fetchone()[0]


def unmatched(conn):
    conn.execute("update steadhold.events set matched_at = null")


# --- history ----------------------------------------------------------------------------------


def test_a_room_writes_down_what_happened_to_its_own(conn, workspace):
    first, second = record(
        conn,
        workspace,
        [
            ("job:1", 1, Happened("job.accepted", b'{"a":1}', correlation_id="c", causation_id="because")),
            ("job:1", 2, Happened("job.running", data_ref="blob:x", schema_version=3, event_id="mine")),
        ],
    )
    one, two = events.history(conn, workspace, "job:1", 0, 10).events
    assert (one.event_id, two.event_id) == (first, second) == (event_id("job:1", 1), "mine")
    assert (one.data, one.correlation_id, one.causation_id) == (b'{"a":1}', "c", "because")
    assert one.data_ref.startswith(f"event:{first}#sha256:")
    assert (two.data, two.data_ref, two.schema_version) == (None, "blob:x", 3)
    assert abs(now(conn) - one.occurred_at) < timedelta(seconds=30)
    assert events.get(conn, workspace, "mine") == two
    assert events.get(conn, workspace, first) == one
    assert events.get(conn, workspace, "job:1@2") == Missing()
    assert events.get(conn, workspace, "none") == Missing()


def test_one_revision_has_one_event(conn, workspace):
    record(conn, workspace, [("job:1", 1, Happened("job.accepted"))])
    with pytest.raises(psycopg.errors.UniqueViolation):
        record(conn, workspace, [("job:1", 1, Happened("job.accepted"))])


def test_an_event_is_not_named_like_another_one(conn, workspace):
    with pytest.raises(ValueError, match="choose an id"):
        record(conn, workspace, [("job:1", 1, Happened("job.accepted", event_id="job:2@1"))])
    with pytest.raises(psycopg.errors.UniqueViolation):
        record(conn, workspace, [("job:1", n, Happened("job.accepted", event_id="x")) for n in (1, 2)])


def test_an_event_of_a_long_name_is_found_too(conn, workspace):
    (name,) = record(conn, workspace, [("a" * 200, 1, Happened("made"))])
    assert len(name) == 36
    assert events.get(conn, workspace, name).aggregate_id == "a" * 200


def test_data_beyond_the_limit_is_misuse(conn, workspace):
    record(conn, workspace, [("job:1", 1, Happened("job.accepted", b"x" * EVENT_DATA_BYTES_MAX))])
    with pytest.raises(ValueError, match="refer to larger data"):
        record(conn, workspace, [("job:1", 2, Happened("job.accepted", b"x" * (EVENT_DATA_BYTES_MAX + 1)))])


def test_history_is_read_in_pages(conn, workspace):
    record(conn, workspace, [("job:1", n, Happened("job.moved")) for n in range(1, 6)])
    assert revisions(conn, workspace, "job:1", 0, 2) == [1, 2]
    assert revisions(conn, workspace, "job:1", 2, 2) == [3, 4]
    assert (revisions(conn, workspace, "job:1", 5), revisions(conn, workspace, "job:none")) == ([], "missing")


def test_the_application_may_not_rewrite_history(conn, workspace):
    record(conn, workspace, [("job:1", 1, Happened("job.accepted"))])
    for statement in ("update steadhold.events set type = ''", "delete from steadhold.events"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), conn.transaction():
            conn.execute(statement)


def test_events_leave_after_their_window_and_a_reader_is_told(conn, workspace, clock):
    events.append(conn, workspace, "order", None, [Happened("a"), Happened("b")])
    clock.move(2 * DAY)
    events.append(conn, workspace, "order", 2, [Happened("c"), Happened("d")])
    record(conn, workspace, [("job:1", 1, Happened("job.accepted"))])
    clock.move(1.5 * DAY)
    assert events.purge(conn, workspace, 1) == 1
    assert events.purge(conn, workspace, 10) == 1
    assert events.purge(conn, workspace, 10) == 0
    assert events.history(conn, workspace, "order", 0, 10) == EventsPruned(3)
    assert revisions(conn, workspace, "order", 2) == [3, 4]
    clock.move(2 * DAY)
    assert events.purge(conn, workspace, 10) == 2
    assert events.history(conn, workspace, "order", 0, 10) == EventsPruned(5)
    assert revisions(conn, workspace, "order", 4) == []
    assert revisions(conn, workspace, "job:1") == [1]


def test_what_a_relay_has_yet_to_match_is_never_removed(conn, workspace, clock):
    events.append(conn, workspace, "order", None, [Happened("a")])
    record(conn, workspace, [("job:1", 1, Happened("job.accepted"))])
    unmatched(conn)
    clock.move(30 * DAY)
    assert events.purge(conn, workspace, 10) == forget(conn, workspace, ["job:1", "order"]) == 0
    assert (revisions(conn, workspace, "job:1"), revisions(conn, workspace, "order")) == ([1], [1])


def test_a_jobs_own_leave_with_it_and_nobody_elses_do(conn, workspace):
    events.append(conn, workspace, "order", None, [Happened("a")])
    record(conn, workspace, [("job:1", 1, Happened("job.accepted")), ("job:2", 1, Happened("job.accepted"))])
    assert forget(conn, workspace, ["job:1", "order"]) == 1
    assert [revisions(conn, workspace, id) for id in ("job:1", "job:2", "order")] == ["missing", [1], [1]]


# --- aggregates of library users --------------------------------------------------------------


def test_an_append_moves_an_aggregate_by_one_for_each_event(conn, workspace):
    made = events.append(
        conn, workspace, "order", None, [Happened("a"), Happened("b")], state="new", aggregate_type="o"
    )
    assert made == Appended(2, (event_id("order", 1), event_id("order", 2)))
    moved = events.append(conn, workspace, "order", 2, [Happened("c")], from_state="new", state="paid")
    assert moved.revision == 3
    assert revisions(conn, workspace, "order") == [1, 2, 3]
    found = events.aggregate(conn, workspace, "order")
    assert (found.revision, found.state, found.aggregate_type, found.owner) == (3, "paid", "o", None)


def test_an_append_that_is_refused_leaves_nothing(conn, workspace):
    events.append(conn, workspace, "order", None, [Happened("a", event_id="x")], state="new")
    again = [Happened("b")]
    assert events.append(conn, workspace, "order", None, again) == RevisionConflict(1)
    assert events.append(conn, workspace, "order", 2, again) == RevisionConflict(1)
    assert events.append(conn, workspace, "none", 1, again) == RevisionConflict(None)
    assert events.append(conn, workspace, "order", 1, again, from_state="paid") == TransitionConflict("new")
    assert events.append(conn, workspace, "order", 1, [Happened("b", event_id="x")]) == EventTaken("x")
    assert events.append(conn, workspace, "order", 1, [Happened("b", event_id="y")] * 2) == EventTaken("y")
    assert events.append(conn, workspace, "job:1", None, again) == ReservedId("job:1")
    assert events.aggregate(conn, workspace, "order").revision == 1
    assert revisions(conn, workspace, "order") == [1]


def test_an_owned_aggregate_takes_events_from_its_holder_only(conn, workspace, clock):
    grant(conn, workspace, [Wanted("lock:order", "me", 60)])
    owner, ref, event = "lock:order", FenceRef("lock:order", 1), [Happened("a")]
    assert events.append(conn, workspace, "order", None, event, owner=owner) == StaleFence(owner)
    assert events.append(conn, workspace, "order", None, event, owner=owner, fence=ref).revision == 1
    assert events.append(conn, workspace, "order", 1, event) == StaleFence(owner)
    assert events.append(conn, workspace, "order", 1, event, fence=FenceRef(owner, 2)) == StaleFence(owner)
    assert events.append(conn, workspace, "order", 1, event, fence=ref).revision == 2
    clock.move(61)
    assert events.append(conn, workspace, "order", 2, event, fence=ref) == StaleFence(owner)


def test_a_transition_is_an_append_from_one_state_to_another(conn, workspace):
    events.append(conn, workspace, "order", None, [Happened("a")], state="new")
    moved = events.transition(conn, workspace, "order", "new", "paid", 1, [Happened("b")])
    assert (moved.revision, events.aggregate(conn, workspace, "order").state) == (2, "paid")
    assert events.transition(conn, workspace, "order", "new", "sent", 2, [Happened("c")]) == TransitionConflict("paid")
    assert events.transition(conn, workspace, "order", "paid", "sent", 1, [Happened("c")]) == RevisionConflict(2)


def test_an_append_has_some_events_and_not_too_many(conn, workspace):
    for count in (0, EVENTS_MAX + 1):
        with pytest.raises(ValueError, match="1 to"):
            events.append(conn, workspace, "order", None, [Happened("a")] * count)


def test_a_new_incarnation_begins_above_every_lost_revision(database, workspace):
    with database.connect() as reborn, reborn.transaction(force_rollback=True):
        events.append(reborn, workspace, "order", None, [Happened("a")])
        reborn.execute("select steadhold.restored()")
        first = (reborn.execute("select incarnation from steadhold.house").fetchone()[0] << 32) + 1
        assert events.append(reborn, workspace, "order", 1, [Happened("b"), Happened("c")]).revision == first + 1
        assert events.append(reborn, workspace, "new", None, [Happened("a")]).revision == first
        assert revisions(reborn, workspace, "order") == [1, first, first + 1]
        assert revisions(reborn, workspace, "order", 1) == [first, first + 1]


# --- heads and waits --------------------------------------------------------------------------


def test_a_head_says_where_its_subject_stands_and_never_goes_back(conn, workspace):
    assert hold(conn, workspace, "effect:e") is None
    move(conn, workspace, [Head("effect:e", 2, "open", True, "job:1"), Head("effect:f", 1, "open", True, "job:1")])
    move(conn, workspace, [Head("effect:e", 1, "earlier", False), Head("effect:e", 3, "done", False, "job:1")])
    move(conn, workspace, [Head("effect:e", 3, "late", True)])
    assert hold(conn, workspace, "effect:e") == Head("effect:e", 3, "done", False, "job:1")
    assert [head.open for head in heads_of(conn, workspace, "job:1")] == [False, True]
    drop_heads(conn, workspace, ["effect:e"])
    assert hold(conn, workspace, "effect:e") is None


def test_a_change_ends_the_waits_for_it_and_no_others(conn, workspace):
    wait(conn, workspace, [Waiting(JOB, "paid", "effect:e", None, b"what"), Waiting(OTHER, "x", "effect:f", None)])
    assert due(conn, workspace, 10) == []
    settled(conn, workspace, ["effect:e", "effect:none"])
    assert due(conn, workspace, 10) == [JOB]
    first, second = take(conn, workspace, [JOB, OTHER])
    assert (first.stage, first.happened, first.what) == ("paid", True, b"what")
    assert second is None
    assert take(conn, workspace, [JOB]) == [None]


def test_time_ends_a_wait_too(conn, workspace, clock):
    until = now(conn) + timedelta(seconds=60)
    wait(conn, workspace, [Waiting(JOB, "nap", None, until), Waiting(OTHER, "x", "effect:f", until)])
    clock.move(61)
    settled(conn, workspace, ["effect:f"])
    assert due(conn, workspace, 10) == [JOB, OTHER]
    assert due(conn, workspace, 1) == [JOB]
    nap, change = take(conn, workspace, [JOB, OTHER])
    assert (nap.happened, change.happened) == (False, True)


def test_the_newest_wait_of_a_job_is_its_wait(conn, workspace):
    wait(conn, workspace, [Waiting(JOB, "first", "effect:e", None)])
    settled(conn, workspace, ["effect:e"])
    wait(conn, workspace, [Waiting(JOB, "second", "effect:f", None)])
    assert take(conn, workspace, [JOB]) == [None]
    settled(conn, workspace, ["effect:f"])
    unwait(conn, workspace, [JOB])
    assert due(conn, workspace, 10) == []


def test_a_workspace_is_due_when_a_wait_is_over_or_events_are_past(committed, workspace, clock):
    asked = "select duty from steadhold.due_events() where workspace = %s order by 1"
    with committed.transaction():
        wait(committed, workspace, [Waiting(JOB, "s", None, now(committed) + timedelta(seconds=60))])
        events.append(committed, workspace, "order", None, [Happened("a")])
    assert committed.execute(asked, [workspace]).fetchall() == []
    clock.move(61)
    assert committed.execute(asked, [workspace]).fetchall() == [("events.waits",)]
    clock.move(4 * DAY)
    assert committed.execute(asked, [workspace]).fetchall() == [("events.purge",), ("events.waits",)]
