"""approvals over HTTP: ask, decide, verify and use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from steadhold import access
from steadhold.approvals import answers, plans, wire
from steadhold.approvals.model import STATES, WHOEVER_ASKS, WHOEVER_VOTES, Approval, Artifact, Asked, State
from steadhold.approvals.outcomes import (
    Moved,
    RequestOutcome,
    RevokeOutcome,
    UseOutcome,
    Verdict,
    VoteOutcome,
    WithdrawOutcome,
)
from steadhold.context.doors import readable
from steadhold.kit import ids
from steadhold.kit.outcome import Missing
from steadhold.kit.page import page
from steadhold.kit.plan import Call, Refusal
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Request, Route, Topic

READ: Final = "approvals:read"
MATCH: Final = ("condition_false", "condition_inexact", "stale_fence")
Changed: TypeAlias = Moved | Refusal


def request(ask: Request) -> Ask[RequestOutcome]:
    """Ask about an artifact: 201."""
    body = decode.body(ask, wire.RequestBody)
    if isinstance(body.approvers, str) and (fault := access.scope_fault(body.approvers, "person")):
        problem.stop("bad_scope", f"Approvers are subjects in a list, or one scope. {fault}", pointer="/approvers")
    found = body.artifact
    readable(ask, [found.reference])
    asked = Asked(
        id=ask.fresh,
        artifact=Artifact(found.reference, found.version, found.hash, found.length),
        action=body.action,
        title=body.title,
        expires_in_seconds=body.expires_in_seconds,
        note=body.note,
        approvers=body.approvers if isinstance(body.approvers, str) else tuple(body.approvers),
        quorum=body.quorum,
        usable_seconds=body.usable_seconds,
        allow_requester=body.allow_requester,
    )
    call = plans.request.call(ask.workspace, asked, by=answers.by(ask), fences_held=ask.fences)
    return _changes(ask.fresh, call, 201)


def vote(ask: Request) -> Ask[VoteOutcome]:
    """Approve or reject what the voter has seen."""
    body = decode.body(ask, wire.VoteBody)
    call = plans.vote.call(
        ask.workspace, ask.params["id"], body.decision, body.hash, comment=body.comment, **_guards(ask)
    )
    return _changes(ask.params["id"], call)


def withdraw(ask: Request) -> Ask[WithdrawOutcome]:
    """Take the question back."""
    decode.body(ask, wire.NothingBody)
    return _changes(ask.params["id"], plans.withdraw.call(ask.workspace, ask.params["id"], **_guards(ask)))


def use(ask: Request) -> Ask[UseOutcome]:
    """Take the grant for one act."""
    body = decode.body(ask, wire.UseBody)
    artifact = Artifact(body.reference, body.version, body.hash)
    call = plans.use.call(ask.workspace, ask.params["id"], artifact, body.use_id, **_guards(ask))
    return _changes(ask.params["id"], call)


def revoke(ask: Request) -> Ask[RevokeOutcome]:
    """End the grant, for whoever asked and whoever decides."""
    decode.body(ask, wire.NothingBody)
    if not ask.permits(WHOEVER_ASKS, None) and not ask.permits(WHOEVER_VOTES, None):
        why = f"This key has neither of the scopes {WHOEVER_ASKS} and {WHOEVER_VOTES}."
        problem.stop("missing_scope", why, scope=WHOEVER_VOTES)
    return _changes(ask.params["id"], plans.revoke.call(ask.workspace, ask.params["id"], **_guards(ask)))


def _guards(ask: Request) -> dict[str, Any]:
    return {"by": answers.by(ask), "revision": conditions.maybe_match(ask), "fences_held": ask.fences}


def _changes(id: str, call: Call[Any], status: int = 200) -> Ask[Any]:
    """A verb that answers how the approval stands."""

    def render(outcome: Changed) -> Answer:
        if not isinstance(outcome, Moved):
            return answers.refused(outcome)
        row = outcome.approval
        headers = (("location", f"/v1/approvals/{row.id}"),) if status == 201 else ()
        shown = answers.approval(row)
        return reply.json(shown, status, revision=row.revision, resource=f"approval:{row.id}", headers=headers)

    return Ask(call, render, touches=(_topic(id),))


def _topic(id: str) -> Topic:
    return ("approval", id)


def verify(ask: Request) -> Ask[Verdict | Missing]:
    """Whether exactly this may be acted on now."""
    body = decode.body(ask, wire.VerifyBody)
    artifact = Artifact(body.reference, body.version, body.hash)

    def render(outcome: Verdict | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        return reply.json(wire.VerdictReply(approved=outcome.approved, reason=outcome.reason))

    return Ask(plans.verify.call(ask.workspace, ask.params["id"], artifact, body.use_id), render)


def get(ask: Request) -> Ask[Approval | Missing]:
    """An approval; with `wait_seconds` its next change."""
    id = ask.params["id"]

    def render(outcome: Approval | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        if conditions.unchanged(ask, outcome.revision):
            return reply.not_modified(outcome.revision)
        return reply.json(answers.approval(outcome), revision=outcome.revision)

    return Ask(plans.get.call(ask.workspace, id), render, conditions.watch(ask, _topic(id), _revision_of))


def _revision_of(outcome: Approval | Missing) -> int | None:
    return outcome.revision if isinstance(outcome, Approval) else None


def listing(ask: Request) -> Ask[list[Approval]]:
    """Approvals, the newest first."""
    most, before = query.limit(ask), query.cursor(ask, "approvals", ids.UUID)
    state: Any = query.one_of(ask, "state", *STATES)
    wanted: State | None = state

    def render(found: list[Approval]) -> Answer:
        return reply.listing(ask, page(found, most, "approvals", lambda row: (row.id,)), answers.approval)

    return Ask(plans.approvals.call(ask.workspace, wanted, before[0] if before else None, most + 1), render)


def _post(
    path: str,
    handle: Callable[[Request], Any],
    scope: str,
    summary: str,
    takes: Any,
    problems: tuple[str, ...],
    *,
    receipt: Literal["required", "optional", "none"] = "optional",
    headers: tuple[str, ...] = ("if-match", "fence"),
    status: int = 200,
    gives: Any = wire.ApprovalItem,
) -> Route:
    return Route("POST", path, handle, scope, summary, receipt=receipt, body="json", takes=takes, gives=gives,
                 status=status, problems=problems, headers=headers)  # fmt: skip


ONE: Final = "/v1/approvals/{id:uuid}"
USE: Final = ("artifact_mismatch", "already_used", "not_usable")
ROUTES: Final = (
    _post("/v1/approvals", request, WHOEVER_ASKS, "Ask about an artifact", wire.RequestBody,
          ("quorum_unreachable", "hash_mismatch", "unknown_reference", "bad_scope", "stale_fence"), receipt="required",
          headers=("fence",), status=201),
    Route("GET", "/v1/approvals", listing, READ, "List approvals", gives=wire.ApprovalItem,
          query=("state", "limit", "cursor")),
    Route("GET", ONE, get, READ, "Read an approval", gives=wire.ApprovalItem, query=("wait_seconds",),
          headers=("if-none-match",)),
    _post(f"{ONE}/votes", vote, WHOEVER_VOTES, "Approve or reject", wire.VoteBody,
          ("not_approver", "approval_ended", "artifact_mismatch", "already_voted", *MATCH)),
    _post(f"{ONE}/withdraw", withdraw, WHOEVER_ASKS, "Take a question back", wire.NothingBody,
          ("not_requester", "approval_ended", *MATCH)),
    _post(f"{ONE}/verify", verify, READ, "Tell whether an artifact may be acted on", wire.VerifyBody, (),
          receipt="none", headers=(), gives=wire.VerdictReply),
    _post(f"{ONE}/use", use, "approvals:use", "Use an approval, once", wire.UseBody, (*USE, *MATCH)),
    _post(f"{ONE}/revoke", revoke, "", "End the grant of an approval", wire.NothingBody,
          ("not_approver", "already_used", "not_usable", *MATCH)),
)  # fmt: skip
