"""schedules over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from steadhold.context import Unresolved
from steadhold.context import answers as files
from steadhold.context.doors import readable
from steadhold.jobs import relying
from steadhold.kit import limits
from steadhold.kit.moments import BEGIN, END
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.page import Page
from steadhold.kit.plan import Call, Refusal
from steadhold.schedules import answering, plans, reading
from steadhold.schedules import outcomes as out
from steadhold.schedules.asking import spec_of
from steadhold.schedules.spec import Spec
from steadhold.schedules.wire import (
    BackfillBody,
    BackfillReply,
    PreviewReply,
    RunReply,
    ScheduleReply,
    SpecBody,
)
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Request, Route

CLAIMABLE: Final = ("jobs",)
PREVIEW_ITEMS: Final = 10


def put(ask: Request) -> Ask[out.PutOutcome]:
    """Say when it runs what, under a condition."""
    id, expected = ask.params["id"], conditions.put(ask)
    spec = spec_of(decode.body(ask, SpecBody))
    needs = _target_needs(ask, spec)

    def render(outcome: out.PutOutcome) -> Answer:
        if isinstance(outcome, Missing):
            extras = {} if outcome.last_revision is None else {"last_revision": outcome.last_revision}
            return Problem("condition_false", "There is no schedule of this id to replace.", extras)
        return _written(outcome)

    call = plans.put.call(ask.workspace, id, spec, expected, ask.fences)
    return Ask(call, render, touches=(("schedule", id), CLAIMABLE), needs=(("schedules:write", id), needs))


def _target_needs(ask: Request, spec: Spec) -> tuple[str, str]:
    """Whoever says what a schedule starts may start it alone, too: else it would do what its key may not."""
    scope, name = ("jobs:submit", "") if spec.event is None else ("inboxes:append", spec.event.inbox)
    if not ask.permits(scope, name or None):
        lacks = f"This key lacks the scope {scope}" + (f" for {name!a}" if name else "")
        problem.stop("missing_scope", f"{lacks}, which the target of this schedule needs.", scope=scope)
    if spec.job is not None:
        readable(ask, relying.given(spec.job))
    return scope, name


def _written(outcome: out.Written | Refusal) -> Answer:
    if isinstance(outcome, Refusal):
        return refused(outcome)
    found = outcome.schedule
    told = answering.schedule(found, made_again=outcome.made_again)
    status = 201 if outcome.created else 200
    return reply.json(told, status, revision=found.revision, resource=f"schedule:{found.id}")


def get(ask: Request) -> Ask[out.Schedule | Missing]:
    """A schedule; with `wait_seconds` its next change (its runs change nothing of it)."""
    id = ask.params["id"]

    def render(outcome: out.Schedule | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.refused(outcome)
        if conditions.unchanged(ask, outcome.revision):
            return reply.not_modified(outcome.revision)
        return reply.json(answering.schedule(outcome), revision=outcome.revision)

    wait = conditions.watch(ask, ("schedule", id), _revision_of)
    return Ask(reading.get.call(ask.workspace, id), render, wait)


def _revision_of(outcome: out.Schedule | Missing) -> int | None:
    return outcome.revision if isinstance(outcome, out.Schedule) else None


def delete(ask: Request) -> Ask[out.DeleteOutcome]:
    """Delete the revision named by If-Match."""
    id, expected = ask.params["id"], conditions.exact_match(ask)

    def render(outcome: out.DeleteOutcome) -> Answer:
        return refused(outcome) if isinstance(outcome, Refusal) else reply.no_content(outcome.revision)

    call = plans.delete.call(ask.workspace, id, expected, ask.fences)
    return Ask(call, render, touches=(("schedule", id), CLAIMABLE))


def listing(ask: Request) -> Ask[Page[out.Schedule]]:
    """Schedules by id, as far as the key's scope reaches."""
    after = query.cursor(ask, "schedules", str)
    within = ask.reach("schedules:read")
    call = reading.schedules.call(ask.workspace, after[0] if after else "", query.limit(ask), within)
    return Ask(call, lambda found: reply.listing(ask, found, answering.schedule))


