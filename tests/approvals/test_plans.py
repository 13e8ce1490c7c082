"""approvals against PostgreSQL: one outcome, one use, exactly that artifact."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from steadhold.approvals import (
    AlreadyVoted,
    ApprovalEnded,
    Artifact,
    ArtifactMismatch,
    Moved,
    NotApprover,
    NotRequester,
    QuorumUnreachable,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.approvals.people import AGENT, ANNA, BERT, CARL, HOUR, NOBODY, ONE, TWO, asked, person


def test_a_question_is_kept_as_it_was_asked(desk):
    question = asked(note="n", approvers=("anna", "bert", "anna"), quorum=2, usable_seconds=60.0, allow_requester=True)
    found = desk.request(question, by=AGENT).approval
    assert found == replace(desk.get(question.id), now=found.now)
    assert (found.state, found.grant, found.revision) == ("pending", None, 1)
    assert (found.artifact, found.approvers, found.quorum) == (ONE, ("anna", "bert"), 2)
    assert (found.requester, found.note, found.usable_seconds, found.allow_requester) == ("agent", "n", 60.0, True)
    assert (found.expires_at - found.created_at).total_seconds() == HOUR
    assert desk.told(found.id) == ["requested"]


def test_the_same_question_again_is_the_same_approval(desk):
    question = asked()
    desk.request(question, by=AGENT)
    assert desk.request(question, by=AGENT).repeated
    assert desk.told(question.id) == ["requested"]


@pytest.mark.parametrize(
    "other",
    [{"title": "Another?"}, {"artifact": TWO}, {"approvers": ("anna",)}, {"quorum": 2}, {"allow_requester": True},
     {"usable_seconds": 1.0}, {"expires_in_seconds": HOUR + 1}],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_an_id_is_one_question(desk, other):
    question = asked()
    desk.request(question, by=AGENT)
    with pytest.raises(ValueError, match="fresh id"):
        desk.request(replace(question, **other), by=AGENT)
    with pytest.raises(ValueError, match="fresh id"):
        desk.request(question, by=BERT)


@pytest.mark.parametrize("hash", ["", "sha256:", "sha256:" + "0" * 63, "sha1:" + "0" * 40, "SHA256:" + "0" * 64])
def test_an_artifact_without_a_hash_is_not_asked_about(desk, hash):
    with pytest.raises(ValueError, match="64"):
        desk.request(asked(Artifact("plan", "1", hash)), by=AGENT)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("expires_in_seconds", "usable_seconds") for value in (0, -1.0, math.nan, math.inf, 1e9)]
    + [("approvers", "nobody"), ("approvers", ""), ("approvers", "entitlements:write"), ("quorum", 0)],
)
def test_what_nobody_could_decide_is_not_asked(desk, name, value):
    """Every vote for it would fail: on a scope that is none, or on an end that no calendar has."""
    with pytest.raises(ValueError, match=r"\.$"):
        desk.ask(**{name: value})
    assert desk.approvals(None, None, 9) == []


def test_the_database_keeps_no_other_hash_either(desk):
    """A row that no verb would write is refused by its table."""
    id = desk.ask()
    found = desk.conn.execute(
        "select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'steadhold.approvals'::regclass"
    ).fetchall()
    assert any("sha256:[0-9a-f]{64}" in text for (text,) in found)
    assert desk.get(id).artifact == ONE


@pytest.mark.parametrize(
    ("approvers", "quorum", "allow", "able"),
    [(("anna",), 2, False, 1), (("anna", "anna"), 2, False, 1), (("anna", "agent"), 2, False, 1), ((), 1, True, 0)],
)
def test_a_quorum_that_nobody_could_make_up(desk, approvers, quorum, allow, able):
    question = asked(approvers=approvers, quorum=quorum, allow_requester=allow)
    assert desk.request(question, by=AGENT) == QuorumUnreachable(quorum, able)
    assert desk.get(question.id) == Missing()


def test_one_approval_ends_it_and_makes_the_grant(desk):
    id = desk.ask(usable_seconds=60.0)
    made = desk.approve(id, comment="looks right")
    assert isinstance(made, Moved)
    found = made.approval
    assert (found.state, found.grant, found.revision, made.repeated) == ("approved", "unused", 3, False)
    assert (found.usable_until - found.ended_at).total_seconds() == 60
    (vote,) = found.votes
    assert (vote.act, vote.subject, vote.key_id, vote.scopes) == ("approve", "anna", "key-of-anna", ("approvals:*",))
    assert (vote.comment, vote.revision) == ("looks right", 2)
    assert desk.told(id) == ["requested", "voted", "approved"]
    assert desk.history(id)[2][1]["by"] == "anna"
    assert found == replace(desk.get(id), now=found.now)


def test_one_rejection_ends_it(desk):
    id = desk.ask(quorum=3)
    desk.approve(id, BERT)
    found = desk.reject(id).approval
    assert (found.state, found.grant) == ("rejected", None)
    assert desk.approve(id, CARL) == ApprovalEnded(id, "rejected")
    assert desk.told(id) == ["requested", "voted", "voted", "rejected"]


def test_a_quorum_counts_subjects(desk):
    """Neither a repeated vote nor another key of the same subject counts twice."""
    id = desk.ask(quorum=2)
    assert desk.approve(id).approval.state == "pending"
    assert desk.approve(id).repeated
    assert desk.approve(id, replace(ANNA, key_id="another")).repeated
    assert desk.state(id) == ("pending", None)
    assert desk.approve(id, BERT).approval.state == "approved"
    assert desk.told(id) == ["requested", "voted", "voted", "approved"]


def test_a_voter_does_not_change_their_mind(desk):
    id = desk.ask(quorum=2)
    desk.approve(id)
    assert desk.reject(id) == AlreadyVoted("approve")
    assert desk.approve(id, comment="on second thought") == AlreadyVoted("approve")
    desk.approve(id, BERT)
    assert desk.approve(id).repeated, "the same vote is the same vote, also after the outcome"
    assert desk.reject(id) == ApprovalEnded(id, "approved"), "another one is told the outcome"


def test_a_vote_is_about_what_was_seen(desk):
    id = desk.ask()
    for hash in (TWO.hash, "", ONE.hash.upper(), ONE.hash[:-1], f"{ONE.hash} "):
        assert desk.approve(id, hash=hash) == ArtifactMismatch(ONE)
    assert desk.state(id) == ("pending", None)


def test_who_decides(desk):
    id = desk.ask(approvers=("anna", "agent"))
    assert isinstance(desk.approve(id, BERT), NotApprover), "not among them"
    assert isinstance(desk.approve(id, replace(ANNA, kind="service")), NotApprover), "a program"
    assert isinstance(desk.approve(id, replace(ANNA, kind="operator")), NotApprover), "an operator"
    assert isinstance(desk.approve(id, person("anna", "approvals:read")), NotApprover), "may not vote"
    assert isinstance(desk.approve(id, person("agent")), NotApprover), "who asked"
    assert desk.approve(id).approval.state == "approved"
    assert isinstance(desk.approve(id, BERT), NotApprover), "who may comes before the outcome"


def test_the_requester_decides_only_where_the_question_says_so(desk):
    assert isinstance(desk.approve(desk.ask(by=ANNA)), NotApprover)
    assert desk.approve(desk.ask(by=ANNA, allow_requester=True)).approval.state == "approved"


def test_approvers_by_a_scope(desk):
    id = desk.ask(approvers="state:write:team/a")
    assert isinstance(desk.approve(id), NotApprover)
    assert isinstance(desk.approve(id, person("anna", "approvals:vote", "state:write:team/b")), NotApprover)
    assert desk.approve(id, person("anna", "approvals:vote", "state:write:team")).approval.state == "approved"


def test_withdrawing(desk):
    id = desk.ask()
    assert desk.withdraw(id, by=ANNA) == NotRequester(id)
    found = desk.withdraw(id, by=AGENT).approval
    assert (found.state, found.revision) == ("withdrawn", 2)
    assert desk.withdraw(id, by=AGENT).repeated
    assert desk.approve(id) == ApprovalEnded(id, "withdrawn")
    assert desk.told(id) == ["requested", "withdrawn"]
    approved = desk.approved()
    assert desk.withdraw(approved, by=AGENT) == ApprovalEnded(approved, "approved")


def test_time_decides_and_the_sweep_writes_it_down(desk, clock):
    """Past its time nothing moves it; its state, revision and end are those that the sweep then writes."""
    id = desk.ask()
    clock.move(HOUR)
    seen = desk.get(id)
    assert (seen.state, seen.revision, seen.ended_at) == ("expired", 2, seen.expires_at)
    assert desk.approve(id) == ApprovalEnded(id, "expired")
    assert desk.withdraw(id, by=AGENT) == ApprovalEnded(id, "expired")
    assert desk.approve(id, revision=1) == RevisionConflict(2)
    assert desk.told(id) == ["requested"]
    assert desk.pass_time(10) == 1
    assert replace(desk.get(id), now=seen.now) == replace(seen, warned=False)
    assert desk.told(id) == ["requested", "expired"]
    assert desk.pass_time(10) == 0


def test_expiry_is_announced_once(desk, clock):
    id = desk.ask()
    clock.move(0.8 * HOUR - 1)
    assert desk.pass_time(10) == 0
    clock.move(2)
    assert [desk.pass_time(10), desk.pass_time(10)] == [1, 0]
    assert (desk.state(id), desk.get(id).revision) == (("pending", None), 2)
    desk.approve(id)
    assert desk.told(id) == ["requested", "expiring", "voted", "approved"]


def test_every_verb_takes_a_revision_and_fences(desk):
    """A condition that is false, or a grant that has ended, is told before any rule; and nothing is changed."""
    id = desk.approved()
    stale = [FenceRef("lock:none", 1)]
    verbs = (
        lambda **kw: desk.vote(id, "approve", "", by=AGENT, **kw),
        lambda **kw: desk.withdraw(id, by=BERT, **kw),
        lambda **kw: desk.use(id, TWO, "u", by=AGENT, **kw),
        lambda **kw: desk.revoke(id, by=CARL, **kw),
    )
    for verb in verbs:
        assert verb(revision=2) == RevisionConflict(3)
        assert verb(revision=2, fences_held=stale) == StaleFence("lock:none")
    assert desk.request(asked(), by=AGENT, fences_held=stale) == StaleFence("lock:none")
    assert desk.use(id, ONE, "u", by=AGENT, revision=3).approval.revision == 4
    for verb in ("withdraw", "revoke"):
        assert getattr(desk, verb)(NOBODY, by=AGENT) == Missing()
    assert desk.approve(NOBODY) == desk.act(NOBODY) == desk.get(NOBODY) == Missing()


def test_lists_show_what_is_so(desk, clock):
    """Newest first, by outcome; what is past its time is listed as expired before a sweep says so."""
    short, long = desk.ask(expires_in_seconds=60.0), desk.ask()
    done = desk.approved()
    clock.move(61)

    def listed(state=None, before=None, limit=10):
        return [found.id for found in desk.approvals(state, before, limit)]

    assert listed() == [done, long, short]
    assert (listed("pending"), listed("expired"), listed("approved")) == ([long], [short], [done])
    assert listed("rejected") == []
    assert listed(limit=1) == [done]
    assert listed(before=done) == [long, short]
    desk.pass_time(10)
    assert (listed("pending"), listed("expired")) == ([long], [short])


def test_numbers_of_a_new_incarnation(desk):
    """What may have been lost is never issued again: revisions go on from where the new incarnation begins."""
    id = desk.ask(quorum=2)
    desk.conn.execute("reset role")
    desk.conn.execute("select steadhold.begin_incarnation(0)")
    desk.conn.execute("set role steadhold_app")
    assert desk.approve(id).approval.revision == (1 << 32) + 1
    fresh = desk.request(asked(id=new_id()), by=AGENT).approval
    assert fresh.revision == (1 << 32) + 1


def test_a_question_that_expires_while_it_is_asked(desk):
    """Its history still begins with the question."""
    id = desk.ask(expires_in_seconds=0.000001)
    assert desk.get(id).state == "expired"
    assert desk.pass_time(10) == 1
    assert desk.told(id) == ["requested", "expired"]
