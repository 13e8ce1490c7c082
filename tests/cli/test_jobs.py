"""`steadhold jobs`: what is sent, what is printed, and how a watched job's end is told."""

from __future__ import annotations

import httpx2
import msgspec
import pytest

from tests.cli.conftest import problem, reply

ID = "0198c0de-0000-7000-8000-000000000001"


def job(state="accepted", revision=1, **more):
    told = {"job_id": ID, "type": "t", "state": state, "revision": revision, **more}
    return reply(200, msgspec.json.encode(told), revision=revision, etag=f'"{revision}"')


def admitted(**more):
    return reply(202, msgspec.json.encode({"job_id": ID, "state": "accepted", "revision": 1, **more}))


def test_an_input_is_sent_as_the_bytes_it_is(steadhold, server):
    server.then(admitted())
    said = "--priority 2 --unique-key k --tag a --tag b --run-at 2026-11-29T17:00:00+01:00 --idempotency-key op"
    result = steadhold("jobs", "submit", "t", '{"n": 1.10}', *said.split())
    assert b'"input":{"n": 1.10}' in server.last.content
    body = msgspec.json.decode(server.last.content)
    assert body == {
        "type": "t", "input": {"n": 1.1}, "priority": 2, "unique_key": "k", "tags": ["a", "b"],
        "run_at": "2026-11-29T16:00:00.000000Z",
    }  # fmt: skip
    assert server.last.headers["idempotency-key"] == "op"
    assert msgspec.json.decode(result.stdout)["job_id"] == ID


def test_an_input_may_come_from_standard_input(steadhold, server):
    server.then(admitted())
    steadhold("jobs", "submit", "t", "-", input=b"[1]")
    assert msgspec.json.decode(server.last.content)["input"] == [1]


def test_an_input_that_is_empty_is_not_taken_for_none(steadhold, server):
    said = steadhold("jobs", "submit", "t", "-", input=b"", code=2).stderr
    assert "INPUT is not exact JSON" in said
    assert not server.requests


def test_a_fault_of_an_input_is_counted_from_its_beginning(steadhold, server):
    said = steadhold("jobs", "submit", "t", "{of}", code=2).stderr
    assert "INPUT is not exact JSON: Expected a key in quotes or }, met o. (byte 1)" in said
    assert not server.requests


@pytest.mark.parametrize("time, said", [("soon", "is no time"), ("2026-11-29T16:00:00", "has no zone")])
def test_a_time_is_a_moment(steadhold, server, time, said):
    assert said in steadhold("jobs", "submit", "t", "--run-at", time, code=2).stderr
    assert server.requests == []


@pytest.mark.parametrize(
    "state, code, said", [("completed", 0, ""), ("failed", 1, "failed: boom"), ("cancelled", 1, "was cancelled")]
)
def test_a_job_is_watched_until_it_has_ended(steadhold, server, state, code, said):
    failure = {"error_code": "boom"} if state == "failed" else {}
    server.then(job(), job("running", 2), reply(304), job(state, 3, **failure))
    result = steadhold("jobs", "watch", ID, code=code)
    assert [msgspec.json.decode(line)["revision"] for line in result.stdout.splitlines()] == [1, 2, 3]
    assert said in result.stderr
    assert server.last.headers["if-none-match"] == '"2"'


def test_a_submitted_job_is_waited_for(steadhold, server):
    server.then(admitted(), job("running", 2), job("completed", 3))
    lines = steadhold("jobs", "submit", "t", "--wait").stdout.splitlines()
    assert [msgspec.json.decode(line)["state"] for line in lines] == ["accepted", "running", "completed"]


def page(*types):
    return reply(
        200,
        msgspec.json.encode(
            {
                "items": [{"job_id": ID, "type": t, "state": "running", "revision": 2} for t in types],
                "next_cursor": None,
            }
        ),
    )


@pytest.mark.parametrize(
    "running, said",
    [
        ((), "No job of type t is running."),
        (("u", "u", "b"), "No job of type t is running; workers are at work on: b, u."),
        (("t",), "Jobs of type t are running, so its workers may have their hands full."),
    ],
)
def test_who_waits_is_told_that_no_worker_has_taken_it(steadhold, server, running, said):
    server.then(admitted(), job(), reply(304), page(*running), job("running", 2), job("completed", 3))
    result = steadhold("jobs", "submit", "t", "--wait", "--url", "http://h:1")
    assert f"No worker has taken job {ID} yet. {said}\n" in result.stderr
    assert "`steadhold work MODULE:WORKER --url http://h:1`" in result.stderr
    assert [msgspec.json.decode(line)["revision"] for line in result.stdout.splitlines()] == [1, 1, 2, 3]


@pytest.mark.parametrize("found", [job("running", 2), job(run_at="2999-01-01T00:00:00Z"), job("waiting", 2)])
def test_nobody_is_missed_for_a_job_that_is_not_to_be_taken(steadhold, server, found):
    server.then(admitted(), found, job("completed", 3))
    assert steadhold("jobs", "submit", "t", "--wait").stderr == ""


def test_waiting_for_what_was_submitted_is_bounded(steadhold, server):
    server.then(admitted(), job("running", 2))
    result = steadhold("jobs", "submit", "t", "--for", "0", code=8)
    assert msgspec.json.decode(result.stdout)["job_id"] == ID
    assert f"Next: It goes on. `steadhold jobs watch {ID}`" in result.stderr