def runs(ask: Request) -> Ask[Page[out.Run] | Missing]:
    """What became of instants, the newest first."""
    before = query.dated_cursor(ask, "schedule-runs", int)

    def render(found: Page[out.Run] | Missing) -> Answer:
        return problem.MISSING if isinstance(found, Missing) else reply.listing(ask, found, answering.run)

    place = None if before is None else (before[0], bool(before[1]))
    return Ask(reading.runs.call(ask.workspace, ask.params["id"], place, query.limit(ask)), render)


def preview(ask: Request) -> Ask[out.Preview | Missing]:
    """The instants to come, and what a change of the clock does to them."""
    count = query.whole(ask, "count", low=1, high=limits.PREVIEW_ITEMS_MAX) or PREVIEW_ITEMS

    def render(found: out.Preview | Missing) -> Answer:
        return problem.refused(found) if isinstance(found, Missing) else reply.json(answering.preview(found))

    return Ask(reading.preview.call(ask.workspace, ask.params["id"], _moment(ask, "from"), count), render)


def _moment(ask: Request, name: str) -> datetime | None:
    text = query.text(ask, name)
    if text is None:
        return None
    if (found := query.moment(text)) is None:
        why = f"{name} is a moment of RFC 3339 with its offset, from {BEGIN:%Y} on and before {END:%Y}."
        problem.stop("bad_query", why, parameter=name)
    return found


def trigger(ask: Request) -> Ask[out.TriggerOutcome]:
    """Run now; the Idempotency-Key is the run's own id."""

    def render(outcome: out.TriggerOutcome) -> Answer:
        if isinstance(outcome, Refusal):
            return refused(outcome)
        waits = outcome.run.outcome in {"waiting", "started"}
        return reply.json(answering.run(outcome.run), 202 if waits else 200, resource=f"schedule:{ask.params['id']}")

    id, key = ask.params["id"], ask.operation or ask.fresh
    revision = conditions.maybe_match(ask)
    call = plans.trigger.call(ask.workspace, id, key, revision=revision, fences_held=ask.fences)
    return Ask(call, render, touches=(CLAIMABLE,))


def backfill(ask: Request) -> Ask[out.BackfillOutcome]:
    """Run past instants that nothing was recorded of."""
    id, key, body = ask.params["id"], ask.operation or ask.fresh, decode.body(ask, BackfillBody)
    if body.first >= body.until:
        problem.stop("bad_schedule", "`to` has to lie after `from`.", pointer="/to")
    revision = conditions.maybe_match(ask)

    def render(outcome: out.BackfillOutcome) -> Answer:
        if isinstance(outcome, Refusal):
            return refused(outcome)
        made = BackfillReply(runs=[*map(answering.run, outcome.runs)], existing=[*map(answering.run, outcome.existing)])
        return reply.json(made, resource=f"schedule:{id}")

    call = plans.backfill.call(
        ask.workspace, id, body.first, body.until, key, revision=revision, fences_held=ask.fences
    )
    return Ask(call, render, touches=(CLAIMABLE,))


def pause(ask: Request) -> Ask[out.PauseOutcome]:
    """Let no instant run any more."""
    id, revision = ask.params["id"], conditions.maybe_match(ask)
    return _steered(id, plans.pause.call(ask.workspace, id, revision=revision, fences_held=ask.fences))


def resume(ask: Request) -> Ask[out.PauseOutcome]:
    """Let instants run again from now on."""
    id, revision = ask.params["id"], conditions.maybe_match(ask)
    return _steered(id, plans.resume.call(ask.workspace, id, revision=revision, fences_held=ask.fences))


