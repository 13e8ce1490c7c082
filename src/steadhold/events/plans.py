"""A change and its event share a transaction, and whoever waits for the change is marked in it too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from steadhold import fences
from steadhold.events.model import (
    KEPT_SECONDS,
    Aggregate,
    AggregateType,
    Appended,
    EventTaken,
    Happened,
    Number,
    ReferenceUnknown,
    ReservedId,
    Told,
    TransitionConflict,
    TransitionNotPermitted,
    TypeWritten,
    event_id,
    in_context,
    is_ours,
    place_of,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import EVENT_DATA_BYTES_MAX, EVENTS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows
from steadhold.kit.rules import Id, Limit
from steadhold.kit.sql import Item, load

SQL = load(__file__)

AppendOutcome: TypeAlias = (
    Appended | RevisionConflict | StaleFence | TransitionConflict | TransitionNotPermitted | EventTaken | ReservedId
    | ReferenceUnknown
)  # fmt: skip


def record(workspace: str, happened: Sequence[tuple[str, int, Happened]]) -> Plan[list[str]]:
    """Write down events of a room's own aggregates, each (aggregate id, revision, what happened); answers their ids.

    The room owns the revisions and has locked the rows that hold them. Rank aggregates.
    """
    yield from each(SQL.record, [_row(workspace, *placed) for placed in happened])
    return [told.event_id or event_id(aggregate_id, revision) for aggregate_id, revision, told in happened]


def _row(workspace: str, aggregate_id: str, revision: int, told: Happened) -> Item:
    if told.data is not None and len(told.data) > EVENT_DATA_BYTES_MAX:
        raise ValueError(f"an event holds at most {EVENT_DATA_BYTES_MAX} bytes; refer to larger data by data_ref")
    return {
        "workspace": workspace,
        "aggregate_id": aggregate_id,
        "aggregate_revision": revision,
        "event_id": _stored_name(aggregate_id, revision, told.event_id),
        "schema_version": told.schema_version,
        "type": told.type,
        "data_ref": told.data_ref,
        "data": told.data,
        "correlation_id": told.correlation_id,
        "causation_id": told.causation_id,
        "trace": told.trace,
    }


def _stored_name(aggregate_id: str, revision: int, chosen: str | None) -> str | None:
    """None where the name says the place: most rows need no second index."""
    if chosen is None:
        name = event_id(aggregate_id, revision)
        return None if name.startswith(aggregate_id) else name
    if place_of(chosen):
        raise ValueError(f"{chosen} is how an event is named by its revision; choose an id without @ and a number")
    return chosen


@operation
def append(
    workspace: str,
    aggregate_id: Id,
    expected: int | None,
    happened: Sequence[Told],
    *,
    fence: FenceRef | None = None,
    fences_held: Sequence[FenceRef] = (),
    from_state: Id | None = None,
    state: Id | None = None,
    aggregate_type: Id | None = None,
    owner: Id | None = None,
) -> Plan[AppendOutcome]:
    """Move an aggregate from revision `expected` by one for each event, in your transaction.

    `expected` None creates it, with a type and an owner ("lock:<its id>" or "job:<id>", the grant that every
    append then needs as `fence`, or among `fences_held`). `from_state` is the state that it must be in, `state` the
    one it comes to, if its type permits that. Any refusal leaves nothing.
    """
    if not 1 <= len(happened) <= EVENTS_MAX:
        raise ValueError(f"an append has 1 to {EVENTS_MAX} events, not {len(happened)}")
    if owner is not None and owner != f"lock:{aggregate_id}" and not owner.startswith("job:"):
        raise ValueError(f"the owner of {aggregate_id} is lock:{aggregate_id}, or a job: job:<its id>")
    if is_ours(aggregate_id):
        return ReservedId(aggregate_id)
    found = yield from aggregate.plan(workspace, aggregate_id)
    needed = owner if isinstance(found, Missing) else found.owner
    if refused := (yield from _owned(workspace, needed, [*fences_held, *([fence] if fence else [])])):
        return refused
    if refused := (yield from _referred(workspace, happened)):
        return refused
    if refused := (yield from _new_ids(workspace, happened)):
        return refused
    if refused := (yield from _permitted(workspace, found, expected, from_state, state, aggregate_type)):
        return refused
    item = {
        "workspace": workspace,
        "aggregate_id": aggregate_id,
        "aggregate_type": aggregate_type,
        "expected": expected,
        "from_state": from_state,
        "state": state,
        "owner": needed,
        "count": len(happened),
    }
    moved = yield from maybe(SQL.create if expected is None else SQL.advance, int, **item)
    if moved is None:
        return _conflict((yield from aggregate.plan(workspace, aggregate_id)), expected)
    first = moved - len(happened) + 1
    placed = [(aggregate_id, revision, told) for revision, told in enumerate(happened, first)]
    ids = yield from record(workspace, placed)
    yield from _pinned(workspace, zip(ids, happened, strict=True))
    return Appended(moved, tuple(ids))


def _owned(workspace: str, owner: str | None, refs: Sequence[FenceRef]) -> Plan[StaleFence | None]:
    if refs and (refused := (yield from fences.require(workspace, refs))):
        return refused
    return StaleFence(owner) if owner is not None and all(ref.subject != owner for ref in refs) else None


def _referred(workspace: str, happened: Sequence[Happened]) -> Plan[ReferenceUnknown | None]:
    """What lies in context is held before anything is written, and pinned once the events have their ids."""
    named = sorted({told.data_ref for told in happened if told.data_ref is not None and in_context(told.data_ref)})
    hands = yield from each(SQL.hold_refs, [{"workspace": workspace, "data_ref": ref} for ref in named])
    lost = next((ref for ref, hand in zip(named, hands, strict=True) if hand != [(True,)]), None)
    return None if lost is None else ReferenceUnknown(lost)


def _pinned(workspace: str, told: Iterable[tuple[str, Happened]]) -> Plan[None]:
    refs = [(name, one.data_ref) for name, one in told if one.data_ref is not None and in_context(one.data_ref)]
    yield from each(SQL.pin_refs, [{"workspace": workspace, "event_id": name, "data_ref": ref} for name, ref in refs])


def _permitted(
    workspace: str,
    found: Aggregate | Missing,
    expected: int | None,
    from_state: str | None,
    state: str | None,
    aggregate_type: str | None,
) -> Plan[TransitionConflict | TransitionNotPermitted | None]:
    """At its expected revision an aggregate is in one state alone, so what was read of it without a lock decides."""
    before = None
    if isinstance(found, Aggregate):
        if found.revision != expected:
            return None
        if from_state is not None and found.state != from_state:
            return TransitionConflict(found.state)
        aggregate_type, before = found.aggregate_type, found.state
    if state is None or aggregate_type is None:
        return None
    kind = yield from get_type.plan(workspace, aggregate_type)
    if isinstance(kind, Missing) or kind.permits(before, state):
        return None
    return TransitionNotPermitted(before, state)


def _new_ids(workspace: str, happened: Sequence[Happened]) -> Plan[EventTaken | None]:
    named = [told.event_id for told in happened if told.event_id is not None]
    items = [{"workspace": workspace, "event_id": name} for name in named]
    yield from each(SQL.hold_name, items)
    hands = yield from each(SQL.taken, items)
    twice = next((name for n, name in enumerate(named) if name in named[:n]), None)
    taken = next((name for name, hand in zip(named, hands, strict=True) if hand), twice)
    return None if taken is None else EventTaken(taken)


def _conflict(found: Aggregate | Missing, expected: int | None) -> RevisionConflict | TransitionConflict:
    if isinstance(found, Missing):
        return RevisionConflict(None)
    return TransitionConflict(found.state) if found.revision == expected else RevisionConflict(found.revision)


@operation
def transition(
    workspace: str,
    aggregate_id: Id,
    from_state: Id,
    state: Id,
    expected: int,
    happened: Sequence[Told],
    *,
    fence: FenceRef | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[AppendOutcome]:
    """Let an aggregate at revision `expected` go from one state to another, as `append` does, in your transaction."""
    return (
        yield from append.plan(
            workspace, aggregate_id, expected, happened, fence=fence, fences_held=fences_held, from_state=from_state,
            state=state,
        )
    )  # fmt: skip


@operation
def aggregate(workspace: str, aggregate_id: Id) -> Plan[Aggregate | Missing]:
    """Read where an aggregate stands."""
    found = yield from maybe(SQL.aggregate, Aggregate, workspace=workspace, aggregate_id=aggregate_id)
    return found or Missing()


@operation
def require(workspace: str, aggregate_id: Id, revision: Number) -> Plan[RevisionConflict | Missing | None]:
    """Require that an aggregate is at a revision, and keep it there until commit."""
    found = yield from maybe(SQL.require, int, workspace=workspace, aggregate_id=aggregate_id)
    if found is None:
        return Missing()
    return None if found == revision else RevisionConflict(found)


@operation
def put_type(
    workspace: str,
    aggregate_type: Id,
    states: Sequence[Id],
    edges: Sequence[tuple[Id, Id]],
    expected: int | None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[TypeWritten | RevisionConflict | StaleFence]:
    """Say in which states aggregates of a type can be, and how they move, if that has revision `expected`."""
    if stale := (yield from fences.require(workspace, fences_held)):
        return stale
    item = {
        "workspace": workspace,
        "aggregate_type": aggregate_type,
        "states": list(states),
        "edges_from": [before for before, _ in edges],
        "edges_to": [after for _, after in edges],
    }
    made = (
        yield from maybe(SQL.make_type, _type, **item)
        if expected is None
        else maybe(SQL.change_type, _type, expected=expected, **item)
    )
    if made is not None:
        return TypeWritten(made, created=expected is None)
    found = yield from get_type.plan(workspace, aggregate_type)
    return RevisionConflict(None if isinstance(found, Missing) else found.revision)


@operation
def get_type(workspace: str, aggregate_type: Id) -> Plan[AggregateType | Missing]:
    """Read what aggregates of a type may do."""
    return (
        yield from maybe(SQL.aggregate_type, _type, workspace=workspace, aggregate_type=aggregate_type)
    ) or Missing()


@operation
def types(workspace: str, after: str, limit: Limit) -> Plan[list[AggregateType]]:
    """List the types of aggregates by name, from behind `after`."""
    return [_type(*row) for row in (yield from rows(SQL.types, workspace=workspace, after=after, limit=limit))]


def _type(name: str, revision: int, states: list[str], before: list[str], after: list[str]) -> AggregateType:
    return AggregateType(name, revision, tuple(states), tuple(zip(before, after, strict=True)))


@operation
def purge(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove at most `limit` events past their window; a job's own stay as long as the job."""
    return (yield from one(SQL.purge, int, workspace=workspace, kept_seconds=kept_seconds, limit=limit))


def forget(workspace: str, aggregate_ids: Sequence[str]) -> Plan[int]:
    """Remove the events of jobs that are being purged, but for what a relay has yet to match."""
    return (yield from one(SQL.forget, int, workspace=workspace, aggregate_ids=list(aggregate_ids)))


def due(workspace: str, limit: int) -> Plan[list[str]]:
    """List jobs whose wait is over, by its subject's change or its time. Locks nothing: lock the jobs, then `take`."""
    return [str(job_id) for (job_id,) in (yield from rows(SQL.due, workspace=workspace, limit=limit))]
