"""The grant of what was approved: used once, with exactly that artifact, until it lapses or is revoked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steadhold.approvals import AlreadyUsed, ArtifactMismatch, By, NotApprover, NotUsable, Verdict
from steadhold.kit.outcome import Missing
from tests.approvals.people import AGENT, ANNA, BERT, CARL, HOUR, NOBODY, ONE, TWO


def test_a_grant_is_used_once(desk):
    id = desk.approved()
    found = desk.act(id, use_id="first").approval
    assert (found.state, found.grant, found.use_id) == ("approved", "used", "first")
    assert desk.act(id, use_id="second") == AlreadyUsed(id)
    assert desk.act(id, use_id="first").repeated
    assert desk.told(id) == ["requested", "voted", "approved", "used"]
    assert [deed.act for deed in desk.get(id).deeds] == ["request", "approve", "use"]


def test_a_newer_artifact_inherits_nothing(desk):
    """Approved is version 1. Version 2 under the same reference is not, nor the same version with other bytes."""
    id = desk.approved()
    swapped = (
        TWO,
        replace(ONE, hash=TWO.hash),
        replace(ONE, version="2"),
        replace(ONE, hash=""),
        replace(ONE, reference="p"),
    )
    for artifact in swapped:
        assert desk.verify(id, artifact) == Verdict(False, "artifact_mismatch")
        assert desk.act(id, artifact) == ArtifactMismatch(ONE)
        assert desk.require(id, artifact) == ArtifactMismatch(ONE)
    assert desk.state(id) == ("approved", "unused")
    desk.act(id)
    assert desk.act(id, TWO) == ArtifactMismatch(ONE), "also for the use that has it"


def test_verifying(desk, clock):
    """Yes while it is unused, or by the use that has it; never before the outcome, never after its time."""
    id = desk.ask(usable_seconds=60.0)
    assert desk.verify(id, ONE) == Verdict(False, "pending")
    desk.approve(id)
    assert desk.verify(id, ONE) == desk.verify(id, ONE, "u") == desk.require(id, ONE) == Verdict(True, "unused")
    assert desk.verify(id, replace(ONE, length=None)).approved, "the hash covers the length"
    desk.act(id)
    assert desk.verify(id, ONE) == desk.verify(id, ONE, "other") == Verdict(False, "used")
    assert desk.verify(id, ONE, "u") == desk.require(id, ONE, "u") == Verdict(True, "same_use")
    assert desk.require(id, ONE) == AlreadyUsed(id)
    clock.move(61)
    assert desk.verify(id, ONE, "u").approved, "a use does not lapse"
    assert desk.verify(NOBODY, ONE) == desk.require(NOBODY, ONE) == Missing()


@pytest.mark.parametrize("state", ["pending", "rejected", "expired", "withdrawn", "revoked", "lapsed"])
def test_what_has_no_grant_is_not_used(desk, clock, state):
    id = desk.ask(usable_seconds=60.0)
    match state:
        case "rejected":
            desk.reject(id)
        case "expired":
            clock.move(HOUR)
        case "withdrawn":
            desk.withdraw(id, by=AGENT)
        case "revoked":
            desk.approve(id)
            desk.revoke(id, by=ANNA)
        case "lapsed":
            desk.approve(id)
            clock.move(60)
        case _:
            pass
    assert desk.verify(id, ONE) == desk.verify(id, ONE, "u") == Verdict(False, state)
    assert desk.act(id) == desk.require(id, ONE) == NotUsable(id, state)


def test_a_grant_lapses_from_its_decision(desk, clock):
    id = desk.ask(usable_seconds=60.0)
    clock.move(600)
    desk.approve(id)
    clock.move(59)
    assert desk.verify(id, ONE).approved
    clock.move(1)
    seen = desk.get(id)
    assert (seen.state, seen.grant, seen.revision, seen.grant_ended_at) == ("approved", "lapsed", 4, seen.usable_until)
    assert desk.act(id) == desk.revoke(id, by=ANNA) == NotUsable(id, "lapsed")
    assert [desk.pass_time(10), desk.pass_time(10)] == [1, 0]
    assert replace(desk.get(id), now=seen.now) == seen
    assert desk.told(id) == ["requested", "voted", "approved", "lapsed"]


def test_a_use_made_in_time_replays_after_its_time(desk, clock):
    id = desk.approved(usable_seconds=60.0)
    desk.act(id)
    clock.move(61)
    assert desk.pass_time(10) == 0
    assert desk.act(id).repeated
    assert desk.act(id, use_id="late") == AlreadyUsed(id)


def test_revoking(desk):
    """It ends the grant and not the decision; who asked and who may decide can do it, until it is used."""
    id = desk.ask(quorum=1, approvers=("anna", "bert"))
    assert desk.revoke(id, by=ANNA) == NotUsable(id, "pending")
    desk.approve(id)
    assert isinstance(desk.revoke(id, by=CARL), NotApprover)
    found = desk.revoke(id, by=BERT).approval
    assert (found.state, found.grant, found.revision) == ("approved", "revoked", 4)
    assert desk.revoke(id, by=ANNA).repeated
    assert desk.told(id) == ["requested", "voted", "approved", "revoked"]
    used = desk.approved()
    desk.act(used)
    assert desk.revoke(used, by=ANNA) == AlreadyUsed(used)
    mine = desk.approved()
    votes_only = By(AGENT.subject, "person", ("approvals:vote",))
    assert isinstance(desk.revoke(mine, by=votes_only), NotApprover), "another key of who asked, which may not ask"
    assert desk.revoke(mine, by=AGENT).approval.grant == "revoked"
