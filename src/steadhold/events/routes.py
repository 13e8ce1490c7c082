"""events over HTTP: aggregates, their types, events and what led to them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from dataclasses import replace

from msgspec import UNSET

from steadhold.events import doors, event_doors, model, plans, reading, wire
from steadhold.events.model import Aggregate, AggregateType, Happened
from steadhold.kit import limits
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.page import page
from steadhold.kit.plan import Refusal
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route


def append(ask: Request) -> Ask[plans.AppendOutcome]:
    """Write down what happened to an aggregate, at the revision that it has."""
    id, expected, body = ask.params["id"], conditions.put(ask), decode.body(ask, wire.AppendBody)
    happened = [_happened(told, n, ask.trace) for n, told in enumerate(body.events)]
    _readable(ask, happened)
    move = body.transition
    if move is not None and body.state not in (None, move.after):
        problem.stop("bad_member", "`state` and the state that the transition leads to differ.", pointer="/state")
    if expected is not None and (body.aggregate_type or body.owner or body.job_id):
        problem.stop("bad_member", "Type and owner are said when the aggregate is made.", pointer="/aggregate_type")

    def render(outcome: plans.AppendOutcome) -> Answer:
        if not isinstance(outcome, model.Appended):
            return refused(id, outcome)
        made = wire.AppendReply(aggregate_id=id, revision=outcome.revision, event_ids=[*outcome.event_ids])
        return reply.json(made, 201, revision=outcome.revision, resource=f"aggregate:{id}")

    call = plans.append.call(
        ask.workspace,
        id,
        expected,
        happened,
        fences_held=ask.fences,
        from_state=None if move is None else move.before,
        state=body.state if move is None else move.after,
        aggregate_type=body.aggregate_type,
        owner=_owner(id, body),
    )
    return Ask(call, render, touches=(("aggregate", id),))


def _happened(told: wire.EventBody, n: int, trace: str | None) -> Happened:
    if told.event_id is not None and model.place_of(told.event_id):
        why = "An id that ends in @ and a number is how events are named by their revision; choose another."
        problem.stop("bad_member", why, pointer=f"/events/{n}/event_id")
    data = None if told.data is UNSET else bytes(told.data)
    if data is not None and (len(data) > limits.EVENT_DATA_BYTES_MAX or told.data_ref is not None):
        why = f"An event has at most {limits.EVENT_DATA_BYTES_MAX} bytes of data, or a data_ref."
        problem.stop("bad_member", why, pointer=f"/events/{n}/data")
    return Happened(
        told.type, data, told.data_ref, int(told.schema_version), told.correlation_id, told.causation_id, told.event_id,
        trace,
    )  # fmt: skip


def _readable(ask: Request, happened: Iterable[Happened]) -> None:
    """Stop a request that refers to files which its key may not read: events keep what they refer to."""
    for told in happened:
        path = model.path_in_context(told.data_ref or "")
        if path is not None and not ask.permits("context:read", path):
            why = f"This key lacks the scope context:read for {path!a}."
            problem.stop("missing_scope", why, scope="context:read")


def _owner(id: str, body: wire.AppendBody) -> str | None:
    if (body.owner == "job") != (body.job_id is not None):
        problem.stop("bad_member", "An owner that is a job is named by job_id, and no other is.", pointer="/job_id")
    return {"lock": f"lock:{id}", "job": f"job:{body.job_id}"}.get(body.owner or "")


def get(ask: Request) -> Ask[Aggregate | Missing]:
    """Where an aggregate stands; with `wait_seconds` its next change."""
    id = ask.params["id"]

    def render(found: Aggregate | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        unchanged = conditions.unchanged(ask, found.revision)
        return reply.not_modified(found.revision) if unchanged else reply.json(_shown(found), revision=found.revision)

    wait = conditions.watch(ask, ("aggregate", id), _revision_of)
    return Ask(plans.aggregate.call(ask.workspace, id), render, wait)


def _revision_of(found: Aggregate | Missing) -> int | None:
    return found.revision if isinstance(found, Aggregate) else None


def listing(ask: Request) -> Ask[list[Aggregate]]:
    """Aggregates by id."""
    most, after = query.limit(ask), query.cursor(ask, "aggregates", str)

    def render(found: list[Aggregate]) -> Answer:
        return reply.listing(ask, page(found, most, "aggregates", lambda one: (one.aggregate_id,)), _shown)

    return Ask(reading.aggregates.call(ask.workspace, after[0] if after else "", most + 1), render)


def _shown(found: Aggregate) -> wire.AggregateReply:
    return wire.AggregateReply(
        aggregate_id=found.aggregate_id,
        revision=found.revision,
        aggregate_type=found.aggregate_type,
        state=found.state,
        owner=found.owner,
    )


def put_type(ask: Request) -> Ask[model.TypeWritten | RevisionConflict | StaleFence]:
    """Say in which states aggregates of a type can be, and how they move."""
    name, expected, body = ask.params["type"], conditions.put(ask), decode.body(ask, wire.TypeBody)
    if stray := next((e for e in body.edges if not {e.before, e.after} <= {*body.states}), None):
        problem.stop("bad_member", f"{stray.before} or {stray.after} is none of the states.", pointer="/edges")

    def render(outcome: model.TypeWritten | RevisionConflict | StaleFence) -> Answer:
        if isinstance(outcome, Refusal):
            return problem.refused(outcome)
        return _type(outcome.aggregate_type, 201 if outcome.created else 200)

    edges = [(edge.before, edge.after) for edge in body.edges]
    call = plans.put_type.call(ask.workspace, name, body.states, edges, expected, ask.fences)
    return Ask(call, render)


def get_type(ask: Request) -> Ask[AggregateType | Missing]:
    """What aggregates of a type may do."""

    def render(found: AggregateType | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        return reply.not_modified(found.revision) if conditions.unchanged(ask, found.revision) else _type(found)

    return Ask(plans.get_type.call(ask.workspace, ask.params["type"]), render)


def types(ask: Request) -> Ask[list[AggregateType]]:
    """Types of aggregates by name."""
    most, after = query.limit(ask), query.cursor(ask, "aggregate-types", str)

    def render(found: list[AggregateType]) -> Answer:
        return reply.listing(ask, page(found, most, "aggregate-types", lambda one: (one.aggregate_type,)), _type_shown)

    return Ask(plans.types.call(ask.workspace, after[0] if after else "", most + 1), render)


def _type(found: AggregateType, status: int = 200) -> Reply:
    shown, resource = _type_shown(found), f"aggregate-type:{found.aggregate_type}"
    return reply.json(shown, status, revision=found.revision, resource=resource)


def _type_shown(found: AggregateType) -> wire.TypeReply:
    return wire.TypeReply(
        aggregate_type=found.aggregate_type,
        revision=found.revision,
        states=[*found.states],
        edges=[wire.EdgeReply(before=before, after=after) for before, after in found.edges],
    )


def refused(id: str, outcome: Refusal) -> Problem:
    """The problem that a refused append is."""
    match outcome:
        case model.ReservedId():
            return Problem("reserved_id", f"{id} is named as the house names its own; only its room appends to it.")
        case model.EventTaken(name):
            return Problem("event_taken", f"Another event has the id {name}.", {"event_id": name})
        case model.ReferenceUnknown(ref):
            return Problem("unknown_reference", f"{ref} names nothing that is kept.", {"reference": ref})
        case model.TransitionConflict(state):
            return Problem("transition_conflict", "The aggregate is not in the state that is left.", {"state": state})
        case model.TransitionNotPermitted(before, after):
            why = f"Its type lets no aggregate go from {before or 'its beginning'} to {after}."
            return Problem("transition_not_permitted", why, {"from": before, "to": after})
        case RevisionConflict() | StaleFence():
            return problem.refused(outcome)
        case _:
            raise AssertionError(f"{type(outcome).__name__} is no refusal of an append")


READ, OPERATE = "events:read", "events:operate"
CONDITIONS = ("condition_required", "condition_inexact", "condition_false", "stale_fence")
_get = functools.partial(Route, "GET")
_ONE = "/v1/subscriptions/{id}"

_OWN = (
    Route(
        "POST", "/v1/aggregates/{id}/events", append, "events:append", "Write down what happened",
        headers=("if-match", "if-none-match", "fence"), receipt="optional", body="json", takes=wire.AppendBody,
        gives=wire.AppendReply, status=201,
        problems=(*CONDITIONS, "reserved_id", "event_taken", "unknown_reference", "transition_conflict",
                  "transition_not_permitted"),
    ),
    _get("/v1/aggregates", listing, READ, "List aggregates", query=("limit", "cursor"), gives=wire.AggregateReply),
    _get("/v1/aggregates/{id}", get, READ, "Read where an aggregate stands", query=("wait_seconds",),
         headers=("if-none-match",), gives=wire.AggregateReply),
    _get("/v1/aggregates/{id}/events", event_doors.history, READ, "Read an aggregate's events",
         query=("after_revision", "limit", "cursor"), gives=wire.DomainEvent, problems=("events_pruned",)),
    _get("/v1/events/{id}", event_doors.event, READ, "Read an event", gives=wire.DomainEvent),
    _get("/v1/events/{id}/data", event_doors.data, READ, "Read the data of an event"),
    _get("/v1/events/{id}/causes", event_doors.causes, READ, "Read what led to an event", gives=wire.CausesReply),
    Route(
        "PUT", "/v1/aggregate-types/{type}", put_type, OPERATE, "Say which transitions a type permits",
        headers=("if-match", "if-none-match", "fence"), receipt="optional", body="json", takes=wire.TypeBody,
        gives=wire.TypeReply, problems=CONDITIONS,
    ),
    _get("/v1/aggregate-types", types, READ, "List types of aggregates", query=("limit", "cursor"),
         gives=wire.TypeReply),
    _get("/v1/aggregate-types/{type}", get_type, READ, "Read which transitions a type permits",
         headers=("if-none-match",), gives=wire.TypeReply),
    Route(
        "PUT", _ONE, functools.partial(doors.put, ()), OPERATE, "Say which events go where",
        headers=("if-match", "if-none-match", "fence"),
        receipt="optional", body="json", takes=wire.SubscriptionBody, gives=wire.SubscriptionReply,
        problems=(*CONDITIONS, "target_unknown", "writers_open", "subscriptions_full", "subscription_ending"),
    ),
    _get(_ONE, doors.get, READ, "Read a subscription", query=("wait_seconds",), headers=("if-none-match",),
         gives=wire.SubscriptionReply),
    Route("DELETE", _ONE, doors.delete, OPERATE, "Delete a subscription", headers=("if-match", "fence"),
          receipt="optional", status=204, problems=CONDITIONS),
    _get("/v1/subscriptions", doors.listing, READ, "List subscriptions", query=("limit", "cursor"),
         gives=wire.SubscriptionReply),
    Route("POST", f"{_ONE}/replay", doors.replay, OPERATE, "Publish again what happened", receipt="required",
          body="json", takes=wire.ReplayBody, gives=wire.ReplayReply, problems=("events_pruned",)),
    _get("/v1/publications", doors.publications, OPERATE, "List publications that wait",
         query=("state", "limit", "cursor"), gives=wire.PublicationReply),
    Route("POST", "/v1/publications/{id:uuid}/retry", doors.retry, OPERATE, "Publish now", receipt="optional",
          gives=wire.PublicationReply, problems=("publication_settled",)),
    Route("POST", "/v1/publications:retry", doors.retry_parked, OPERATE, "Publish what is parked", receipt="optional",
          body="json", takes=wire.RetryParkedBody, gives=wire.RetryParkedReply, problems=("count_changed",)),
    Route("POST", "/v1/publications/{id:uuid}/skip", doors.skip, OPERATE, "Never publish", receipt="optional",
          gives=wire.PublicationReply, problems=("publication_settled",)),
)  # fmt: skip


def routes(_kept_seconds: float, sinks: Collection[tuple[str, str]] = ()) -> tuple[Route, ...]:
    """The doors of a server that has these sinks, each (workspace, name)."""
    put = functools.partial(doors.put, sinks)
    return tuple(replace(route, handle=put) if (route.method, route.path) == ("PUT", _ONE) else route for route in _OWN)


ROUTES = routes(float(model.KEPT_SECONDS))
