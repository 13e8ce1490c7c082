"""Waits: what a job may wait for, what wakes it, and that a replay does not wait twice."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, JobEnd, Signal, Timer, Wait
from steadhold.kit.limits import SIGNALS_MAX

NOBODY = "0198f000-0000-7000-8000-000000000000"


def until(clock, seconds=600):
    return clock.now() + timedelta(seconds=seconds)


def again(desk, id):
    (job,) = [job for job in desk.claim("w2", ["t"], 10) if job.id == id]
    return job


def woke(desk, id, stage):
    return json.loads(desk.checkpoint_of(id, stage).result)


def test_a_timer(desk, clock):
    job = desk.running()
    waiting = desk.said(job, Wait("nap", Timer(60)))
    assert (waiting.state, desk.get(job.id).job()) == ("waiting", jobs.Waiting(job.id))
    assert desk.claim("w", ["t"], 1) == []
    assert desk.wake(10) == 0
    clock.move(61)
    assert desk.wake(10) == 1
    next_ = again(desk, job.id)
    assert (next_.attempt, [stage for stage, _ in next_.stages]) == (1, ["nap"])
    assert woke(desk, job.id, "nap") == {"why": "happened", "timer": 60}
    replay = desk.said(next_, Wait("nap", Timer(60)))
    assert (replay.state, json.loads(replay.woke)["why"]) == ("running", "happened")
    assert desk.get(job.id).state == "running"


def test_a_signal(desk, clock):
    job = desk.running()
    desk.said(job, Wait("go", Signal("ready"), until(clock)))
    assert isinstance(desk.signal(job.id, "other", b"0"), jobs.Signalled)
    assert desk.wake(10) == 0
    desk.signal(job.id, "ready", b'{"x":1.50}')
    assert desk.wake(10) == 1
    assert desk.checkpoint_of(job.id, "go").result == b'{"why":"happened","signal":"ready","data":{"x":1.50}}'


def test_a_signal_that_came_first(desk, clock):
    job = desk.running()
    desk.signal(job.id, "ready", b"1")
    desk.signal(job.id, "ready", b"2")
    first = desk.said(job, Wait("a", Signal("ready"), until(clock)))
    second = desk.said(job, Wait("b", Signal("ready"), until(clock)))
    assert [json.loads(settled.woke)["data"] for settled in (first, second)] == [1, 2]
    assert second.revision == first.revision + 1
    assert desk.said(job, Wait("c", Signal("ready"), until(clock))).state == "waiting"


def test_signals_are_kept_up_to_a_limit(desk):
    id = desk.accepted()
    for _ in range(SIGNALS_MAX):
        desk.signal(id, "s")
    assert desk.signal(id, "s") == jobs.SignalsFull(id, SIGNALS_MAX)
    desk.cancel(id, "me")
    assert desk.signal(id, "s") == jobs.JobEnded(id, "cancelled")


def test_another_jobs_end(desk, clock):
    other, job = desk.running("u"), desk.running()
    assert desk.said(job, Wait("w", JobEnd(NOBODY), until(clock))) == jobs.NothingToAwait(f"job:{NOBODY}")
    assert desk.said(job, Wait("w", JobEnd(other.id), until(clock))).state == "waiting"
    assert desk.wake(10) == 0
    done = desk.said(other, Complete(b"1"))
    assert desk.wake(10) == 1
    reference = desk.get(done.id).result_ref
    assert woke(desk, job.id, "w") == {
        "why": "happened",
        "job": other.id,
        "state": "completed",
        "result_ref": reference,
    }


def test_another_job_that_has_ended(desk, clock):
    other, job = desk.running("u"), desk.running()
    desk.said(other, jobs.Fail("bad", klass="bug"))
    answer = desk.said(job, Wait("w", JobEnd(other.id), until(clock)))
    assert json.loads(answer.woke) == {"why": "happened", "job": other.id, "state": "failed", "error_code": "bad"}
    assert answer.state == "running"


def test_time_is_up(desk, clock):
    job = desk.running()
    desk.said(job, Wait("go", Signal("ready"), until(clock, 60)))
    clock.move(61)
    assert desk.wake(10) == 1
    assert woke(desk, job.id, "go") == {"why": "timed_out"}
    assert [cause for _, _, cause in desk.history(job.id)][-1] == "timed_out"


def test_a_deadline_ends_a_wait(desk, clock):
    job = desk.running(deadline_seconds=60)
    desk.said(job, Wait("go", Signal("ready"), until(clock, 600)))
    clock.move(61)
    assert desk.wake(10) == 1
    assert desk.get(job.id).job() == jobs.Failed(job.id, "deadline")


def test_only_a_timer_bounds_itself():
    with pytest.raises(ValueError, match="until"):
        Wait("go", Signal("ready"))


def test_cancelling_a_wait(desk, clock):
    job = desk.running()
    desk.said(job, Wait("nap", Timer(60)))
    assert desk.cancel(job.id, "me").outcome == "cancelled"
    clock.move(61)
    assert desk.wake(10) == 0
    assert desk.state(job.id) == "cancelled"


def test_a_job_asked_to_cancel_does_not_begin_to_wait(desk):
    job = desk.running()
    desk.cancel(job.id, "me")
    assert desk.said(job, Wait("nap", Timer(60))) == jobs.CancelStands(job.id)
    assert desk.state(job.id) == "running"


def test_a_waiting_job_holds_no_slot(desk):
    desk.accepted(concurrency_key="k")
    job = desk.running(type="u", concurrency_key="k")
    desk.said(job, Wait("nap", Timer(60)))
    assert len(desk.claim("w", ["t"], 1)) == 1


def test_a_repeat_of_a_wait_says_the_same(desk):
    job = desk.running()
    waiting = desk.said(job, Wait("nap", Timer(60)))
    assert desk.said(job, Wait("nap", Timer(60))).state == "waiting"
    assert desk.get(job.id).revision == waiting.revision
