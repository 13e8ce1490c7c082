"""What becomes of an instant while an earlier run has not ended, or where its job is refused."""

from __future__ import annotations

from steadhold import access, jobs
from steadhold.jobs import Release, Settlement
from steadhold.schedules import Span
from tests.schedules.conftest import HOUR


def test_skipped_instants_are_one_range(desk):
    desk.made(overlap="skip")
    desk.pass_(4)
    assert desk.told() == [("waiting", 1), ("skipped:overlap", 3)]
    assert desk.events() == ["waiting", "skipped"], "a range is told once"
    desk.work()
    desk.pass_(2)
    assert desk.told() == [("started", 1), ("skipped:overlap", 3), ("waiting", 1), ("skipped:overlap", 1)]


def test_a_job_that_was_handed_back_has_not_ended(desk):
    desk.made(overlap="skip")
    desk.pass_()
    (job,) = desk.claim()
    jobs.settle(desk.conn, desk.workspace, Settlement(job.id, job.fence, Release(7_200)))
    desk.pass_()
    assert desk.told() == [("started", 1), ("skipped:overlap", 1)]


def test_one_waits_and_the_newest_it_is(desk):
    """Its job is cancelled and its run says so; the one that took its place stands for it."""
    desk.made()
    first = desk.pass_()
    desk.claim()
    desk.pass_(3)
    assert desk.told() == [("started", 1), ("coalesced", 1), ("coalesced", 1), ("waiting", 1)]
    runs = desk.runs("s", None, 9).items
    assert [desk.job(run.job_id).state for run in runs] == ["accepted", "cancelled", "cancelled", "running"]
    assert (runs[0].window_start, runs[0].covers) == (first, (Span(first + HOUR, first + 2 * HOUR, 2),))
    assert desk.job(runs[1].job_id).cancel_reason == "coalesced"
    assert desk.events() == ["waiting", "waiting", "waiting", "coalesced", "waiting", "coalesced"]


def test_they_go_one_at_a_time(desk):
    desk.made(overlap="enqueue", sequential=True)
    desk.pass_(3)
    runs = desk.runs("s", None, 9).items[::-1]
    for run in runs:
        (job,) = desk.claim()
        assert job.id == run.job_id
        jobs.settle(desk.conn, desk.workspace, Settlement(job.id, job.fence, jobs.Complete()))


def test_what_is_refused_is_final(desk):
    """A type that is not allowed any more fails the instant, and what waits keeps its place."""
    desk.made()
    desk.pass_()
    access.put_entitlements(
        desk.conn, desk.workspace, access.Entitlements(job_types=("u",)), None, by=access.Actor("operator", None)
    )
    desk.pass_()
    assert desk.told() == [("waiting", 1), ("failed:not_entitled", 1)]
    assert desk.job(desk.runs("s", None, 9).items[1].job_id).state == "accepted"
    assert desk.events() == ["waiting", "failed"]


def test_an_input_that_does_not_fit_fails_the_instant(desk):
    jobs.configure(desk.conn, desk.workspace, "t", jobs.Configuration(input_schema=b'{"type": "object"}'), None)
    desk.made(overlap="enqueue")
    desk.pass_(2)
    assert desk.told() == [("failed:invalid_input", 1)] * 2


def test_who_takes_a_place_needs_no_room_in_the_queue(desk):
    """A queue that is full, be it of the schedule's own job, keeps no instant from being covered."""
    full = access.Entitlements(jobs_queued_max=1)
    access.put_entitlements(desk.conn, desk.workspace, full, None, by=access.Actor("test", None))
    desk.made()
    at = desk.pass_(3)
    assert desk.told() == [("coalesced", 1), ("coalesced", 1), ("waiting", 1)]
    assert desk.newest().window_start == at - 3 * HOUR
    jobs.submit(desk.conn, desk.workspace, jobs.Submission("other"))
    desk.delete("s", 1)
    desk.made("late", overlap="enqueue")
    desk.pass_(id="late")
    assert desk.told("late") == [("failed:queue_full", 1)]
