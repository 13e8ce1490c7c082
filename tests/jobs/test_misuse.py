"""What a door of jobs would refuse, a verb refuses, and says which argument it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Configuration, Fail, InboxEvent, JobEnd, Release, Settlement, Signal, Timer, Wait
from steadhold.jobs.model import Match
from steadhold.jobs.outcomes import Beat
from steadhold.kit import limits
from steadhold.kit.rules import Misuse

ID = "0193a5f0-0000-7000-8000-000000000000"
AT = datetime(2030, 1, 1, tzinfo=UTC)


def job(type="t", input=b"null", **said):
    return jobs.Submission(type, input, **said)


NO_JOBS = {
    "no type": (job(""), r"job\.type: An id"),
    "no JSON": (job(input=b"{"), r"job\.input: No exact JSON"),
    "too much": (job(input=b'"%b"' % (b"x" * limits.JOB_INPUT_BYTES_MAX)), r"job\.input: At most 262144 bytes"),
    "two inputs": (job(input=b"1", input_ref="x"), "job: There is input or an input_ref"),
    "too many inputs": (job(inputs=("x",) * 65), r"job\.inputs: It is at most 64"),
    "an empty reference": (job(inputs=("x", "")), r"job\.inputs\[1\]: It is at least 1"),
    "no priority": (job(priority=-1), r"job\.priority: It is at least 0"),
    "no instant": (job(run_at=AT.replace(tzinfo=None)), r"job\.run_at: It has a time zone"),
    "no key": (job(unique_key="a b"), r"job\.unique_key: An id"),
    "a schedule's key": (job(concurrency_key="schedule:s"), "job: concurrency_key: Those that begin with schedule:"),
    "no deadline": (job(deadline_seconds=0), r"job\.deadline_seconds: It is more than 0"),
    "too many tags": (job(tags=tuple("abcdefghijklmnopq")), r"job\.tags: It is at most 16"),
    "no tag": (job(tags=("a/b",)), r"job\.tags\[0\]: An id"),
    "no id": (job(id="me"), r"job\.id: It matches"),
}


@pytest.mark.parametrize("fault", NO_JOBS)
def test_what_is_no_job_is_refused(desk, fault):
    said, why = NO_JOBS[fault]
    with pytest.raises(Misuse, match=rf"^jobs\.submit: {why}"):
        desk.submit(said)
    with pytest.raises(Misuse, match=rf"^jobs\.submit_all: {why.replace('job', 'jobs.1.', 1)}"):
        desk.submit_all([job(), said])
    assert desk.jobs(jobs.Filter(), None, 10).items == ()


def wait(awaited, stage="s", until=AT):
    return Wait(stage, awaited, until)


NO_SETTLEMENTS = {
    "no job": (Settlement("me", 1, Release()), r"settlement\.id: "),
    "no fence": (Settlement(ID, 0, Release()), r"settlement\.fence: It is at least 1"),
    "no result": (Settlement(ID, 1, Complete(b"{")), r"settlement\.said\.result: No exact JSON"),
    "two results": (Settlement(ID, 1, Complete(b"1", "x")), r"settlement\.said: There is result or a result_ref"),
    "no code": (Settlement(ID, 1, Fail("a b")), r"settlement\.said\.error_code: An id"),
    "no class": (Settlement(ID, 1, Fail("a", klass="odd")), r"settlement\.said\.klass: It is one of"),
    "a NUL": (Settlement(ID, 1, Fail("a", "\0")), r"settlement\.said\.message: It holds no NUL"),
    "no delay": (Settlement(ID, 1, Release(-1)), r"settlement\.said\.after_seconds: It is at least 0"),
    "no stage": (Settlement(ID, 1, wait(Timer(1), "a b")), r"settlement\.said\.stage: An id"),
    "no time": (Settlement(ID, 1, wait(Timer(float("nan")))), r"settlement\.said\.awaited\.seconds: "),
    "no signal": (Settlement(ID, 1, wait(Signal(""))), r"settlement\.said\.awaited\.name: An id"),
    "no other job": (Settlement(ID, 1, wait(JobEnd("x"))), r"settlement\.said\.awaited\.job_id: "),
    "no inbox": (Settlement(ID, 1, wait(InboxEvent("a/b", "e", 0))), r"settlement\.said\.awaited\.inbox: An id"),
    "no position": (Settlement(ID, 1, wait(InboxEvent("a", "e", -1))), r"settlement\.said\.awaited\.sequence: "),
    "no match": (
        Settlement(ID, 1, wait(InboxEvent("a", "e", 0, Match(aggregate_id="")))),
        r"settlement\.said\.awaited\.match\.aggregate_id: An id",
    ),
    "no end": (Settlement(ID, 1, wait(Timer(1), until=AT.replace(tzinfo=None))), r"settlement\.said\.until: "),
}


@pytest.mark.parametrize("fault", NO_SETTLEMENTS)
def test_what_nobody_can_say_of_a_job_is_refused(desk, fault):
    said, why = NO_SETTLEMENTS[fault]
    with pytest.raises(Misuse, match=rf"^jobs\.settle: {why}"):
        desk.settle(said)
    with pytest.raises(Misuse, match=r"^jobs\.settle_all: settlements\[0\]"):
        desk.settle_all([said])


NO_TYPES = {
    "no lease": (Configuration(lease_seconds=0), r"configuration\.lease_seconds: It is at least"),
    "no attempt": (Configuration(attempts_max=0), r"configuration\.attempts_max: It is at least 1"),
    "no retry": (Configuration(retry=jobs.Retry(jitter=2)), r"configuration\.retry\.jitter: It is at most 1"),
    "no slot": (Configuration(concurrency=jobs.Concurrency(0)), r"configuration\.concurrency\.type_max: "),
    "no schema": (Configuration(input_schema=b'{"type": "odd"}'), "configuration: input_schema: "),
    "no JSON": (Configuration(input_schema=b"{"), "configuration: input_schema: No exact JSON"),
}


@pytest.mark.parametrize("fault", NO_TYPES)
def test_what_a_type_cannot_be_held_to_is_refused(desk, fault):
    said, why = NO_TYPES[fault]
    with pytest.raises(Misuse, match=rf"^jobs\.configure: {why}"):
        desk.configure("t", said, None)


@pytest.mark.parametrize(
    ("verb", "arguments", "why"),
    [
        ("get", ("me",), "get: id: It matches"),
        ("claim", ("w", ["a b"], 1), r"claim: types\[0\]: An id"),
        ("claim", ("w", ["t"], 0), "claim: limit: It is at least 1"),
        ("claim", ("w", ["t"], 101), "claim: limit: It is at most 100"),
        ("claim", ("w", ["t"], 1, 0.0), "claim: lease_seconds: "),
        ("heartbeat", (ID, 1, b"{"), "heartbeat: progress: No exact JSON"),
        ("heartbeat_all", ([Beat(ID, 0)],), r"heartbeat_all: beats\[0\]\.fence: "),
        ("checkpoint", (ID, 1, "a b"), "checkpoint: stage: An id"),
        ("checkpoint", (ID, 1, "s", b"'"), "checkpoint: result: No exact JSON"),
        ("cancel", (ID, ""), "cancel: by: It is at least 1"),
        ("retry", (ID, "new"), "retry: new_id: "),
        ("signal", (ID, "a/b"), "signal: name: An id"),
        ("signal", (ID, "s", b"x"), "signal: data: No exact JSON"),
        ("cancel_all", (jobs.Filter(type=""), None, "me"), r"cancel_all: which\.type: An id"),
        ("jobs", (jobs.Filter(), None, 0), "jobs: limit: It is at least 1"),
        ("jobs", (jobs.Filter(state="odd"), None, 1), r"jobs: which\.state: It is one of"),
        ("checkpoints", (ID, "", 1_001), "checkpoints: limit: It is at most"),
        ("contents", ("",), "contents: id: "),
        ("job_type", ("a/b",), "job_type: type: An id"),
    ],
)
def test_other_arguments_are_told_too(desk, verb, arguments, why):
    with pytest.raises(Misuse, match=rf"^jobs\.{why}"):
        getattr(desk, verb)(*arguments)


def test_what_fits_is_taken(desk):
    known = jobs.Submission("t", input_ref="x", inputs=("y",) * 64, priority=9, run_at=AT, tags=("a",) * 16)
    assert desk.submit(known).id == known.id
