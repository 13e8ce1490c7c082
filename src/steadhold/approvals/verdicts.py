"""What time, people and programs do to an approval: pure decisions over what its locked row says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from steadhold import access
from steadhold.approvals.model import WHOEVER_ASKS, WHOEVER_VOTES, Approval, Artifact, Asked, By, Decision, hash_fault
from steadhold.approvals.outcomes import (
    AlreadyUsed,
    AlreadyVoted,
    ApprovalEnded,
    ArtifactMismatch,
    Moved,
    NotApprover,
    NotRequester,
    NotUsable,
    QuorumUnreachable,
    UseRefusal,
    Verdict,
    VoteRefusal,
)
from steadhold.kit.limits import DELAY_SECONDS_MAX


def as_of_now(row: Approval) -> Approval:
    """How it stands: what the clock has decided counts, whether or not a sweep has written it down.

    Nothing else can happen to it any more, so its revision is the one that the sweep will write.
    """
    if row.state == "pending" and row.now >= row.expires_at:
        return replace(row, revision=row.raised(1), state="expired", ended_at=row.expires_at)
    if row.grant == "unused" and row.usable_until is not None and row.now >= row.usable_until:
        return replace(row, revision=row.raised(1), grant="lapsed", grant_ended_at=row.usable_until)
    return row


def passed(row: Approval) -> tuple[Approval, str] | None:
    """What time has done to a row, and the event that tells it; None where it has done nothing yet."""
    now = as_of_now(row)
    if now.state != row.state:
        return now, now.state
    if now.grant != row.grant:
        return now, "lapsed"
    if row.state == "pending" and not row.warned and row.now >= row.warn_at:
        return replace(row, revision=row.raised(1), warned=True), "expiring"
    return None


def fault(asked: Asked) -> str | None:
    """Why nobody could decide about a question that is asked so, as a sentence; None when people can."""
    if isinstance(asked.approvers, str) and (why := access.scope_fault(asked.approvers, "person")):
        return why
    if not all(0 < seconds <= DELAY_SECONDS_MAX for seconds in (asked.expires_in_seconds, asked.usable_seconds)):
        return f"The seconds to decide, and those to use it, are above 0 and at most {DELAY_SECONDS_MAX}."
    if asked.quorum < 1:
        return "At least one has to approve."
    return hash_fault(asked.artifact.hash)


def unreachable(asked: Asked, by: By) -> QuorumUnreachable | None:
    """A quorum that those who are named could never make up."""
    if isinstance(asked.approvers, str):
        return None
    able = {name for name in asked.approvers if asked.allow_requester or name != by.subject}
    return QuorumUnreachable(asked.quorum, len(able)) if len(able) < asked.quorum else None


def not_approver(row: Approval, by: By) -> NotApprover | None:
    """Why this one does not decide; None for an approver."""
    if by.kind != "person":
        return NotApprover("Only people decide: this key is not of kind person.")
    if not access.allows(by.kind, by.scopes, WHOEVER_VOTES):
        return NotApprover(f"This key lacks the scope {WHOEVER_VOTES}.")
    if by.subject == row.requester and not row.allow_requester:
        return NotApprover("Who asks does not decide, unless allow_requester was said.")
    if isinstance(row.approvers, str):
        room, verb, *prefix = row.approvers.split(":", 2)
        if not access.allows(by.kind, by.scopes, f"{room}:{verb}", prefix[0] if prefix else None):
            return NotApprover(f"This key lacks the scope {row.approvers}, which the approvers have.")
        return None
    return None if by.subject in row.approvers else NotApprover("This subject is not among the approvers.")


def voted(row: Approval, by: By, decision: Decision, hash: str, comment: str | None) -> Approval | Moved | VoteRefusal:
    """What a vote does: the row it makes, `Moved` where it was cast before, or why not.

    In this order: who may, the same vote again, the outcome, the artifact, a vote before this one.
    """
    if refused := not_approver(row, by):
        return refused
    mine = next((vote for vote in row.votes if vote.subject == by.subject), None)
    seen = bool(hash) and hash == row.artifact.hash
    if mine and seen and (mine.act, mine.comment) == (decision, comment):
        return Moved(row, repeated=True)
    if row.state != "pending":
        return ApprovalEnded(row.id, row.state)
    if not seen:
        return ArtifactMismatch(row.artifact)
    if mine:
        return AlreadyVoted(mine.act)
    if decision == "reject":
        return replace(row, revision=row.raised(2), state="rejected", ended_at=row.now)
    if len(row.votes) + 1 < row.quorum:  # they all approve: the first rejection ends it
        return replace(row, revision=row.raised(1))
    until = row.now + timedelta(seconds=row.usable_seconds)
    return replace(row, revision=row.raised(2), state="approved", ended_at=row.now, grant="unused", usable_until=until)


def withdrawn(row: Approval, by: By) -> Approval | Moved | NotRequester | ApprovalEnded:
    """What withdrawing does: the row it makes, `Moved` where that was done before, or why not."""
    if by.subject != row.requester:
        return NotRequester(row.id)
    if row.state == "withdrawn":
        return Moved(row, repeated=True)
    if row.state != "pending":
        return ApprovalEnded(row.id, row.state)
    return replace(row, revision=row.raised(1), state="withdrawn", ended_at=row.now)


def verdict(row: Approval, artifact: Artifact, use_id: str | None) -> Verdict:
    """Whether this very artifact may be acted on. The artifact is looked at first, then the outcome, then the grant."""
    if not artifact.same(row.artifact):
        return Verdict(False, "artifact_mismatch")
    match row.grant:
        case None:
            assert row.state != "approved", "what is approved has a grant"
            return Verdict(False, row.state)
        case "unused":
            return Verdict(True, "unused")
        case "used" if use_id and use_id == row.use_id:
            return Verdict(True, "same_use")
        case other:
            return Verdict(False, other)


def denied(row: Approval, said: Verdict) -> ArtifactMismatch | AlreadyUsed | NotUsable:
    """A verdict that says no, as a refusal."""
    if said.reason == "artifact_mismatch":
        return ArtifactMismatch(row.artifact)
    return AlreadyUsed(row.id) if said.reason == "used" else NotUsable(row.id, said.reason)


def used(row: Approval, artifact: Artifact, use_id: str) -> Approval | Moved | UseRefusal:
    """What a use does: the row it makes, `Moved` where it was this use before, or why not."""
    said = verdict(row, artifact, use_id)
    if not said.approved:
        return denied(row, said)
    if said.reason == "same_use":
        return Moved(row, repeated=True)
    return replace(row, revision=row.raised(1), grant="used", grant_ended_at=row.now, use_id=use_id)


def revoked(row: Approval, by: By) -> Approval | Moved | NotApprover | AlreadyUsed | NotUsable:
    """What revoking does: the row it makes, `Moved` where that was done before, or why not."""
    asks = by.subject == row.requester and access.allows(by.kind, by.scopes, WHOEVER_ASKS)
    if not asks and (refused := not_approver(row, by)):
        return refused
    match row.grant:
        case "unused":
            return replace(row, revision=row.raised(1), grant="revoked", grant_ended_at=row.now)
        case "revoked":
            return Moved(row, repeated=True)
        case "used":
            return AlreadyUsed(row.id)
        case _:
            return NotUsable(row.id, row.grant or row.state)
