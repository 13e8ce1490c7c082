"""approvals: ask people before acting on an exact artifact, decide, and use what was approved, once."""

from __future__ import annotations

from collections.abc import Sequence

from steadhold.kit.fields import FenceRef
from steadhold.sdk.approvals_shapes import (
    AlreadyUsed,
    AlreadyVoted,
    Approval,
    ApprovalEnded,
    Artifact,
    ArtifactMismatch,
    Decision,
    NotApprover,
    NotUsable,
    State,
    Verdict,
)
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.watching import each_change, until_ended
from steadhold.sdk.words import as_json, at, guarded, members, pages, read, relying

__all__ = [
    "AlreadyUsed",
    "AlreadyVoted",
    "Approval",
    "ApprovalEnded",
    "ApprovalsRoom",
    "Artifact",
    "ArtifactMismatch",
    "NotApprover",
    "NotUsable",
    "Verdict",
]


class ApprovalsRoom(Room[Mode]):
    """`client.approvals`."""

    @verb
    def request(
        self,
        artifact: Artifact,
        *,
        action: str,
        title: str,
        expires_in_seconds: float,
        note: str | None = None,
        approvers: Sequence[str] | str | None = None,
        quorum: int | None = None,
        usable_seconds: float | None = None,
        allow_requester: bool | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Ask whether `action` may be done with an artifact. `approvers` are subjects, or a scope; else whoever votes.

        Raises:
            Problem "quorum_unreachable": fewer can approve than have to. StaleFence, OutcomeUnknown.
        """
        named = approvers if approvers is None or isinstance(approvers, str) else list(approvers)
        body = members(
            artifact=artifact, action=action, title=title, expires_in_seconds=expires_in_seconds, note=note,
            approvers=named, quorum=quorum, usable_seconds=usable_seconds, allow_requester=allow_requester,
        )  # fmt: skip
        return (yield from guarded(at("approvals"), body, Approval, fences, operation_id))

    @verb
    def get(self, approval_id: str) -> Script[Approval]:
        """Read an approval as it stands.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("approvals", approval_id))), Approval)

    @verb
    def wait(self, approval_id: str, *, timeout_seconds: float | None = None) -> Script[Approval]:
        """Wait until an approval has its outcome, which it has when it expires at the latest.

        Raises:
            TimeoutError: it has none within `timeout_seconds`. NotFound.
        """
        otherwise = f"Approval {approval_id} has no outcome"
        return (yield from until_ended("approvals", approval_id, Approval, timeout_seconds, otherwise))

    @flow
    def watch(self, approval_id: str, *, since: int | None = None) -> Stream[Approval]:
        """An approval as it is now, then after each change that is seen, until it has its outcome.

        Changes that follow each other quickly may be passed over; the outcome never is. `since` is a revision that you
        have already: it is not given again.

        Raises:
            NotFound.
        """
        yield from each_change("approvals", approval_id, Approval, since)

    @flow
    def list(self, *, state: State | None = None) -> Stream[Approval]:
        """Approvals in a state, or all, the newest first."""
        yield from pages(lambda cursor: at("approvals", state=state, cursor=cursor), Approval)

    @verb
    def approve(
        self,
        approval_id: str,
        seen: Artifact | str,
        *,
        comment: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Approve what you have seen: its artifact, or the hash of it. Saying it again is harmless.

        Raises:
            NotApprover. ApprovalEnded: `outcome` says how. ArtifactMismatch, AlreadyVoted.
            RevisionConflict, StaleFence.
        """
        return (yield from _vote(approval_id, "approve", seen, comment, if_revision, fences, operation_id))

    @verb
    def reject(
        self,
        approval_id: str,
        seen: Artifact | str,
        *,
        comment: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Reject what you have seen. Raises as `approve` does."""
        return (yield from _vote(approval_id, "reject", seen, comment, if_revision, fences, operation_id))

    @verb
    def withdraw(
        self,
        approval_id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Take back a question of yours that has no outcome. Saying it again is harmless.

        Raises:
            NotApprover: another asked. ApprovalEnded. RevisionConflict, StaleFence.
        """
        target = at("approvals", approval_id, "withdraw")
        return (yield from guarded(target, {}, Approval, fences, operation_id, if_revision))

    @verb
    def verify(
        self, approval_id: str, artifact: Artifact, *, use_id: str | None = None, fences: Sequence[FenceRef] = ()
    ) -> Script[Verdict]:
        """Tell whether exactly this artifact may be acted on now, also by the use that has the grant already.

        It holds nothing: only `use` makes sure that nobody else acts.

        Raises:
            NotFound.
        """
        body = as_json(members(**artifact.named(), use_id=use_id))
        headers = {"content-type": "application/json", **relying(fences)}
        return read((yield Send("POST", at("approvals", approval_id, "verify"), headers, body)), Verdict)

    @verb
    def use(
        self,
        approval_id: str,
        artifact: Artifact,
        *,
        use_id: str,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Take the grant for the one act that `use_id` names. The same use again is told the same.

        Act once this has answered, and under `use_id` where the action itself takes an id.

        Raises:
            ArtifactMismatch. AlreadyUsed: by another use. NotUsable: `reason` says why. RevisionConflict, StaleFence.
        """
        body = {**artifact.named(), "use_id": use_id}
        target = at("approvals", approval_id, "use")
        return (yield from guarded(target, body, Approval, fences, operation_id, if_revision))

    @verb
    def revoke(
        self,
        approval_id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """End a grant that nobody has used; the decision stays. Saying it again is harmless.

        Raises:
            NotApprover, AlreadyUsed, NotUsable. RevisionConflict, StaleFence.
        """
        target = at("approvals", approval_id, "revoke")
        return (yield from guarded(target, {}, Approval, fences, operation_id, if_revision))


def _vote(
    approval_id: str,
    decision: Decision,
    seen: Artifact | str,
    comment: str | None,
    if_revision: int | None,
    fences: Sequence[FenceRef],
    operation_id: str | None,
) -> Script[Approval]:
    hash = seen if isinstance(seen, str) else seen.hash
    body = members(decision=decision, hash=hash, comment=comment)
    target = at("approvals", approval_id, "votes")
    return (yield from guarded(target, body, Approval, fences, operation_id, if_revision))
