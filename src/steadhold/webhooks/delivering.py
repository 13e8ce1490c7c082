"""How an event becomes deliveries, a delivery attempts, and what an attempt comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from steadhold import events, fences
from steadhold.events import Event
from steadhold.fences import Granted, Renewal, Wanted
from steadhold.kit import exact
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Plan, maybe, one, operation, rows, single_operation
from steadhold.webhooks import health, model
from steadhold.webhooks.model import (
    ATTEMPT_SECONDS,
    ATTEMPT_STATES,
    BLOCKED,
    DELIVERED,
    LANE_SECONDS,
    PENDING,
    Batch,
    Delivery,
    Endpoint,
    Move,
    Result,
    Secret,
    Sending,
    endpoint,
)
from steadhold.webhooks.naming import delivery_id
from steadhold.webhooks.plans import SQL, off, told

Kept: TypeAlias = tuple[str, str, int, str, bytes, str | None]
LAPSED: Final = "its sender was not heard of any more"


@dataclass(frozen=True, slots=True)
class _Taker:
    id: str
    types: Sequence[str]
    ordered: bool
    enabled: bool


def body_of(event: Event) -> bytes:
    """The bytes that are signed and sent of an event: its fields, and its data where that is exact JSON."""
    fields: dict[str, Any] = {
        "event_id": event.event_id,
        "schema_version": str(event.schema_version),
        "aggregate_id": event.aggregate_id,
        "aggregate_revision": event.aggregate_revision,
        "occurred_at": event.occurred_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "type": event.type,
        "data_ref": event.data_ref,
    }
    causes = {"correlation_id": event.correlation_id, "causation_id": event.causation_id}
    fields |= {name: value for name, value in causes.items() if value is not None}
    if event.data and exact.check(event.data) is None:
        fields["data"] = msgspec.Raw(event.data)
    return msgspec.json.encode(fields)


def fan_out(workspace: str, happened: Sequence[Event]) -> Plan[None]:
    """Write a delivery for each endpoint that takes an event: pending, or skipped where it is disabled now.

    It belongs in the transaction that finds out who wants the events. A second time, it writes nothing.
    """
    takers = [_Taker(*row) for row in (yield from rows(SQL.endpoints, workspace=workspace))]
    matched = [(taker, event) for event in happened for taker in takers if events.matches(taker.types, event.type)]
    if not matched:
        return
    ordered = sorted({taker.id for taker, _ in matched if taker.ordered})
    if ordered:
        yield from rows(SQL.hold_lanes, workspace=workspace, ids=ordered)
    kept = {event.event_id: event for _, event in matched}
    yield from keep(workspace, [_body(event) for event in kept.values()])
    columns: dict[str, list[Any]] = {}
    for row in _deliveries(workspace, matched):
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    yield from rows(SQL.deliver, workspace=workspace, **columns)


def _body(event: Event) -> Kept:
    return event.event_id, event.aggregate_id, event.aggregate_revision, event.type, body_of(event), event.trace


def keep(workspace: str, bodies: Sequence[Kept]) -> Plan[None]:
    """Keep the bytes that are to be sent of events, and the trace that each belongs to."""
    names = ("event_id", "aggregate_id", "revision", "type", "body", "trace")
    columns = {name: [body[n] for body in bodies] for n, name in enumerate(names)}
    yield from rows(SQL.keep_bodies, workspace=workspace, **columns)


def _deliveries(workspace: str, matched: Sequence[tuple[_Taker, Event]]) -> Iterator[dict[str, Any]]:
    led: dict[tuple[str, str], int] = {}
    for taker, event in matched:
        if taker.ordered and taker.enabled:
            lane = (taker.id, event.aggregate_id)
            led[lane] = min(led.get(lane, event.aggregate_revision), event.aggregate_revision)
    for taker, event in matched:
        first = led.get((taker.id, event.aggregate_id))
        yield {
            "id": delivery_id(workspace, taker.id, event.event_id, event.occurred_at),
            "webhook": taker.id,
            "event_id": event.event_id,
            "lane": event.aggregate_id if taker.ordered else None,
            "place": event.aggregate_revision,
            "behind": first is not None and first < event.aggregate_revision,
            "skipped": not taker.enabled,
        }


def lane_of(webhook: str) -> str:
    """The subject of the lease under which one process sends to an endpoint."""
    return f"lane:webhook:{webhook}"


@operation
def lease(workspace: str, webhook: str, holder: str) -> Plan[int | None]:
    """Have an endpoint for oneself, for `LANE_SECONDS`; the fence, or None where another sends to it."""
    (answer,) = yield from fences.grant(workspace, [Wanted(lane_of(webhook), holder, LANE_SECONDS)])
    return answer.fence if isinstance(answer, Granted) else None


@operation
def renew(workspace: str, webhook: str, fence: int) -> Plan[bool]:
    """Have an endpoint for longer; False where the lease is lost."""
    (answer,) = yield from fences.renew(workspace, [Renewal(lane_of(webhook), fence)])
    return not isinstance(answer, StaleFence)


@operation
def release(workspace: str, webhook: str, fence: int) -> Plan[None]:
    """Leave an endpoint to others."""
    yield from fences.release(workspace, [FenceRef(lane_of(webhook), fence)])


@single_operation
def begin(workspace: str, webhook: str, fence: int, limit: int) -> Plan[Batch | StaleFence | None]:
    """Write down attempts at what is due: at most `limit`, and as many as the endpoint may have at once.

    None: the endpoint is gone. Once this has committed, and not before, an attempt may be made.
    """
    if stale := (yield from fences.require(workspace, [FenceRef(lane_of(webhook), fence)])):
        return stale
    at = yield from maybe(SQL.share_unmetered, endpoint, workspace=workspace, id=webhook)
    metered = at is None
    if at is None:
        at = yield from maybe(SQL.hold, endpoint, workspace=workspace, id=webhook)
    if at is None:
        return None
    started, now, free_at = yield from one(SQL.free, _moments, workspace=workspace, webhook=webhook)
    room = health.room(at.health, at.spec.concurrency, started, now) if at.enabled else 0
    rate = at.spec.rate if metered else None
    affords = health.affords(rate, free_at, now)
    room = room if affords is None else min(room, affords)
    found = yield from rows(
        SQL.begin, workspace=workspace, webhook=webhook, limit=min(limit, room or 1), pings_only=not room,
        seconds=ATTEMPT_SECONDS,
    )  # fmt: skip
    if rate is not None and found:
        until = health.free_after(rate, free_at, now, len(found))
        yield from rows(SQL.spend, workspace=workspace, webhook=webhook, free_at=until)
    secrets = (yield from rows(SQL.secrets, workspace=workspace, id=webhook)) if found else []
    return Batch(at, tuple(Secret(*row) for row in secrets), tuple(Sending(*row) for row in found))


def _moments(started: int, at: datetime, free_at: datetime | None) -> tuple[int, datetime, datetime | None]:
    return started, at, free_at


@operation
def still(workspace: str, webhook: str, fence: int, url: str) -> Plan[set[tuple[str, int]]]:
    """Which attempts may be made, asked just before: the lease is held, the endpoint enabled and where it was."""
    if (yield from fences.require(workspace, [FenceRef(lane_of(webhook), fence)])):
        return set()
    found = yield from rows(SQL.still, workspace=workspace, webhook=webhook, url=url)
    return {(delivery, n) for delivery, n in found}


@single_operation
def settle(workspace: str, webhook: str, results: Sequence[Result]) -> Plan[int]:
    """Write down what attempts came to, and what that means for deliveries and endpoint; says how many were new.

    It asks for no lease: what was found out is true whoever sends now. What the sweep has ended stays `unknown`.
    """
    at = yield from maybe(SQL.hold, endpoint, workspace=workspace, id=webhook)
    ended = yield from rows(SQL.end_attempts, workspace=workspace, **_ended(results))
    new = {(delivery, n): started_at for delivery, n, started_at, _ in ended}
    results = [result for result in results if (result.delivery, result.n) in new]
    if not results:
        return 0
    moves, lanes = yield from _moved(workspace, at, results)
    if at is not None:
        told = [r for r in results if r.made and not r.ours and new[r.delivery, r.n] >= at.changed_at]
        yield from _fared(workspace, at, told, max(row[3] for row in ended), moves, lanes)
    return len(results)


def _ended(results: Sequence[Result]) -> dict[str, list[Any]]:
    names = ("delivery", "n", "status", "why", "address", "request", "response", "response_body")
    columns: dict[str, list[Any]] = {name: [getattr(result, name) for result in results] for name in names}
    return {**columns, "state": [ATTEMPT_STATES.index(result.state) for result in results]}


def _moved(
    workspace: str, at: Endpoint | None, results: Sequence[Result]
) -> Plan[tuple[list[Move], Mapping[str, Delivery]]]:
    """Move the deliveries that are still pending; answers how, and what they were."""
    ids = sorted({result.delivery for result in results})
    held = [Delivery(*row) for row in (yield from rows(SQL.hold_deliveries, workspace=workspace, ids=ids))]
    known = {delivery.id: delivery for delivery in held if delivery.number == PENDING}
    spec = at.spec if at is not None else model.Spec("", ())
    moves = [model.decide(known[r.delivery], spec, r) for r in results if r.delivery in known]
    yield from move(workspace, moves)
    freed = [known[m.id] for m in moves if m.number not in {PENDING, BLOCKED}]
    gone = {m.id for m in moves if m.number != DELIVERED}
    yield from move_up(workspace, [(d, d.skipped + 1 if d.id in gone else 0) for d in freed])
    return moves, known


def move(workspace: str, moves: Sequence[Move]) -> Plan[None]:
    """Move deliveries that are held."""
    if moves:
        columns = {"id": "id", "state": "number", "tries": "tries", "wait": "wait"}
        items = {column: [getattr(m, name) for m in moves] for column, name in columns.items()}
        yield from rows(SQL.move, workspace=workspace, **items)


def move_up(workspace: str, freed: Sequence[tuple[Delivery, int]]) -> Plan[None]:
    """Let the next of each lane be tried whose first is through; each with how many before it were given up."""
    for webhook in sorted({delivery.webhook for delivery, _ in freed}):
        lanes = {d.lane: skipped for d, skipped in freed if d.lane is not None and d.webhook == webhook}
        if lanes:
            item = {"webhook": webhook, "lane": list(lanes), "skipped": list(lanes.values())}
            yield from rows(SQL.move_up, workspace=workspace, **item)


def _fared(
    workspace: str, at: Endpoint, results: Sequence[Result], now: datetime, moves: Sequence[Move],
    known: Mapping[str, Delivery],
) -> Plan[None]:  # fmt: skip
    """Write down how the endpoint fares; disable it where that says so, and tell of lanes that are blocked.

    `results` are of attempts that began since it is as it is: what an address before that answered tells nothing.
    """
    answers = [result.answered for result in results]
    fares = health.after(at.health, answers, now)
    well = any(answered.well for answered in answers)
    if fares != at.health or (well and (at.last_success_at is None or (now - at.last_success_at).total_seconds() > 60)):
        yield from rows(
            SQL.fare, workspace=workspace, id=at.id, failures=fares.failures, failing_since=fares.failing_since,
            paused_until=fares.paused_until, pauses=fares.pauses, width=fares.width,
            last_success_at=now if well else None,
        )  # fmt: skip
    if at.enabled and (why := health.disables(fares, answers, now)) is not None:
        at = yield from off(workspace, at, why, None)
    for moved in moves:
        if moved.number == BLOCKED:
            at = yield from blocked(workspace, at, known[moved.id].lane or "", moved.id)


def blocked(workspace: str, held: Endpoint, lane: str, delivery: str) -> Plan[Endpoint]:
    """Tell that a lane waits for an operator."""
    revision = yield from one(SQL.raise_, int, workspace=workspace, id=held.id)
    data = {"aggregate_id": lane, "delivery_id": delivery}
    yield from told(workspace, held, "webhook.blocked", data, None, revision)
    return held


@single_operation
def lapse(workspace: str, limit: int) -> Plan[int]:
    """End attempts whose sender was not heard of in time: nobody knows what they came to."""
    found = yield from rows(SQL.overdue, workspace=workspace, limit=limit)
    settled = 0
    for webhook in sorted({row[2] for row in found}):
        results = [Result(delivery, n, "unknown", why=LAPSED, ours=True) for delivery, n, of in found if of == webhook]
        settled += yield from settle.plan(workspace, webhook, results)
    return settled
