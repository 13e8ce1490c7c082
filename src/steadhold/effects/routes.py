"""effects over HTTP: plan, begin, tell what came of it, look; and journals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal

from steadhold.access.authenticate import actor
from steadhold.context.doors import readable
from steadhold.effects import answers, journals, plans, wire
from steadhold.effects.model import RECONCILIATIONS, Effect, Entered, Entry, Intent, Kept, money_fault
from steadhold.effects.outcomes import EnterOutcome, InitiateOutcome, Moved, PlanOutcome, Recorded
from steadhold.kit.outcome import Missing
from steadhold.kit.page import page
from steadhold.kit.plan import Call, Refusal
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Request, Route, Topic

READ: Final = "effects:read"
WRITE: Final = "effects:write"
MACHINES: Final = ("execution", "settlement", "reconciliation", "evidence")


def plan(ask: Request) -> Ask[PlanOutcome]:
    """Write down an action before it is begun: 201, or 200 with the one that there is."""
    body = decode.body(ask, wire.PlanBody)
    if fault := money_fault(body.amount, body.currency):
        problem.stop("bad_member", fault, pointer="/amount" if body.amount is None else "/currency")
    if body.job_fence is not None and body.job_id is None:
        problem.stop("bad_member", "A fence is that of a job: send job_id, too.", pointer="/job_fence")
    readable(ask, [] if body.data_ref is None else [body.data_ref])
    intent = Intent(
        id=body.effect_id,
        kind=body.kind,
        target=body.target,
        request_digest=body.request_digest,
        repeatable=body.repeatable,
        expires_in_seconds=body.expires_in_seconds,
        job_id=body.job_id,
        amount=body.amount,
        currency=body.currency,
        data_ref=body.data_ref,
        causation_id=body.causation_id,
    )
    call = plans.plan.call(ask.workspace, intent, by=actor(ask), job_fence=body.job_fence, fences_held=ask.fences)

    def render(outcome: PlanOutcome) -> Answer:
        if isinstance(outcome, Refusal):
            return answers.refused(outcome)
        location = (("location", f"/v1/effects/{intent.id}"),)
        return _stands(outcome, 200 if outcome.repeated else 201, headers=location)

    return Ask(call, render, touches=_touched(intent.id, body.job_id))


def initiate(ask: Request) -> Ask[InitiateOutcome]:
    """Begin it; whoever is answered 200 acts."""
    body, id = decode.body(ask, wire.InitiateBody), ask.params["id"]
    call = plans.initiate.call(
        ask.workspace,
        id,
        by=actor(ask),
        job_fence=body.job_fence,
        answer_within_seconds=body.answer_within_seconds,
        revision=conditions.maybe_match(ask),
        fences_held=ask.fences,
    )

    def render(outcome: InitiateOutcome) -> Answer:
        return answers.refused(outcome) if isinstance(outcome, Refusal) else _stands(outcome, yours=True)

    return Ask(call, render, touches=_touched(id))


def outcome(ask: Request) -> Ask[Any]:
    """What came of it."""
    body = decode.body(ask, wire.OutcomeBody)
    if body.no_effect and body.execution != "failed":
        problem.stop("bad_member", "no_effect says that a failure did nothing outside.", pointer="/no_effect")
    told = {"no_effect": body.no_effect, "venue_ref": body.venue_ref, **_evidence(body)}
    return _changes(ask, plans.outcome.call(ask.workspace, ask.params["id"], body.execution, **told, **_guards(ask)))


def settlement(ask: Request) -> Ask[Any]:
    """What became of the money."""
    body = decode.body(ask, wire.SettlementBody)
    told = {"settles_within_seconds": body.settles_within_seconds, **_evidence(body)}
    return _changes(ask, plans.settle.call(ask.workspace, ask.params["id"], body.to, **told, **_guards(ask)))


def abandon(ask: Request) -> Ask[Any]:
    """Give up what was not begun."""
    decode.body(ask, wire.NothingBody)
    return _changes(ask, plans.abandon.call(ask.workspace, ask.params["id"], **_guards(ask)))


def reconcile(ask: Request) -> Ask[Any]:
    """What somebody found who looked."""
    body = decode.body(ask, wire.ReconcileBody)
    said = (body.outcome, body.evidence_ref)
    call = plans.reconcile.call(ask.workspace, ask.params["id"], *said, evidence_id=body.evidence_id, **_guards(ask))
    return _changes(ask, call)


def _guards(ask: Request) -> dict[str, Any]:
    return {"by": actor(ask), "revision": conditions.maybe_match(ask)}


def _evidence(body: wire.OutcomeBody | wire.SettlementBody) -> dict[str, Any]:
    return {"evidence_ref": body.evidence_ref, "evidence_id": body.evidence_id}


def _changes(ask: Request, call: Call[Any]) -> Ask[Any]:
    """A verb that answers how the effect stands."""

    def render(outcome: Moved | Refusal) -> Answer:
        return answers.refused(outcome) if isinstance(outcome, Refusal) else _stands(outcome)

    return Ask(call, render, touches=_touched(ask.params["id"]))


def _stands(outcome: Moved, status: int = 200, *, yours: bool = False, headers: Any = ()) -> Answer:
    row = outcome.effect
    shown = answers.effect(row, yours=yours)
    return reply.json(shown, status, revision=row.revision, resource=f"effect:{row.id}", headers=headers)


def _topic(id: str) -> Topic:
    return ("effect", id)


def _touched(id: str, job_id: str | None = None) -> tuple[Topic, ...]:
    mine: tuple[Topic, ...] = (_topic(id), ("effects",))
    return mine if job_id is None else (*mine, ("job", job_id))


def get(ask: Request) -> Ask[Effect | Missing]:
    """An effect; with `wait_seconds` its next change."""

    def render(found: Effect | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        if conditions.unchanged(ask, found.revision):
            return reply.not_modified(found.revision)
        return reply.json(answers.effect(found), revision=found.revision)

    id = ask.params["id"]
    return Ask(plans.get.call(ask.workspace, id), render, conditions.watch(ask, _topic(id), _revision_of))


def _revision_of(outcome: Effect | Missing) -> int | None:
    return outcome.revision if isinstance(outcome, Effect) else None


def history(ask: Request) -> Ask[list[Kept] | Missing]:
    """What an effect became, in order."""
    most, after = query.limit(ask), query.cursor(ask, "effect-history", int)
    machine: Any = query.one_of(ask, "machine", *MACHINES)

    def render(found: list[Kept] | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        return reply.listing(ask, page(found, most, "effect-history", lambda kept: (kept.revision,)), answers.line)

    first = after[0] if after else 0
    return Ask(plans.history.call(ask.workspace, ask.params["id"], first, most + 1, machine), render)


def listing(ask: Request) -> Ask[list[Effect]]:
    """Effects, the newest first; those at which somebody has to look, in the order in which they began to need it."""
    wanted: Any = query.one_of(ask, "reconciliation", *RECONCILIATIONS)
    of = "effects-needed" if wanted == "needed" else "effects"
    most, place = query.limit(ask), query.dated_cursor(ask, of, str)

    def key(row: Effect) -> tuple[str, str]:
        at: datetime = (row.needed_since or row.planned_at) if wanted == "needed" else row.planned_at
        return reply.instant(at), row.id

    def render(found: list[Effect]) -> Answer:
        return reply.listing(ask, page(found, most, of, key), answers.effect)

    at: Any = place
    return Ask(plans.effects.call(ask.workspace, wanted, at, most + 1), render)


def enter(ask: Request) -> Ask[EnterOutcome]:
    """Keep a charge: 201, or 200 with the one that there is."""
    body = decode.body(ask, wire.EntryBody)
    entry = Entry(
        body.entry_id, body.amount, body.currency, body.effect_id, body.data_ref, body.causation_id, body.note
    )

    def render(outcome: EnterOutcome) -> Answer:
        if not isinstance(outcome, Recorded):
            return answers.refused(outcome)
        return reply.json(answers.entry(outcome.entered), 200 if outcome.repeated else 201)

    return Ask(journals.enter.call(ask.workspace, ask.params["name"], entry, by=actor(ask)), render)


def entries(ask: Request) -> Ask[list[Entered] | Missing]:
    """The charges of a journal, the oldest first."""
    most, after = query.limit(ask), query.dated_cursor(ask, "entries", str)

    def render(found: list[Entered] | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        rows = page(found, most, "entries", lambda kept: (reply.instant(kept.at), kept.entry.id))
        return reply.listing(ask, rows, answers.entry)

    at: Any = after
    return Ask(journals.entries.call(ask.workspace, ask.params["name"], at, most + 1), render)


def _post(
    path: str,
    handle: Callable[[Request], Any],
    summary: str,
    takes: Any,
    problems: tuple[str, ...],
    *,
    receipt: Literal["required", "optional", "none"] = "optional",
    headers: tuple[str, ...] = ("if-match",),
    status: int = 200,
    gives: Any = wire.EffectItem,
) -> Route:
    matched = ("condition_false", "condition_inexact") if "if-match" in headers else ()
    return Route("POST", path, handle, WRITE, summary, receipt=receipt, body="json", takes=takes, gives=gives,
                 status=status, problems=(*problems, *matched), headers=headers)  # fmt: skip


ONE: Final = "/v1/effects/{id}"
FACT: Final = ("transition_not_permitted", "evidence_conflict")
ROUTES: Final = (
    _post("/v1/effects", plan, "Plan an action outside", wire.PlanBody,
          ("effect_conflict", "unknown_reference", "stale_fence"),
          headers=("fence",), status=201),
    Route("GET", "/v1/effects", listing, READ, "List effects", gives=wire.EffectItem,
          query=("reconciliation", "limit", "cursor")),
    Route("GET", ONE, get, READ, "Read an effect", gives=wire.EffectItem, query=("wait_seconds",),
          headers=("if-none-match",)),
    Route("GET", f"{ONE}/history", history, READ, "Read what an effect became", gives=wire.HistoryItem,
          query=("machine", "limit", "cursor")),
    _post(f"{ONE}/initiate", initiate, "Begin an action, before it goes out", wire.InitiateBody,
          ("already_initiated", "transition_not_permitted", "stale_fence"), receipt="required",
          headers=("if-match", "fence")),
    _post(f"{ONE}/outcome", outcome, "Tell what came of an action", wire.OutcomeBody, FACT),
    _post(f"{ONE}/settlement", settlement, "Tell what became of the money", wire.SettlementBody, FACT),
    _post(f"{ONE}/abandon", abandon, "Give up an action that was not begun", wire.NothingBody,
          ("transition_not_permitted",)),
    _post(f"{ONE}/reconcile", reconcile, "Decide what came of an action, after looking", wire.ReconcileBody,
          ("not_needed", *FACT)),
    _post("/v1/journals/{name}/entries", enter, "Keep a charge, once", wire.EntryBody, ("entry_conflict",),
          headers=(), status=201, gives=wire.EntryItem),
    Route("GET", "/v1/journals/{name}/entries", entries, READ, "Read a journal", gives=wire.EntryItem,
          query=("limit", "cursor")),
)  # fmt: skip
