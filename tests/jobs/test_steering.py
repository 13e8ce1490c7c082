"""What anybody may do to a job, and the lists."""

from __future__ import annotations

import pytest

from steadhold import access, jobs
from steadhold.jobs import Complete, Configuration, Fail, Release
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing

NOBODY = "0198f000-0000-7000-8000-000000000000"


def test_a_retry_keeps_what_the_job_was_given(desk):
    desk.configure("t", Configuration(), None)
    job = desk.running(input=b"[7]", tags=("x", "y"), unique_key="k")
    desk.checkpoint(job.id, job.fence, "one", b"1")
    assert desk.retry(job.id, new_id()) == jobs.JobNotEnded(job.id, "running")
    desk.said(job, Fail("x", klass="permanent"))
    desk.configure("t", Configuration(lease_seconds=5), job.configuration_revision)
    again = desk.retry(job.id, new_id())
    assert (again.retry_of, again.root_job_id, again.configuration_revision) == (
        job.id,
        job.id,
        job.configuration_revision,
    )
    assert desk.retry(job.id, new_id()) == jobs.KeyConflict(again.id)
    (claimed,) = desk.claim("w", ["t"], 1)
    assert (claimed.input, [stage for stage, _ in claimed.stages]) == (b"[7]", ["one"])
    assert claimed.root_job_id == job.id
    assert desk.checkpoint(claimed.id, claimed.fence, "one", b"1").again
    assert isinstance(desk.checkpoint(claimed.id, claimed.fence, "one", b"2"), jobs.CheckpointConflict)
    assert desk.retry(NOBODY, new_id()) == Missing()


def test_a_retry_needs_what_any_job_needs(desk, database, workspace):
    ended = []
    for type in ("t", "u", "u"):
        job = desk.running(type)
        desk.said(job, Fail("x", klass="permanent"))
        ended.append(job.id)
    with database.connect() as owner:
        owner.execute(
            "insert into steadhold.entitlements (workspace, revision, job_types, jobs_queued_max, changed_at)"
            " values (%s, 1, '{u}', 1, steadhold.clock())",
            [workspace],
        )
    assert desk.retry(ended[0], new_id()) == access.NotEntitled("jobs of type t")
    first, second = desk.retry_all(jobs.Filter(type="u"), 2, [new_id(), new_id()]).outcomes
    assert (first.retry_of, second) == (ended[1], access.QueueFull(1, 1))
    assert desk.retry(ended[2], new_id()) == access.QueueFull(1, 1)


def test_cancelling_what_nobody_runs(desk):
    id = desk.accepted()
    assert (desk.cancel(id, "me", "enough").outcome, desk.state(id)) == ("cancelled", "cancelled")
    assert desk.cancel(id, "me").outcome == "cancelled"
    assert (desk.get(id).cancel_by, desk.get(id).cancel_reason) == ("me", "enough")
    assert desk.claim("w", ["t"], 1) == []


def test_cancelling_what_runs_is_a_request(desk):
    job = desk.running()
    asked = desk.cancel(job.id, "me")
    assert (asked.outcome, asked.state, asked.revision) == ("requested", "running", job.revision + 1)
    assert desk.cancel(job.id, "you") == asked
    assert desk.said(job, jobs.ConfirmCancel()).state == "cancelled"
    assert desk.get(job.id).job() == jobs.Cancelled(job.id)


def test_completion_may_win_over_a_request(desk):
    job = desk.running()
    desk.cancel(job.id, "me")
    assert desk.said(job, Complete()).state == "completed"
    assert desk.cancel(job.id, "me").outcome == "too_late"


@pytest.mark.parametrize("said", [Release(), Release(5), Fail("x"), Fail("x", klass="interrupted")])
def test_a_job_asked_to_cancel_is_not_run_again(desk, said):
    job = desk.running()
    desk.cancel(job.id, "me")
    assert desk.said(job, said).state == "cancelled"


def test_nothing_to_confirm(desk):
    job = desk.running()
    assert desk.said(job, jobs.ConfirmCancel()) == jobs.CancelNotRequested(job.id)
    assert desk.state(job.id) == "running"


def test_many_at_once_need_their_count(desk):
    ids = [desk.accepted(tags=("old",)) for _ in range(3)]
    other = desk.accepted()
    old = jobs.Filter(tag="old")
    assert desk.cancel_all(old, None, "me") == jobs.Counted(3)
    assert desk.cancel_all(old, 2, "me") == jobs.CountChanged(3)
    assert [outcome.outcome for outcome in desk.cancel_all(old, 3, "me").outcomes] == ["cancelled"] * 3
    assert desk.state(other) == "accepted"
    assert desk.retry_all(old, None, []) == jobs.Counted(3)
    assert {outcome.retry_of for outcome in desk.retry_all(old, 3, [new_id() for _ in range(3)]).outcomes} == set(ids)


def test_lists_are_filtered_and_paged(desk):
    ids = [desk.accepted(tags=("x",) if n % 2 else ()) for n in range(4)]
    running = desk.claim("w", ["t"], 1)[0].id
    first = desk.jobs(jobs.Filter(), None, 3)
    assert [view.id for view in first.items] == ids[:0:-1]
    assert first.next_cursor
    assert [view.id for view in desk.jobs(jobs.Filter(), ids[1], 3).items] == [ids[0]]
    assert [view.id for view in desk.jobs(jobs.Filter(tag="x"), None, 9).items] == [ids[3], ids[1]]
    assert [view.id for view in desk.jobs(jobs.Filter(state="running"), None, 9).items] == [running]
    assert [view.id for view in desk.jobs(jobs.Filter(state="failed"), None, 9).items] == []
    assert len(desk.jobs(jobs.Filter(type="t", state="accepted"), None, 9).items) == 3
