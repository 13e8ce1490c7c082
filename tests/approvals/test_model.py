"""approvals, decided without a database: who, when, what is the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.approvals import answers, outcomes, verdicts
from steadhold.approvals.model import MOVES, Approval, Artifact, Deed, hash_fault
from steadhold.web.codes import PROBLEMS
from tests.approvals.people import AGENT, ANNA, BERT, ONE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIFE, USABLE = timedelta(seconds=100), timedelta(seconds=50)


def pending(**kw):
    row = Approval(
        id="0198f000-0000-7000-8000-000000000000", revision=1, artifact=ONE, action="a", title="t", note=None,
        requester="agent", approvers="approvals:vote", quorum=1, allow_requester=False, created_at=NOW,
        expires_at=NOW + LIFE, usable_seconds=USABLE.total_seconds(), state="pending", ended_at=None, grant=None,
        usable_until=None, grant_ended_at=None, use_id=None, warned=False, now=NOW, floor=0,
    )  # fmt: skip
    return replace(row, **kw)


def approved(**kw):
    made = verdicts.voted(pending(), ANNA, "approve", ONE.hash, None)
    return replace(made, **kw)


def after(row, seconds):
    return verdicts.as_of_now(replace(row, now=NOW + timedelta(seconds=seconds)))


def test_every_refusal_has_its_problem():
    assert set(get_args(outcomes.Refused)) == set(answers._SAID)
    row = pending()
    cases = [
        outcomes.QuorumUnreachable(2, 1), outcomes.NotApprover("No."), outcomes.NotRequester(row.id),
        outcomes.ApprovalEnded(row.id, "expired"), outcomes.AlreadyVoted("approve"), outcomes.ArtifactMismatch(ONE),
        outcomes.AlreadyUsed(row.id), outcomes.NotUsable(row.id, "lapsed"),
    ]  # fmt: skip
    assert {answers.refused(case).code for case in cases} <= PROBLEMS.keys()


@pytest.mark.parametrize(
    ("seconds", "state"), [(0, "pending"), (99.999999, "pending"), (100, "expired"), (1e6, "expired")]
)
def test_it_is_open_until_its_instant(seconds, state):
    row = after(pending(), seconds)
    assert row.state == state
    assert row.revision == (1 if state == "pending" else 2)


@pytest.mark.parametrize(("seconds", "grant"), [(49.999999, "unused"), (50, "lapsed")])
def test_a_grant_is_usable_until_its_instant(seconds, grant):
    assert after(approved(), seconds).grant == grant


def test_a_quorum_reached_at_the_expiry_is_not_reached():
    row = pending(quorum=2, deeds=(Deed(2, "approve", "bert", None, (), None, NOW),), revision=2)
    at = verdicts.voted(after(row, 100), ANNA, "approve", ONE.hash, None)
    assert at == outcomes.ApprovalEnded(row.id, "expired")
    before = verdicts.voted(after(row, 99.999999), ANNA, "approve", ONE.hash, None)
    assert (before.state, before.usable_until) == ("approved", NOW + timedelta(seconds=99.999999) + USABLE)


@pytest.mark.parametrize(
    ("row", "seconds", "what"),
    [
        (pending(), 79, None),
        (pending(), 80, "expiring"),
        (pending(warned=True), 90, None),
        (pending(), 100, "expired"),
        (pending(warned=True), 100, "expired"),
        (approved(), 49, None),
        (approved(), 50, "lapsed"),
        (approved(grant="used"), 1_000, None),
        (pending(state="withdrawn", ended_at=NOW), 1_000, None),
    ],
)
def test_what_time_does(row, seconds, what):
    late = replace(row, now=NOW + timedelta(seconds=seconds))
    moved = verdicts.passed(late)
    assert (moved and moved[1]) == what
    due = row.due_at
    assert (due is not None and due <= late.now) == (what is not None), "the sweep looks when there is something to do"


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_only_the_very_same_artifact_is_the_same(reference, version, hash):
    other = Artifact(reference, version, hash)
    assert not other.same(ONE)
    assert other.same(other) == bool(hash)
    assert Artifact(ONE.reference, ONE.version, ONE.hash, 7).same(ONE)


@given(st.text())
def test_a_hash_is_one_exactly(text):
    assert hash_fault(text)
    assert hash_fault(f"sha256:{text}")
    assert not hash_fault(Artifact.of("r", "1", text.encode("utf-8", "surrogatepass")).hash)


def test_moves_are_those_of_the_tables():
    """Whatever the verbs do to a row, the table of moves has it."""
    made = {
        ("pending", verdicts.voted(pending(), ANNA, "approve", ONE.hash, None).state),
        ("pending", verdicts.voted(pending(), ANNA, "reject", ONE.hash, None).state),
        ("pending", verdicts.withdrawn(pending(), AGENT).state),
        ("pending", after(pending(), 100).state),
        ("unused", verdicts.used(approved(), ONE, "u").grant),
        ("unused", verdicts.revoked(approved(), BERT).grant),
        ("unused", after(approved(), 50).grant),
    }
    assert made == {(a, b) for a, ends in MOVES.items() for b in ends}
