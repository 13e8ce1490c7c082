"""client.approvals, sync and async, against the real server."""

from __future__ import annotations

import asyncio
import hashlib
from types import SimpleNamespace

import pytest

from steadhold.sdk import AsyncClient, Client, errors
from steadhold.sdk import approvals_shapes as shapes
from steadhold.sdk.approvals import Artifact
from tests.sdk.conftest import Played
from tests.sdk.site import key, site  # noqa: F401 - fixtures

ONE, TWO = Artifact.of("plan", "1", b"first"), Artifact.of("plan", "2", b"second")
NOBODY = "0198f000-0000-7000-8000-000000000000"


@pytest.fixture(params=["sync", "async"])
def cast(request, site, key):  # noqa: F811
    """A program that asks, and two people who decide: all by sync or by async clients."""
    with Client(site.url, key.key) as owner:
        agent = owner.keys.create("agent", "service", ["approvals:request", "approvals:use", "approvals:read"])
        keys = {
            "agent": agent,
            **{name: owner.keys.create(name, "person", ["approvals:*"]) for name in ("anna", "bert")},
        }
    if request.param == "sync":
        clients = {name: Client(site.url, made.key) for name, made in keys.items()}
        yield SimpleNamespace(**clients)
        for client in clients.values():
            client.close()
        return
    with asyncio.Runner() as runner:
        clients = {name: AsyncClient(site.url, made.key) for name, made in keys.items()}
        yield SimpleNamespace(**{name: Played(client, runner.run) for name, client in clients.items()})
        for client in clients.values():
            runner.run(client.close())


@pytest.fixture
def clock(site):  # noqa: F811
    yield site.database.clock
    site.database.clock.reset()


def asked(cast, **more):
    said = {"action": "deploy", "title": "Deploy it?", "expires_in_seconds": 60.0, **more}
    return cast.agent.approvals.request(ONE, **said)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_bytes_are_hashed(algorithm):
    made = Artifact.of("r", "1", b"data", algorithm=algorithm)
    assert made.hash == f"{algorithm}:{hashlib.new(algorithm, b'data').hexdigest()}"
    assert made.length == 4


def test_from_the_question_to_the_use(cast):
    question = asked(cast, note="n", approvers=["anna", "bert"], quorum=2, usable_seconds=30.0)
    id = question.approval_id
    assert (question.state, question.artifact, question.ended, question.grant) == ("pending", ONE, False, None)
    assert cast.anna.approvals.approve(id, ONE, comment="fine").state == "pending"
    assert cast.bert.approvals.approve(id, ONE.hash).state == "approved"
    found = cast.agent.approvals.wait(id, timeout_seconds=20)
    assert [(vote.subject, vote.comment) for vote in found.votes] == [("anna", "fine"), ("bert", None)]
    assert (found.ended, found.grant.state) == (True, "unused")
    assert cast.agent.approvals.verify(id, ONE) == shapes.Verdict(approved=True, reason="unused")
    assert cast.agent.approvals.verify(id, TWO) == shapes.Verdict(approved=False, reason="artifact_mismatch")
    used = cast.agent.approvals.use(id, ONE, use_id="u")
    assert (used.grant.use_id, used.grant.by) == ("u", "agent")
    assert cast.agent.approvals.use(id, ONE, use_id="u").revision == used.revision
    assert cast.agent.approvals.verify(id, ONE, use_id="u").approved
    assert cast.agent.approvals.get(id) == used
    assert [one.approval_id for one in cast.agent.approvals.list(state="approved")] == [id]
    assert list(cast.agent.approvals.list(state="pending")) == []


def test_refusals_are_typed(cast):
    agent, anna, bert = cast.agent.approvals, cast.anna.approvals, cast.bert.approvals
    id = asked(cast, quorum=2).approval_id
    with pytest.raises(shapes.ArtifactMismatch):
        anna.approve(id, TWO)
    anna.approve(id, ONE)
    with pytest.raises(shapes.AlreadyVoted):
        anna.reject(id, ONE)
    with pytest.raises(shapes.NotApprover):
        anna.withdraw(id)
    with pytest.raises(errors.MissingScope):
        agent.approve(id, ONE)
    with pytest.raises(errors.RevisionConflict):
        bert.approve(id, ONE, if_revision=1)
    with pytest.raises(shapes.NotUsable) as early:
        agent.use(id, ONE, use_id="u")
    assert early.value.reason == "pending"
    assert bert.reject(id, ONE, comment="no").state == "rejected"
    with pytest.raises(shapes.ApprovalEnded) as late:
        agent.withdraw(id)
    assert late.value.outcome == "rejected"
    with pytest.raises(errors.NotFound):
        agent.get(NOBODY)
    with pytest.raises(errors.Problem) as unreachable:
        asked(cast, approvers=["agent"])
    assert unreachable.value.code == "quorum_unreachable"


def test_a_grant_is_used_once_or_revoked(cast):
    id = asked(cast).approval_id
    cast.anna.approvals.approve(id, ONE)
    cast.agent.approvals.use(id, ONE, use_id="u")
    with pytest.raises(shapes.AlreadyUsed):
        cast.agent.approvals.use(id, ONE, use_id="v")
    with pytest.raises(shapes.AlreadyUsed):
        cast.bert.approvals.revoke(id)
    other = asked(cast).approval_id
    cast.anna.approvals.approve(other, ONE)
    assert cast.bert.approvals.revoke(other).grant.state == "revoked"
    with pytest.raises(shapes.NotUsable) as gone:
        cast.agent.approvals.use(other, ONE, use_id="u")
    assert gone.value.reason == "revoked"


def test_watching_ends_with_the_outcome(cast, clock):
    id = asked(cast).approval_id
    watching = cast.agent.approvals.watch(id)
    seen = [next(watching).state]
    clock.move(60)
    seen += [one.state for one in watching]
    assert seen == ["pending", "expired"]
    assert cast.agent.approvals.wait(id).state == "expired"
    with pytest.raises(TimeoutError):
        cast.agent.approvals.wait(asked(cast).approval_id, timeout_seconds=0.05)


def test_a_withdrawn_question_is_told(cast):
    id = asked(cast).approval_id
    assert cast.agent.approvals.withdraw(id).state == "withdrawn"
    assert [one.state for one in cast.anna.approvals.watch(id, since=1)] == ["withdrawn"]