@pytest.mark.parametrize(
    "trouble, code", [(httpx2.ConnectError("refused"), 6), (problem(503, "unavailable", next="resend"), 6)]
)
def test_what_fails_is_the_waiting_and_not_what_was_submitted(steadhold, server, trouble, code):
    server.then(admitted(), trouble)
    result = steadhold("jobs", "submit", "t", "--wait", code=code)
    assert msgspec.json.decode(result.stdout)["job_id"] == ID
    assert f"Next: It goes on. `steadhold jobs watch {ID}` waits for it again.\n" in result.stderr
    assert "Nothing was changed" not in result.stderr


def test_waiting_ends_when_its_time_is_up(steadhold, server):
    server.then(job())
    assert "has not ended" in steadhold("jobs", "watch", ID, "--for", "0", code=8).stderr


def test_a_job_without_a_result_says_how_it_stands(steadhold, server):
    server.then(problem(404, "not_found"), job("failed", 3))
    assert steadhold("jobs", "result", ID, code=4).stderr == f"Error: Job {ID} is failed, and it has no result.\n"


def test_what_a_watched_job_shows_stands_under_a_head(steadhold, server):
    server.then(job(), job("running", 2, attempt=1), job("completed", 3, attempt=1, stages=12))
    assert steadhold("jobs", "watch", ID, "-o", "table").stdout.splitlines() == [
        "REVISION   STATE      ATTEMPT    STAGES     PROGRESS",
        "1          accepted   0          0          -",
        "2          running    1          0          -",
        "3          completed  1          12         -",
    ]


def test_exact_bytes_are_written(steadhold, server):
    server.then(reply(200, b'{"n": 1e400}'))
    assert steadhold("jobs", "result", ID).stdout_bytes == b'{"n": 1e400}'
    assert steadhold("jobs", "input", ID).stdout_bytes == b'{"n": 1e400}'
    assert server.asked == [f"GET /v1/jobs/{ID}/result", f"GET /v1/jobs/{ID}/input"]


def test_a_job_is_shown_without_what_it_does_not_say(steadhold, server):
    server.then(job(progress={"done": 3}), job())
    assert msgspec.json.decode(steadhold("jobs", "show", ID).stdout)["progress"] == {"done": 3}
    said = steadhold("jobs", "show", ID, "-o", "table").stdout
    assert "progress" not in said
    assert f"job_id  {' ' * 16}{ID}" in said


def test_jobs_are_listed(steadhold, server):
    page = {
        "items": [{"job_id": ID, "type": "t", "state": "waiting", "revision": 4, "attempt": 2}],
        "next_cursor": None,
    }
    server.then(reply(200, msgspec.json.encode(page)))
    said = steadhold("jobs", "ls", "--state", "waiting", "--tag", "a", "-o", "table").stdout.splitlines()
    assert said[1].split() == [ID, "t", "waiting", "2", "-", "-"]
    assert server.asked == ["GET /v1/jobs?state=waiting&tag=a"]


def test_what_others_wrote_cannot_steer_a_terminal(steadhold, server):
    server.then(job(worker="\x1b[2Jw\n", tags=["\x1b]0;x\x07"]))
    said = steadhold("jobs", "show", ID, "-o", "table").stdout
    assert "\ufffd[2Jw \n" in said
    assert "\x1b" not in said
    assert "\x1b" not in steadhold("jobs", "show", ID).stdout


def test_a_job_is_cancelled_with_a_reason(steadhold, server):
    server.then(reply(200, b'{"outcome": "requested"}'))
    told = msgspec.json.decode(steadhold("jobs", "cancel", ID, "--reason", "wrong file").stdout)
    assert told["outcome"] == "requested"
    assert msgspec.json.decode(server.last.content) == {"reason": "wrong file"}


def test_a_job_is_retried(steadhold, server):
    server.then(admitted(retry_of=ID))
    assert msgspec.json.decode(steadhold("jobs", "retry", ID).stdout)["retry_of"] == ID
    assert server.asked == [f"POST /v1/jobs/{ID}/retry"]


@pytest.mark.parametrize("data, sent", [([], {"name": "go"}), (["-1"], {"name": "go", "data": -1})])
def test_a_job_is_told_something(steadhold, server, data, sent):
    server.then(reply(202, b"{}"))
    steadhold("jobs", "signal", ID, "go", *data)
    assert msgspec.json.decode(server.last.content) == sent


def test_what_happened_is_listed(steadhold, server):
    event = {
        "event_id": "e", "type": "job.accepted", "aggregate_id": f"job:{ID}", "aggregate_revision": 1,
        "occurred_at": "2026-11-29T16:00:00Z", "data": {"cause": "submit"},
    }  # fmt: skip
    stage = {"stage": "walk", "digest": "00", "fence": 3}
    server.then(*(reply(200, msgspec.json.encode({"items": [item], "next_cursor": None})) for item in (event, stage)))
    assert '"data":{"cause":"submit"}' in steadhold("jobs", "events", ID).stdout
    assert steadhold("jobs", "checkpoints", ID, "-o", "table").stdout.splitlines()[1].split()[:2] == ["walk", "3"]
