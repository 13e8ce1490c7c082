"""A change and its event share a transaction, and whoever waits for the change is marked in it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from steadhold import fences
from steadhold.events.model import (
    KEPT_SECONDS,
    Aggregate,
    Appended,
    Due,
    Event,
    EventsPruned,
    EventTaken,
    Happened,
    Head,
    History,
    ReservedId,
    TransitionConflict,
    Waiting,
    event,
    event_id,
    is_ours,
    place_of,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import EVENT_DATA_BYTES_MAX, EVENTS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows
from steadhold.kit.sql import Item, load

SQL = load(__file__)


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
    aggregate_id: str,
    expected: int | None,
    happened: Sequence[Happened],
    *,
    fence: FenceRef | None = None,
    from_state: str | None = None,
    state: str | None = None,
    aggregate_type: str | None = None,
    owner: str | None = None,
) -> Plan[Appended | RevisionConflict | StaleFence | TransitionConflict | EventTaken | ReservedId]:
    """Move an aggregate from revision `expected` by one for each event, in your transaction.

    `expected` None creates it, with a type and an owner ("lock:<its id>" or "job:<id>", the grant that every
    append then needs as `fence`). `from_state` is the state that it must be in, `state` the one it comes to.
    Any refusal leaves nothing.
    """
    if not 1 <= len(happened) <= EVENTS_MAX:
        raise ValueError(f"an append has 1 to {EVENTS_MAX} events, not {len(happened)}")
    if is_ours(aggregate_id):
        return ReservedId(aggregate_id)
    found = yield from aggregate.plan(workspace, aggregate_id)
    needed = owner if isinstance(found, Missing) else found.owner
    if refused := (yield from _owned(workspace, needed, fence)):
        return refused
    if refused := (yield from _new_ids(workspace, happened)):
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
    return Appended(moved, tuple((yield from record(workspace, placed))))


def _owned(workspace: str, owner: str | None, fence: FenceRef | None) -> Plan[StaleFence | None]:
    if fence is not None and (refused := (yield from fences.require(workspace, [fence]))):
        return refused
    return StaleFence(owner) if owner is not None and (fence is None or fence.subject != owner) else None


def _new_ids(workspace: str, happened: Sequence[Happened]) -> Plan[EventTaken | None]:
    named = [told.event_id for told in happened if told.event_id is not None]
    hands = yield from each(SQL.taken, [{"workspace": workspace, "event_id": name} for name in named])
    twice = next((name for n, name in enumerate(named) if name in named[:n]), None)
    taken = next((name for name, hand in zip(named, hands, strict=True) if hand), twice)
    return None if taken is None else EventTaken(taken)


def _conflict(found: Aggregate | Missing, expected: int | None) -> RevisionConflict | TransitionConflict:
    if isinstance(found, Missing):
        return RevisionConflict(None)
    return TransitionConflict(found.state) if found.revision == expected else RevisionConflict(found.revision)


@operation
def aggregate(workspace: str, aggregate_id: str) -> Plan[Aggregate | Missing]:
    """Read where an aggregate stands."""
    found = yield from maybe(SQL.aggregate, Aggregate, workspace=workspace, aggregate_id=aggregate_id)
    return found or Missing()


@operation
def history(workspace: str, aggregate_id: str, after: int, limit: int) -> Plan[History | EventsPruned]:
    """Read an aggregate's events above a revision, oldest first.

    `EventsPruned` where events above it were removed, which only the aggregate's first kept revision can tell (or its
    next, where none is kept): revisions rise by one, but for where a new incarnation begins.
    """
    found = yield from rows(SQL.history, workspace=workspace, aggregate_id=aggregate_id, after=after, limit=limit)
    events = tuple(event(*row) for row in found)
    if events and events[0].aggregate_revision == after + 1:
        return History(events)
    first = yield from one(SQL.first_kept, _number, workspace=workspace, aggregate_id=aggregate_id)
    if first is not None and first > after + 1 and first & 0xFFFF_FFFF != 1:
        return EventsPruned(first)
    return History(events)


def _number(value: int | None) -> int | None:
    return value


@operation
def get(workspace: str, name: str) -> Plan[Event | Missing]:
    """Read an event by its id."""
    if (place := place_of(name)) is None:
        return (yield from maybe(SQL.named, event, workspace=workspace, event_id=name)) or Missing()
    aggregate_id, revision = place
    item = {"workspace": workspace, "aggregate_id": aggregate_id, "aggregate_revision": revision}
    return (yield from maybe(SQL.at, event, **item)) or Missing()


@operation
def purge(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove at most `limit` events past their window; a job's own stay as long as the job."""
    return (yield from one(SQL.purge, int, workspace=workspace, kept_seconds=kept_seconds, limit=limit))


