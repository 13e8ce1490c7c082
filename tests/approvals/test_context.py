"""An artifact in context: it is looked at when it is asked about, and stays as long as the approval does."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from steadhold import blobs, context
from steadhold.approvals import Artifact, ArtifactMismatch
from steadhold.approvals.outcomes import HashMismatch
from steadhold.kit.outcome import Missing
from tests.approvals.people import AGENT, HOUR, asked
from tests.context.desk import BIG, put, refer
from tests.context.test_references import age

ONE = b"the report"


@pytest.fixture
def report(desk):
    """A report in context, as an artifact."""
    put(desk.conn, desk.workspace, "n", ONE)
    return Artifact.of(refer("n", 1, ONE), "1", ONE)


def readable(desk, artifact):
    """Its bytes, once its revision is not kept any more and everything that nobody needs is gone."""
    age(desk.conn, desk.workspace)
    blobs.prune(desk.conn, desk.workspace, 100)
    found = context.resolve(desk.conn, desk.workspace, artifact.reference)
    return found.body if isinstance(found, context.Content) else None


def test_the_artifact_stays_when_all_is_over(desk, report):
    id = desk.ask(artifact=report)
    desk.approve(id, hash=report.hash)
    desk.act(id, report)
    assert readable(desk, report) == ONE


def test_without_an_approval_it_goes(desk, report):
    assert readable(desk, report) is None
    question = asked(artifact=report)
    assert desk.request(question, by=AGENT) == context.Unresolved(report.reference, pruned=True)
    assert desk.get(question.id) == Missing()


@pytest.mark.parametrize("wrong", [refer("n", 2, ONE), refer("m", 1, ONE), refer("n", 1, b"other"), "context:n@1"])
def test_nothing_is_asked_about_what_is_not_there(desk, report, wrong):
    question = asked(artifact=replace(report, reference=wrong))
    assert desk.request(question, by=AGENT) == context.Unresolved(wrong)
    assert desk.get(question.id) == Missing()


def test_another_hash_than_the_bytes_have_is_refused(desk, report):
    other = asked(artifact=replace(report, hash="sha256:" + "0" * 64))
    assert desk.request(other, by=AGENT) == HashMismatch(report.reference, report.hash, len(ONE))
    longer = asked(artifact=replace(report, length=len(ONE) + 1))
    assert desk.request(longer, by=AGENT) == HashMismatch(report.reference, None, len(ONE))
    assert [desk.get(question.id) for question in (other, longer)] == [Missing(), Missing()]
    assert desk.conn.execute("select count(*) from steadhold.context_pins").fetchone() == (0,)


def test_a_longer_hash_is_computed_of_all_pieces(desk):
    put(desk.conn, desk.workspace, "big", BIG)
    said = Artifact(refer("big", 1, BIG), "1", "sha512:" + hashlib.sha512(BIG).hexdigest())
    assert desk.request(asked(artifact=said), by=AGENT).approval.artifact == said
    wrong = replace(said, hash="sha512:" + hashlib.sha512(BIG[:-1]).hexdigest())
    assert desk.request(asked(artifact=wrong), by=AGENT) == HashMismatch(said.reference, said.hash, len(BIG))


def test_another_content_is_another_artifact(desk, report):
    id = desk.ask(artifact=report)
    desk.approve(id, hash=report.hash)
    put(desk.conn, desk.workspace, "n", b"another", 1)
    other = Artifact.of(refer("n", 2, b"another"), "2", b"another")
    for meant in (other, replace(other, reference=report.reference), replace(report, reference=other.reference)):
        assert not desk.verify(id, meant).approved
        assert desk.act(id, meant) == ArtifactMismatch(report)
    assert desk.verify(id, report).approved


def test_the_same_question_again_is_the_same_when_the_file_has_gone(desk, report):
    question = asked(artifact=report)
    desk.request(question, by=AGENT)
    assert readable(desk, report) == ONE
    assert desk.request(question, by=AGENT).repeated


async def test_over_http(house):
    """Also that a key may ask only about what it may read."""
    agent = await house.enter("agent", "service", ("approvals:request",))
    await house.player.play(context.put.call(house.workspace, "n", ONE, None))
    reader = await house.enter("reader", "service", ("approvals:request", "context:read:n"))
    body = {"artifact": {"reference": refer("n", 1, ONE), "version": "1", "hash": "sha256:" + "0" * 64}}
    refused = await reader.ask(**body)
    assert (refused.status, refused.code) == (422, "hash_mismatch")
    assert refused.json["hash"] == "sha256:" + hashlib.sha256(ONE).hexdigest()
    body["artifact"]["hash"] = refused.json["hash"]
    assert (await agent.ask(**body)).code == "missing_scope"
    assert (await reader.ask(**body, expires_in_seconds=HOUR)).status == 201
    body["artifact"]["reference"] = "context:n@1"
    refused = await agent.ask(**body)
    assert (refused.status, refused.code) == (422, "unknown_reference")
