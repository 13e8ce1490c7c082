"""approvals: ask people before acting on an exact artifact, decide, and use what was approved, once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from steadhold.kit import fields
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
from steadhold.sdk.grammar import Give, Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import WAIT_SECONDS, at, change, if_match, members, pages, read

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

CLOCK: Final[Callable[[], float]] = time.monotonic


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
        return read((yield change("POST", at("approvals"), body, fences=fences, operation_id=operation_id)), Approval)

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
        ends_at = None if timeout_seconds is None else CLOCK() + timeout_seconds
        found = yield from _look(approval_id, None, 0.0)
        while found is None or not found.ended:
            left = WAIT_SECONDS if ends_at is None else min(WAIT_SECONDS, ends_at - CLOCK())
            if left <= 0:
                raise TimeoutError(f"Approval {approval_id} has no outcome within {timeout_seconds} seconds.")
            found = (yield from _look(approval_id, found.revision if found else None, left)) or found
        return found

    @flow
    def watch(self, approval_id: str, *, since: int | None = None) -> Stream[Approval]:
        """An approval as it is now, then after each change that is seen, until it has its outcome.

        Changes that follow each other quickly may be passed over; the outcome never is. `since` is a revision that you
        have already: it is not given again.

        Raises:
            NotFound.
        """
        found = yield from _look(approval_id, None, 0.0)
        while True:
            if found is not None and found.revision != since:
                yield Give(found)
                since = found.revision
            if found is not None and found.ended:
                return
            found = yield from _look(approval_id, since, WAIT_SECONDS)

    @flow
    def list(self, *, state: State | None = None) -> Stream[Approval]:
        """Approvals in a state, or all, the newest first."""
        yield from pages(lambda cursor: at("approvals", state=state, cursor=cursor), Approval)

    @verb
    def vote(
        self,
        approval_id: str,
        decision: Decision,
        seen: Artifact | str,
        *,
        comment: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Approval]:
        """Decide about what you have seen: its artifact, or the hash of it. Saying the same again is harmless.

        Raises:
            NotApprover. ApprovalEnded: `outcome` says how. ArtifactMismatch, AlreadyVoted.
            RevisionConflict, StaleFence.
        """
        return (yield from _vote(approval_id, decision, seen, comment, _guards(if_revision, fences, operation_id)))

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
        """Approve what you have seen. Raises as `vote` does."""
        return (yield from _vote(approval_id, "approve", seen, comment, _guards(if_revision, fences, operation_id)))

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
        """Reject what you have seen. Raises as `vote` does."""
        return (yield from _vote(approval_id, "reject", seen, comment, _guards(if_revision, fences, operation_id)))

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
        return (yield from _say(approval_id, "withdraw", {}, _guards(if_revision, fences, operation_id)))

    @verb
    def verify(self, approval_id: str, artifact: Artifact, *, use_id: str | None = None) -> Script[Verdict]:
        """Tell whether exactly this artifact may be acted on now, also by the use that has the grant already.

        It holds nothing: only `use` makes sure that nobody else acts.

        Raises:
            NotFound.
        """
        body = msgspec.json.encode(members(**artifact.named(), use_id=use_id))
        asked = Send("POST", at("approvals", approval_id, "verify"), {"content-type": "application/json"}, body)
        return read((yield asked), Verdict)

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
        return (yield from _say(approval_id, "use", body, _guards(if_revision, fences, operation_id)))

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
        return (yield from _say(approval_id, "revoke", {}, _guards(if_revision, fences, operation_id)))


def _look(approval_id: str, since: int | None, wait_seconds: float) -> Script[Approval | None]:
    """An approval; None: it has not changed since a revision, though it was waited for."""
    target = at("approvals", approval_id, wait_seconds=wait_seconds or None)
    known = {} if since is None else {"if-none-match": fields.etag(since)}
    got = yield Send("GET", target, known, wait_seconds=wait_seconds)
    return None if got.status == 304 else read(got, Approval)


def _guards(if_revision: int | None, fences: Sequence[FenceRef], operation_id: str | None) -> dict[str, Any]:
    return {"headers": if_match(if_revision), "fences": fences, "operation_id": operation_id}


def _vote(
    approval_id: str, decision: Decision, seen: Artifact | str, comment: str | None, guards: Mapping[str, Any]
) -> Script[Approval]:
    hash = seen if isinstance(seen, str) else seen.hash
    return (yield from _say(approval_id, "votes", members(decision=decision, hash=hash, comment=comment), guards))


def _say(approval_id: str, what: str, body: Mapping[str, Any], guards: Mapping[str, Any]) -> Script[Approval]:
    return read((yield change("POST", at("approvals", approval_id, what), body, **guards)), Approval)
