"""What happens when nobody does anything."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Configuration, Fail, Retry
from steadhold.kit.ids import new_id
from steadhold.kit.limits import CLAIM_KEY_SECONDS_MAX, LAPSES_MAX
from steadhold.kit.outcome import Missing, StaleFence


def test_a_lapsed_lease_is_due_again(desk, clock):
    job = desk.running()
    assert desk.lapse(10) == 0
    clock.move(31)
    assert desk.said(job, Complete()) == StaleFence(f"job:{job.id}")
    assert desk.lapse(10) == 1
    assert desk.said(job, Complete()) == StaleFence(f"job:{job.id}")
    (next_,) = desk.claim("w", ["t"], 1)
    assert (next_.fence > job.fence, next_.attempt) == (True, 2)
    assert desk.lapse(10) == 0


def test_nothing_is_written_once_the_lease_has_ended(desk, clock):
    """Swept or not: the clock alone ends it."""
    job = desk.running()
    stale = StaleFence(f"job:{job.id}")
    clock.move(31)
    assert desk.checkpoint(job.id, job.fence, "s") == stale
    assert desk.heartbeat(job.id, job.fence, b"1") == stale
    assert desk.said(job, Complete()) == stale
    left = desk.get(job.id)
    assert (left.state, left.revision, left.progress, left.stages) == ("running", job.revision, None, 0)


def test_a_renewed_lease_is_left_alone(desk, clock):
    job = desk.running()
    clock.move(20)
    desk.heartbeat(job.id, job.fence)
    clock.move(20)
    desk.lapse(10)
    assert desk.said(job, Complete()).state == "completed"


def test_three_lapses_without_a_stage_are_poison(desk, clock):
    id = desk.accepted()
    for _ in range(LAPSES_MAX):
        assert desk.state(id) == "accepted"
        desk.claim("w", ["t"], 1)
        clock.move(31)
        desk.lapse(10)
    assert desk.get(id).job() == jobs.Failed(id, "poison")
    assert desk.history(id)[-1][2] == "poison"


def test_a_stage_forgives_lapses(desk, clock):
    id = desk.accepted()
    for n in range(LAPSES_MAX + 2):
        (job,) = desk.claim("w", ["t"], 1)
        if n == LAPSES_MAX - 1:
            desk.checkpoint(id, job.fence, "one")
        clock.move(31)
        desk.lapse(10)
    assert desk.state(id) == "accepted"


def test_the_last_attempt_may_not_lapse(desk, clock):
    desk.configure("t", Configuration(attempts_max=1), None)
    job = desk.running()
    clock.move(31)
    desk.lapse(10)
    assert desk.get(job.id).job() == jobs.Failed(job.id, "lapsed")


def test_a_lapse_after_a_request_cancels(desk, clock):
    job = desk.running()
    desk.cancel(job.id, "me")
    clock.move(31)
    desk.lapse(10)
    assert desk.state(job.id) == "cancelled"


def test_a_timeout_charges_an_attempt_and_spaces_the_next(desk, clock):
    desk.configure("t", Configuration(timeout_seconds=20, attempts_max=2, retry=Retry(10, 10, 0)), None)
    job = desk.running()
    assert job.lease_seconds == 20
    clock.move(21)
    desk.lapse(10)
    assert (desk.state(job.id), desk.claim("w", ["t"], 1)) == ("accepted", [])
    clock.move(11)
    (job,) = desk.claim("w", ["t"], 1)
    clock.move(21)
    desk.lapse(10)
    assert desk.get(job.id).job() == jobs.Failed(job.id, "timeout")


@pytest.mark.parametrize("claimed", [False, True])
def test_a_deadline(desk, clock, claimed):
    id = desk.running(deadline_seconds=20).id if claimed else desk.accepted(deadline_seconds=20)
    clock.move(21)
    assert desk.claim("w", ["t"], 1) == []
    assert (desk.lapse(10), desk.overdue(10)) == ((1, 0) if claimed else (0, 1))
    assert desk.get(id).job() == jobs.Failed(id, "deadline")


def test_finished_jobs_leave_after_their_window(desk, clock):
    desk.configure("t", Configuration(retention_seconds=60), None)
    job = desk.running(tags=("x",))
    desk.checkpoint(job.id, job.fence, "one")
    desk.signal(job.id, "s")
    desk.said(job, Complete())
    live = desk.running("u")
    assert desk.forget(10) == 0
    clock.move(61)
    assert desk.forget(10) == 1
    assert desk.get(job.id) == Missing()
    assert desk.get(live.id).id == live.id
    left = desk.conn.execute(
        "select (select count(*) from steadhold.checkpoints), (select count(*) from steadhold.job_signals),"
        " (select count(*) from steadhold.job_tags)"
    ).fetchone()
    assert left == (0, 0, 0)
    assert (desk.history(job.id), len(desk.history(live.id))) == ([], 2)


def test_jobs_of_no_type_leave_after_the_window_of_the_house(desk, clock):
    job = desk.running()
    desk.said(job, Complete())
    clock.move(3_601)
    assert desk.forget(10) == 0
    assert desk.forget(10, kept_seconds=3_600) == 1
    assert desk.get(job.id) == Missing()


def configurations(desk):
    found = desk.conn.execute("select revision from steadhold.job_configurations order by 1")
    return [revision for (revision,) in found]


def test_configurations_leave_when_no_job_is_held_to_them(desk, clock):
    desk.configure("t", Configuration(retention_seconds=60), None)
    job = desk.running()
    for revision in (1, 2, 3):
        desk.configure("t", Configuration(), revision)
    other = desk.configure("u", Configuration(), None)
    assert desk.forget(10) == 0
    clock.move(86_401)
    assert desk.forget(10) == 3
    assert configurations(desk) == [1, other.revision, 4]
    assert desk.forget(10) == 0
    desk.lapse(10)
    again = [claimed for claimed in desk.claim("w", ["t"], 1) if claimed.configuration_revision == 1]
    desk.said(again[0], Complete())
    clock.move(61)
    assert desk.forget(10) == 1
    assert configurations(desk) == [1, other.revision, 4]
    clock.move(86_401)
    assert desk.forget(10) == 1
    assert configurations(desk) == [other.revision, 4]
    assert desk.get(job.id) == Missing()


def test_stages_stay_for_a_retry(desk, clock):
    desk.configure("t", Configuration(retention_seconds=60), None)
    job = desk.running()
    desk.checkpoint(job.id, job.fence, "one")
    desk.said(job, Fail("x", klass="bug"))
    again = desk.retry(job.id, new_id())
    clock.move(61)
    assert desk.forget(10) == 1
    (claimed,) = desk.claim("w", ["t"], 1)
    assert (claimed.id, [stage for stage, _ in claimed.stages]) == (again.id, ["one"])


def test_a_grant_leaves_with_its_job(desk):
    job = desk.running()
    desk.said(job, Complete())
    assert desk.conn.execute("select count(*) from steadhold.grants").fetchone() == (0,)


def test_what_is_due_is_announced(fresh_database):
    workspace = fresh_database.new_workspace()
    with fresh_database.enter(workspace) as conn:
        with conn.transaction():
            jobs.submit(conn, workspace, jobs.Submission("t", deadline_seconds=10))
            done = jobs.submit(conn, workspace, jobs.Submission("u"))
            (claimed,) = jobs.claim(conn, workspace, "w", ["u"], 1)
            jobs.settle(conn, workspace, jobs.Settlement(done.id, claimed.fence, Complete()))
        due = "select duty from steadhold.due_jobs() where workspace = %s order by duty"
        assert conn.execute(due, [workspace]).fetchall() == []
        fresh_database.clock.move(11)
        assert conn.execute(due, [workspace]).fetchall() == [("jobs.deadlines",)]
        fresh_database.clock.move(31 * 86_400)
        assert conn.execute(due, [workspace]).fetchall() == [("jobs.deadlines",), ("jobs.retention",)]


@pytest.mark.parametrize("late", [False, True])
def test_a_claims_key_is_known_as_long_as_it_says_and_then_announced(fresh_database, late):
    workspace = fresh_database.new_workspace()
    with fresh_database.enter(workspace) as conn:
        with conn.transaction():
            jobs.submit(conn, workspace, jobs.Submission("t"))
            assert len(jobs.claim(conn, workspace, "w", ["t"], 1, key="c")) == 1
        fresh_database.clock.move(CLAIM_KEY_SECONDS_MAX + (1 if late else -3_600))
        announced = conn.execute("select duty from steadhold.due_jobs() where workspace = %s", [workspace]).fetchall()
        assert announced == ([("jobs.retention",)] if late else [])
        with conn.transaction():
            assert jobs.forget(conn, workspace, 10) == late


def test_numbers_that_may_have_been_lost_are_not_issued_again(fresh_database):
    """After a failover that lost commits, revisions and fences go on above all that may have been seen."""
    workspace = fresh_database.new_workspace()
    with fresh_database.enter(workspace) as conn:
        with conn.transaction():
            old = jobs.submit(conn, workspace, jobs.Submission("t"))
        with fresh_database.connect() as owner:
            owner.execute("update steadhold.house set incarnation = 1")
        with conn.transaction():
            (claimed,) = jobs.claim(conn, workspace, "w", ["t"], 1)
            new = jobs.submit(conn, workspace, jobs.Submission("t"))
            done = jobs.settle(conn, workspace, jobs.Settlement(claimed.id, claimed.fence, Complete()))
    base = 1 << 32
    assert (old.revision, claimed.revision, done.revision) == (1, base + 1, base + 2)
    assert (claimed.fence, new.revision) == (base + 1, base + 1)
