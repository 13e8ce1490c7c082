"""`steadhold approvals`: what is sent, what is printed, and how an outcome is told."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from tests.cli.conftest import problem, reply

ID = "0198c0de-0000-7000-8000-000000000001"
HASH = f"sha256:{hashlib.sha256(b'plan').hexdigest()}"


def approval(state="pending", revision=1, **more):
    told = {
        "approval_id": ID, "revision": revision, "state": state, "action": "a", "title": "Do it?", "requester": "agent",
        "artifact": {"reference": "r", "version": "7", "hash": HASH}, "approvers": "approvals:vote", "quorum": 1,
        "allow_requester": False, "created_at": "2026-11-29T16:00:00.000000Z", "votes": [],
        "expires_at": "2026-11-29T17:00:00.000000Z", "usable_seconds": 60.0, **more,
    }  # fmt: skip
    return reply(200, msgspec.json.encode(told), revision=revision, etag=f'"{revision}"')


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan"
    path.write_bytes(b"plan")
    return path


def sent(server):
    return msgspec.json.decode(server.last.content)


def test_a_question_is_asked_about_a_file(steadhold, server, plan):
    server.then(approval())
    said = "--action deploy --title Deploy? --expires-in-seconds 60 --approver anna --approver bert --quorum 2"
    result = steadhold("approvals", "request", "r", "7", "--file", plan, *said.split(), "--idempotency-key", "op")
    assert sent(server) == {
        "artifact": {"reference": "r", "version": "7", "hash": HASH, "length": 4}, "action": "deploy",
        "title": "Deploy?", "expires_in_seconds": 60.0, "approvers": ["anna", "bert"], "quorum": 2,
    }  # fmt: skip
    assert server.last.headers["idempotency-key"] == "op"
    assert msgspec.json.decode(result.stdout)["approval_id"] == ID


def test_a_question_may_be_waited_for(steadhold, server):
    server.then(approval(), approval(), approval("rejected", 3))
    said = "--hash h --action a --title t --expires-in-seconds 60 --approver-scope jobs:steer --allow-requester --wait"
    result = steadhold("approvals", "request", "r", "7", *said.split(), code=1)
    assert "not approved: rejected" in result.stderr
    first = msgspec.json.decode(server.requests[0].content)
    assert (first["approvers"], first["allow_requester"]) == ("jobs:steer", True)


def test_what_fails_is_the_waiting_and_not_the_question(steadhold, server):
    server.then(approval(), problem(503, "unavailable", next="resend"))
    said = "--hash h --action a --title t --expires-in-seconds 60 --approver anna --wait"
    result = steadhold("approvals", "request", "r", "7", *said.split(), code=6)
    assert f"Next: It was asked. `steadhold approvals watch {ID}` waits for the outcome again.\n" in result.stderr


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_vote_says_what_was_seen(steadhold, server, plan, decision):
    server.then(approval("approved", 3))
    steadhold("approvals", decision, ID, "--file", plan, "--comment", "c", "--if-match", 1)
    assert sent(server) == {"decision": decision, "hash": HASH, "comment": "c"}
    assert server.asked == [f"POST /v1/approvals/{ID}/votes"]
    assert server.last.headers["if-match"] == '"1"'


@pytest.mark.parametrize("seen", [[], ["--hash", "h", "--file", __file__]])
@pytest.mark.parametrize("verb", [["approve", ID], ["verify", ID, "r", "7"], ["use", ID, "r", "7", "--use-id", "u"]])
def test_what_was_seen_is_said_in_one_way(steadhold, server, seen, verb):
    server.then(approval())
    assert "--file or --hash" in steadhold("approvals", *verb, *seen, code=2).stderr
    assert server.requests == []


def test_approvers_are_named_in_one_way(steadhold, server):
    said = "--hash h --action a --title t --expires-in-seconds 60 --approver anna --approver-scope jobs:steer"
    assert "not both" in steadhold("approvals", "request", "r", "7", *said.split(), code=2).stderr
    assert server.requests == []


@pytest.mark.parametrize("verb", ["withdraw", "revoke"])
def test_verbs_without_a_body(steadhold, server, verb):
    server.then(approval("withdrawn", 2))
    steadhold("approvals", verb, ID)
    assert server.asked == [f"POST /v1/approvals/{ID}/{verb}"]


@pytest.mark.parametrize(("yes", "code"), [(True, 0), (False, 3)])
def test_a_verdict_is_an_exit_code(steadhold, server, plan, yes, code):
    server.then(reply(200, msgspec.json.encode({"approved": yes, "reason": "why"})))
    result = steadhold("approvals", "verify", ID, "r", "7", "--file", plan, "--use-id", "u", code=code)
    assert sent(server) == {"reference": "r", "version": "7", "hash": HASH, "use_id": "u"}
    assert ("why" in result.stderr) == (not yes)


def test_a_use_that_is_refused_is_a_conflict(steadhold, server):
    server.then(problem(409, "already_used"))
    steadhold("approvals", "use", ID, "r", "7", "--hash", HASH, "--use-id", "u", code=3)
    assert sent(server)["use_id"] == "u"


@pytest.mark.parametrize(("state", "code"), [("approved", 0), ("rejected", 1), ("expired", 1), ("withdrawn", 1)])
def test_an_approval_is_watched_until_its_outcome(steadhold, server, state, code):
    server.then(approval(), reply(304), approval(state, 2))
    result = steadhold("approvals", "watch", ID, code=code)
    assert [msgspec.json.decode(line)["state"] for line in result.stdout.splitlines()] == ["pending", state]


def test_waiting_ends_in_time(steadhold, server):
    server.then(approval())
    steadhold("approvals", "watch", ID, "--for", 0, code=8)
    assert server.asked == [f"GET /v1/approvals/{ID}"]


def test_lists_and_one(steadhold, server):
    page = reply(200, b'{"items": [' + approval().content + b'], "next_cursor": null}')
    server.then(page, approval())
    table = steadhold("approvals", "ls", "--state", "pending", "-o", "table").stdout
    assert table.split()[:2] == ["APPROVAL_ID", "STATE"]
    assert "Do it?" in table
    shown = steadhold("approvals", "show", ID, "-o", "table").stdout.splitlines()
    assert [line for line in shown if "agent" in line] == ["requester        agent"]
    at = shown.index("artifact")
    assert [line.split()[0] for line in shown[at + 1 : at + 4]] == ["reference", "version", "hash"]
    assert server.asked == ["GET /v1/approvals?state=pending", f"GET /v1/approvals/{ID}"]
