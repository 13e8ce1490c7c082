"""client.jobs on the wire: what is sent, and how long is waited."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx2
import pytest

from steadhold.kit.fields import FenceRef
from steadhold.sdk.job_shapes import Coverage
from steadhold.sdk.jobs import Submission

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
SETTLED = httpx2.Response(200, json={"job_id": "j", "state": "completed", "revision": 3})
SUBMITTED = httpx2.Response(202, json={"job_id": "j", "state": "accepted", "revision": 1})


def job(state, revision):
    return httpx2.Response(200, json={"job_id": "j", "type": "t", "state": state, "revision": revision})


def sent(server, n=-1):
    return json.loads(server.requests[n].content)


def test_a_submission_says_only_what_was_said(each_client, server):
    server.then(SUBMITTED, SUBMITTED)
    each_client.jobs.submit("t")
    assert sent(server) == {"type": "t"}
    each_client.jobs.submit(
        "t", raw=b'{"n":  1.10}', inputs=["state:a@1"], priority=0, run_at=AT, tags=["x"], deadline_seconds=5,
    )  # fmt: skip
    assert b'"input":{"n":  1.10}' in server.requests[-1].content
    assert sent(server) == {
        "type": "t", "input": {"n": 1.1}, "inputs": ["state:a@1"], "priority": 0,
        "run_at": "2026-01-01T12:00:00.000000Z", "tags": ["x"], "deadline_seconds": 5,
    }  # fmt: skip


def test_a_moment_without_a_zone_is_refused(each_client, server):
    with pytest.raises(ValueError, match="time zone"):
        each_client.jobs.submit("t", run_at=AT.replace(tzinfo=None))
    assert server.requests == []


def test_null_is_an_input(each_client, server):
    server.then(SUBMITTED)
    each_client.jobs.submit("t", None)
    assert sent(server) == {"type": "t", "input": None}


def test_an_existing_job_is_not_created(each_client, server):
    server.then(httpx2.Response(200, json={"job_id": "j", "state": "running", "revision": 4}))
    found = each_client.jobs.submit("t", unique_key="k")
    assert (found.created, found.state, found.revision) == (False, "running", 4)


def test_many_submissions(each_client, server):
    server.then(httpx2.Response(200, json={"outcomes": [{"status": 202, "job_id": "j"}, {"status": 403, "code": "x"}]}))
    outcomes = each_client.jobs.submit_many([Submission(type="t", raw=b"1.10"), Submission(type="u")])
    assert [(o.ok, o.job_id, o.code) for o in outcomes] == [(True, "j", None), (False, None, "x")]
    assert server.requests[-1].content == b'{"items":[{"type":"t","input":1.10},{"type":"u"}]}'


VERDICTS = [
    (lambda jobs: jobs.complete("j", 7), {"state": "completed", "result": None}),
    (lambda jobs: jobs.complete("j", 7, {"n": 1}), {"state": "completed", "result": {"n": 1}}),
    (lambda jobs: jobs.complete("j", 7, result_ref="r"), {"state": "completed", "result_ref": "r"}),
    (
        lambda jobs: jobs.complete("j", 7, 1, coverage=Coverage("partial", 10, 4), evidence_at=AT),
        {
            "state": "completed", "result": 1, "coverage": {"state": "partial", "expected": 10, "covered": 4},
            "evidence_at": "2026-01-01T12:00:00.000000Z",
        },
    ),
    (
        lambda jobs: jobs.fail("j", 7, "code", "Why.", klass="bug"),
        {"state": "failed", "error_code": "code", "message": "Why.", "class": "bug"},
    ),
    (lambda jobs: jobs.confirm_cancel("j", 7), {"state": "cancelled"}),
    (lambda jobs: jobs.release("j", 7), {"state": "accepted"}),
    (lambda jobs: jobs.release("j", 7, after_seconds=5), {"state": "accepted", "after_seconds": 5}),
    (
        lambda jobs: jobs.wait_for("j", 7, "s", {"signal": "go"}, until=AT),
        {"state": "waiting", "stage": "s", "for": {"signal": "go"}, "until": "2026-01-01T12:00:00.000000Z"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("say, outcome", VERDICTS)
def test_five_verbs_settle(each_client, server, say, outcome):
    server.then(SETTLED)
    assert say(each_client.jobs).state == "completed"
    assert server.asked == ["POST /v1/jobs/j/settle"]
    assert sent(server) == {"fence": 7, "outcome": outcome}


def test_a_settlement_may_have_a_condition(each_client, server):
    server.then(SETTLED)
    each_client.jobs.complete("j", 7, if_revision=2)
    assert server.requests[0].headers["if-match"] == '"2"'


def test_a_claim_gives_jobs_with_their_grants(each_client, server):
    claimed = (
        b'{"jobs":[{"job_id":"j","type":"t","fence":7,"revision":2,"attempt":1,"lease_seconds":30.0,'
        b'"lease_expires_at":"2026-01-01T12:00:00.000000Z","root_job_id":"j","input":{"n":  1.10},'
        b'"stages":[{"stage":"s","digest":"00"}],"from_the_future":1}]}'
    )
    server.then(httpx2.Response(200, content=claimed))
    [mine] = each_client.jobs.claim("me", ["t"], limit=5, wait_seconds=20)
    assert (mine.grant, bytes(mine.input_raw), str(mine.input["n"])) == (FenceRef("job:j", 7), b'{"n":  1.10}', "1.10")
    assert (mine.stages[0].stage, mine.lease_expires_at) == ("s", AT)
    assert sent(server) == {"worker": "me", "types": ["t"], "limit": 5, "wait_seconds": 20}


def test_heartbeats_carry_progress(each_client, server):
    server.then(httpx2.Response(200, json={"outcomes": [{"status": 200}, {"status": 409, "code": "stale_fence"}]}))
    beats = each_client.jobs.heartbeat_many([("j", 7), ("k", 8, b'{"done":  1}')])
    assert [beat.ok for beat in beats] == [True, False]
    assert server.requests[0].content == (
        b'{"items":[{"job_id":"j","fence":7},{"job_id":"k","fence":8,"progress":{"done":  1}}]}'
    )


def test_waiting_asks_until_it_has_ended(each_client, server):
    server.then(job("accepted", 1), httpx2.Response(304), job("running", 2), job("failed", 3))
    assert each_client.jobs.wait("j").state == "failed"
    assert [r.headers.get("if-none-match") for r in server.requests] == [None, '"1"', '"1"', '"2"']
    assert server.asked[1] == "GET /v1/jobs/j?wait_seconds=25"


def test_waiting_has_a_limit(each_client, server, clock, monkeypatch):
    monkeypatch.setattr("steadhold.sdk.watching.CLOCK", clock)

    def later(_request):
        clock.now += 20
        return httpx2.Response(304, stream=httpx2.ByteStream(b""))

    server.then(job("accepted", 1), later, later)
    with pytest.raises(TimeoutError, match="30 seconds"):
        each_client.jobs.wait("j", timeout_seconds=30)
    assert server.asked[1:] == ["GET /v1/jobs/j?wait_seconds=25", "GET /v1/jobs/j?wait_seconds=10"]


def test_a_signal_may_be_bare(each_client, server):
    server.then(*[httpx2.Response(202, json={"job_id": "j", "revision": 2})] * 2)
    each_client.jobs.signal("j", "go")
    assert sent(server) == {"name": "go"}
    each_client.jobs.signal("j", "go", None)
    assert sent(server) == {"name": "go", "data": None}