def _steered(id: str, call: Call[out.PauseOutcome]) -> Ask[out.PauseOutcome]:
    return Ask(call, _written, touches=(("schedule", id), CLAIMABLE))


def refused(outcome: Refusal) -> Problem:
    """The problem that a refusal is."""
    match outcome:
        case out.NeverDue():
            return Problem("never_due", "No instant of it is still to come; an instant that has passed never runs.")
        case out.TargetMissing(inbox):
            return Problem("target_unknown", f"There is no inbox {inbox!a}: make it first.", {"inbox": inbox})
        case out.TooManyInstants(count, allowed):
            why = f"The span has {count} instants, and one backfill takes {allowed}; ask in parts."
            return Problem("backfill_too_large", why, {"count": count, "limit": allowed})
        case out.RunsPruned(after):
            why = "What became of instants so early is not kept any more, so none of them is run."
            return Problem("runs_pruned", why, {"after": reply.instant(after)})
        case Unresolved():
            return files.refused(outcome)
        case Missing() | RevisionConflict() | StaleFence():
            return problem.refused(outcome)
        case _:
            raise AssertionError(f"{type(outcome).__name__} is no refusal of schedules")


CONDITIONS = ("condition_required", "condition_inexact", "condition_false", "stale_fence")
SPEC = ("bad_cron", "bad_time_zone", "bad_schedule", "target_unknown", "never_due", "two_sources", "unknown_reference")
RUN = ("condition_inexact", "condition_false", "stale_fence")

ROUTES = (
    Route(
        "PUT", "/v1/schedules/{id}", put, "schedules:write", "Say when it runs what", scoped="id",
        headers=("if-match", "if-none-match", "fence"), receipt="optional", body="json", takes=SpecBody,
        gives=ScheduleReply, problems=(*CONDITIONS, *SPEC),
    ),
    Route(
        "GET", "/v1/schedules/{id}", get, "schedules:read", "Read a schedule", scoped="id",
        headers=("if-none-match",), query=("wait_seconds",), gives=ScheduleReply,
    ),
    Route(
        "DELETE", "/v1/schedules/{id}", delete, "schedules:write", "Delete a schedule", scoped="id",
        headers=("if-match", "fence"), receipt="optional", status=204, problems=CONDITIONS,
    ),
    Route(
        "GET", "/v1/schedules", listing, "schedules:read", "List schedules", narrows=True,
        query=("limit", "cursor"), gives=ScheduleReply,
    ),
    Route(
        "GET", "/v1/schedules/{id}/preview", preview, "schedules:read", "The instants to come", scoped="id",
        query=("from", "count"), gives=PreviewReply,
    ),
    Route(
        "GET", "/v1/schedules/{id}/runs", runs, "schedules:read", "What became of its instants", scoped="id",
        query=("limit", "cursor"), gives=RunReply,
    ),
    Route(
        "POST", "/v1/schedules/{id}/trigger", trigger, "schedules:write", "Run now", scoped="id",
        headers=("if-match", "fence"), receipt="required", status=202, gives=RunReply, problems=RUN,
    ),
    Route(
        "POST", "/v1/schedules/{id}/backfill", backfill, "schedules:write", "Run past instants", scoped="id",
        headers=("if-match", "fence"), receipt="required", body="json", takes=BackfillBody, gives=BackfillReply,
        problems=(*RUN, "bad_schedule", "backfill_too_large", "runs_pruned"),
    ),
    Route(
        "POST", "/v1/schedules/{id}/pause", pause, "schedules:write", "Let no instant run", scoped="id",
        headers=("if-match", "fence"), receipt="optional", gives=ScheduleReply, problems=RUN,
    ),
    Route(
        "POST", "/v1/schedules/{id}/resume", resume, "schedules:write", "Let instants run again", scoped="id",
        headers=("if-match", "fence"), receipt="optional", gives=ScheduleReply, problems=RUN,
    ),
)  # fmt: skip