def forget(workspace: str, aggregate_ids: Sequence[str]) -> Plan[int]:
    """Remove the events of jobs that are being purged, but for what a relay has yet to match."""
    return (yield from one(SQL.forget, int, workspace=workspace, aggregate_ids=list(aggregate_ids)))


def move(workspace: str, heads: Sequence[Head]) -> Plan[None]:
    """Say where subjects stand now, and mark due whoever waits for them. Rank heads.

    A change and its heads share a transaction; the room has locked its own rows before.
    """
    yield from each(
        SQL.move,
        [
            {
                "workspace": workspace,
                "subject": head.subject,
                "revision": head.revision,
                "state": head.state,
                "open": head.open,
                "of": head.of,
            }
            for head in heads
        ],
    )
    yield from settled(workspace, [head.subject for head in heads])


def settled(workspace: str, subjects: Sequence[str]) -> Plan[None]:
    """Mark due whoever waits for these subjects, for a room that keeps where they stand in rows of its own.

    Those rows are locked before: a job registers its wait under the same lock, so neither misses the other.
    """
    yield from each(SQL.settled, [{"workspace": workspace, "subject": subject} for subject in subjects])


def head(workspace: str, subject: str) -> Plan[Head | None]:
    """Read where a subject stands, without holding it there; None: nothing was ever said of it."""
    return (yield from maybe(SQL.head, Head, workspace=workspace, subject=subject))


def hold(workspace: str, subject: str) -> Plan[Head | None]:
    """Read where a subject stands and keep it there until commit; None: nothing was ever said of it. Rank heads."""
    return (yield from maybe(SQL.hold, Head, workspace=workspace, subject=subject))


def heads_of(workspace: str, of: str) -> Plan[list[Head]]:
    """Read where the subjects stand that belong to another, as a job's effects do."""
    return [Head(*row) for row in (yield from rows(SQL.heads_of, workspace=workspace, of=of))]


def drop_heads(workspace: str, subjects: Sequence[str]) -> Plan[None]:
    """Forget subjects that are being purged."""
    yield from each(SQL.drop_heads, [{"workspace": workspace, "subject": subject} for subject in subjects])


def wait(workspace: str, waiting: Sequence[Waiting]) -> Plan[None]:
    """Register what jobs wait for, after `hold` (or the lock of the subject's own row) and a look that says not yet."""
    yield from each(
        SQL.wait,
        [
            {
                "workspace": workspace,
                "job_id": UUID(w.job_id),
                "subject": w.subject,
                "stage": w.stage,
                "until": w.until,
                "what": w.what,
            }
            for w in waiting
        ],
    )


def due(workspace: str, limit: int) -> Plan[list[str]]:
    """List jobs whose wait is over, by its subject's change or its time. Locks nothing: lock the jobs, then `take`."""
    return [str(job_id) for (job_id,) in (yield from rows(SQL.due, workspace=workspace, limit=limit))]


def take(workspace: str, job_ids: Sequence[str]) -> Plan[list[Due | None]]:
    """Take away the waits that are over, of jobs whose rows are locked; None where it is not over, or was taken."""
    hands = yield from each(SQL.take, [_job(workspace, job_id) for job_id in job_ids])
    return [Due(str(hand[0][0]), *hand[0][1:]) if hand else None for hand in hands]


def unwait(workspace: str, job_ids: Sequence[str]) -> Plan[None]:
    """Take away waits of jobs that end otherwise; their rows are locked."""
    yield from each(SQL.unwait, [_job(workspace, job_id) for job_id in job_ids])


def _job(workspace: str, job_id: str) -> dict[str, Any]:
    return {"workspace": workspace, "job_id": UUID(job_id)}
