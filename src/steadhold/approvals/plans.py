"""approvals: the verbs. Each decides under the row's lock, and tells what it did in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from steadhold import access, context, events, fences
from steadhold.approvals import artifacts, moving, telling, verdicts
from steadhold.approvals.model import STATES, Approval, Artifact, Asked, By, Decision, State
from steadhold.approvals.moving import SQL
from steadhold.approvals.outcomes import (
    Moved,
    RequestOutcome,
    RequireOutcome,
    RevokeOutcome,
    UseOutcome,
    Verdict,
    VoteOutcome,
    WithdrawOutcome,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows, single_operation
from steadhold.kit.rules import Comment, Id, Uuid

LAST: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@operation
def request(workspace: str, asked: Asked, *, by: By, fences_held: Sequence[FenceRef] = ()) -> Plan[RequestOutcome]:
    """Ask whether something may be done with an artifact. What is asked never changes.

    Make `asked` once for each question: its `id` is the approval's, so the same question again answers the same
    approval. An artifact that lies in context stays readable as long as the approval is there, which is for ever.
    Outcomes: `Moved` with the approval, `QuorumUnreachable`, `Unresolved`, `HashMismatch`, `StaleFence`.

    Raises:
        ValueError: nobody could decide about it (see `verdicts.fault`), or the id is another approval's.
    """
    if fault := verdicts.fault(asked):
        raise ValueError(fault)
    stale = yield from fences.require(workspace, fences_held)
    if stale is not None:
        return stale
    if refused := verdicts.unreachable(asked, by):
        return refused
    lies = asked.artifact.reference
    finds = yield from context.find(workspace, [lies])
    if isinstance(found := finds.get(lies), context.Unresolved):
        return found
    if found is not None and (other := (yield from artifacts.hash_fault(workspace, asked.artifact, found))):
        return other
    made = (yield from each(SQL.request, [moving.question(workspace, asked, by)]))[0]
    row = yield from one(SQL.look, Approval.read, workspace=workspace, id=asked.id)
    if not made:
        return moving.asked_before((yield from moving.with_deeds(workspace, [row]))[0], asked, by)
    told = {"title": row.title, "requester": row.requester, "quorum": row.quorum, "expires_at": row.expires_at}
    done = yield from moving.write_down(workspace, row.id, row.revision, "request", by, None)
    yield from context.pin_found(workspace, finds, [(telling.subject(row.id), lies)])
    yield from events.record(workspace, [telling.event(row, row.revision, "requested", told)])
    yield from events.move(workspace, [telling.head(row)])
    yield from access.audit(workspace, by.actor, "approval.requested", telling.subject(row.id))
    return Moved(verdicts.as_of_now(replace(row, deeds=(done,))))


@operation
def vote(
    workspace: str,
    id: Uuid,
    decision: Decision,
    hash: str,
    *,
    by: By,
    comment: Comment | None = None,
    revision: int | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[VoteOutcome]:
    """Approve or reject what has this hash, which the voter has seen. The same vote again changes nothing.

    Outcomes: `Moved(approval, repeated)`, `NotApprover`, `ApprovalEnded(outcome)`, `ArtifactMismatch`, `AlreadyVoted`,
    `RevisionConflict`, `Missing`, `StaleFence`.
    """

    def decide(row: Approval) -> Approval | Moved | VoteOutcome:
        return verdicts.voted(row, by, decision, hash, comment)

    held = yield from moving.act(workspace, id, revision, fences_held, decide)
    if not isinstance(held, tuple):
        return held
    row, now = held
    revision_of_vote = row.raised(1)
    told = {"by": by.subject, "decision": decision, "votes": len(row.votes) + 1, "quorum": row.quorum}
    entries = [telling.event(now, revision_of_vote, "voted", told)]
    if now.state != row.state:
        entries.append(telling.event(now, now.revision, now.state, telling.outcome(now, by)))
    return (yield from moving.done(workspace, row, now, decision, by, entries, comment))


@operation
def withdraw(
    workspace: str, id: Uuid, *, by: By, revision: int | None = None, fences_held: Sequence[FenceRef] = ()
) -> Plan[WithdrawOutcome]:
    """Take a question back that has no outcome yet; only who asked may.

    Outcomes: `Moved(approval, repeated)`, `NotRequester`, `ApprovalEnded(outcome)`, `RevisionConflict`, `Missing`,
    `StaleFence`.
    """
    held = yield from moving.act(workspace, id, revision, fences_held, lambda row: verdicts.withdrawn(row, by))
    if not isinstance(held, tuple):
        return held
    row, now = held
    entries = [telling.event(now, now.revision, now.state, telling.outcome(now, by))]
    return (yield from moving.done(workspace, row, now, "withdraw", by, entries))


@operation
def use(
    workspace: str,
    id: Uuid,
    artifact: Artifact,
    use_id: Id,
    *,
    by: By,
    revision: int | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[UseOutcome]:
    """Take the grant for one act, which `use_id` names, on exactly this artifact. The same use again is the same use.

    Outcomes: `Moved(approval, repeated)`, `ArtifactMismatch`, `AlreadyUsed`, `NotUsable(reason)`, `RevisionConflict`,
    `Missing`, `StaleFence`.
    """
    held = yield from moving.act(workspace, id, revision, fences_held, lambda row: verdicts.used(row, artifact, use_id))
    if not isinstance(held, tuple):
        return held
    row, now = held
    entries = [telling.event(now, now.revision, "used", {"by": by.subject, "use_id": use_id})]
    return (yield from moving.done(workspace, row, now, "use", by, entries))


@operation
def revoke(
    workspace: str, id: Uuid, *, by: By, revision: int | None = None, fences_held: Sequence[FenceRef] = ()
) -> Plan[RevokeOutcome]:
    """End a grant that nobody has used. The outcome stays: it was approved. Who asked may, and who may decide.

    Outcomes: `Moved(approval, repeated)`, `NotApprover`, `AlreadyUsed`, `NotUsable(reason)`, `RevisionConflict`,
    `Missing`, `StaleFence`.
    """
    held = yield from moving.act(workspace, id, revision, fences_held, lambda row: verdicts.revoked(row, by))
    if not isinstance(held, tuple):
        return held
    row, now = held
    entries = [telling.event(now, now.revision, "revoked", {"by": by.subject})]
    return (yield from moving.done(workspace, row, now, "revoke", by, entries))


@operation
def verify(workspace: str, id: Uuid, artifact: Artifact, use_id: Id | None = None) -> Plan[Verdict | Missing]:
    """Tell whether exactly this artifact may be acted on now: while the grant is unused, or by the use that has it.

    It holds nothing: `use` is what makes sure that nobody else acts.
    """
    row = yield from maybe(SQL.look, Approval.read, workspace=workspace, id=id)
    return Missing() if row is None else verdicts.verdict(verdicts.as_of_now(row), artifact, use_id)


@operation
def require(
    workspace: str, id: Uuid, artifact: Artifact, use_id: Id | None = None, *, revision: int | None = None
) -> Plan[RequireOutcome]:
    """As `verify`, but held until the commit, and a no is a refusal: for whoever writes on the strength of it."""
    row = yield from moving.hold(workspace, id)
    if row is None:
        return Missing()
    if revision is not None and revision != row.revision:
        return RevisionConflict(row.revision)
    said = verdicts.verdict(row, artifact, use_id)
    return said if said.approved else verdicts.denied(row, said)


@operation
def get(workspace: str, id: Uuid) -> Plan[Approval | Missing]:
    """Read an approval as it stands, with what was done to it."""
    row = yield from maybe(SQL.look, Approval.read, workspace=workspace, id=id)
    return Missing() if row is None else (yield from moving.with_deeds(workspace, [row]))[0]


@operation
def approvals(workspace: str, state: State | None, before: str | None, limit: int) -> Plan[list[Approval]]:
    """List approvals in a state, or all, the newest first, before an id."""
    stored = ("pending", "expired") if state == "expired" else STATES if state is None else (state,)
    item: dict[str, Any] = {"wanted": state, "stored": list(stored), "before": before or LAST, "limit": limit}
    found = yield from rows(SQL.listing, workspace=workspace, **item)
    return (yield from moving.with_deeds(workspace, [Approval.read(*row) for row in found]))


@single_operation
def pass_time(workspace: str, limit: int) -> Plan[int]:
    """Write down what time has done: who was not told in time, what expired, which grants lapsed. Answers how many.

    It decides nothing that the verbs have not decided before: past its time, they refuse.
    """
    found = [Approval.read(*row) for row in (yield from rows(SQL.passing, workspace=workspace, limit=limit))]
    moves = [(row, *move) for row in found if (move := verdicts.passed(row)) is not None]
    yield from each(SQL.move, [moving.changed(workspace, row, now) for row, now, _ in moves])
    told = [telling.event(now, now.revision, what, telling.passed(now, what)) for _, now, what in moves]
    yield from events.record(workspace, told)
    ended = [telling.head(now) for row, now, _ in moves if now.state != row.state]
    yield from events.move(workspace, ended)
    return len(moves)
