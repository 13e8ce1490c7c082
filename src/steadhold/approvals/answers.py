"""approvals over HTTP: what each outcome is as an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from steadhold import context
from steadhold.approvals import outcomes
from steadhold.approvals.model import Approval, By, Deed
from steadhold.approvals.wire import ApprovalItem, ArtifactItem, GrantItem, VoteItem
from steadhold.context import answers as files
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.web import problem, reply
from steadhold.web.ask import Problem, Request

_SAID: dict[type[Any], Callable[[Any], Problem]] = {
    StaleFence: problem.refused,
    RevisionConflict: problem.refused,
    Missing: problem.refused,
    outcomes.QuorumUnreachable: lambda r: Problem(
        "quorum_unreachable",
        f"{r.quorum} have to approve, and of those named only {r.able} can: who asks counts with allow_requester only.",
        {"quorum": r.quorum, "able": r.able},
    ),
    context.Unresolved: files.refused,
    outcomes.HashMismatch: lambda r: Problem(
        "hash_mismatch",
        "The bytes of the artifact have another hash or length than you say: hash what is to be decided about.",
        {"hash": r.hash, "length": r.length} if r.hash else {"length": r.length},
    ),
    outcomes.NotApprover: lambda r: Problem("not_approver", r.why),
    outcomes.NotRequester: lambda _: Problem("not_requester", "Only who asked may withdraw the question."),
    outcomes.ApprovalEnded: lambda r: Problem(
        "approval_ended", f"The approval has its outcome, which stays: {r.outcome}.", {"outcome": r.outcome}
    ),
    outcomes.AlreadyVoted: lambda r: Problem(
        "already_voted", f"This subject has voted to {r.decision}, and a vote stays.", {"decision": r.decision}
    ),
    outcomes.ArtifactMismatch: lambda r: Problem(
        "artifact_mismatch",
        "What you named is not exactly what is decided about, or the hash is missing: compare with `artifact`.",
        {"artifact": {"reference": r.artifact.reference, "version": r.artifact.version, "hash": r.artifact.hash}},
    ),
    outcomes.AlreadyUsed: lambda _: Problem(
        "already_used", "The approval was used, and it is used once: ask again for another act."
    ),
    outcomes.NotUsable: lambda r: Problem(
        "not_usable", f"The approval cannot be used: it is {r.reason}.", {"reason": r.reason}
    ),
}


def refused(outcome: Refusal) -> Problem:
    """The problem that a refusal is. `tests/approvals/test_model.py` holds the table complete."""
    return _SAID[type(outcome)](outcome)


def by(ask: Request) -> By:
    """Who asks, as the verbs know it."""
    return By(ask.who.subject, ask.who.kind, ask.who.scopes, ask.who.key_id, ask.operation)


def approval(row: Approval) -> ApprovalItem:
    """An approval as it is shown."""
    artifact = row.artifact
    return ApprovalItem(
        approval_id=row.id,
        revision=row.revision,
        state=row.state,
        artifact=ArtifactItem(
            reference=artifact.reference, version=artifact.version, hash=artifact.hash, length=artifact.length
        ),
        action=row.action,
        title=row.title,
        note=row.note,
        requester=row.requester,
        approvers=row.approvers,
        quorum=row.quorum,
        allow_requester=row.allow_requester,
        created_at=reply.instant(row.created_at),
        expires_at=reply.instant(row.expires_at),
        usable_seconds=row.usable_seconds,
        ended_at=reply.maybe_instant(row.ended_at),
        votes=[_vote(vote) for vote in row.votes],
        grant=_grant(row) or UNSET,
    )


def _vote(vote: Deed) -> VoteItem:
    return VoteItem(
        subject=vote.subject,
        decision="reject" if vote.act == "reject" else "approve",
        at=reply.instant(vote.at),
        scopes=vote.scopes,
        key_id=vote.key_id,
        comment=vote.comment,
    )


def _grant(row: Approval) -> GrantItem | None:
    if row.grant is None or row.usable_until is None:
        return None
    ended = next((deed for deed in row.deeds if deed.act in ("use", "revoke")), None)
    return GrantItem(
        state=row.grant,
        usable_until=reply.instant(row.usable_until),
        ended_at=reply.maybe_instant(row.grant_ended_at),
        use_id=row.use_id,
        by=None if ended is None else ended.subject,
    )
