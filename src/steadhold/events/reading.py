"""What is there to be read: aggregates, their history, events by their ids, and what led to them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from steadhold.events.model import Aggregate, Causes, Event, EventsPruned, History, Number, event, place_of
from steadhold.events.plans import SQL
from steadhold.kit.limits import CAUSES_MAX
from steadhold.kit.outcome import Missing
from steadhold.kit.plan import Plan, maybe, operation, rows
from steadhold.kit.rules import Bytes, Id, Limit

Steps: TypeAlias = Annotated[int, Meta(ge=1, le=CAUSES_MAX)]


@operation
def aggregates(workspace: str, after: str, limit: Limit) -> Plan[list[Aggregate]]:
    """List aggregates by id, from behind `after`: those that you made, not those of the house."""
    found = yield from rows(SQL.aggregates, workspace=workspace, after=after, limit=limit)
    return [Aggregate(*row) for row in found]


@operation
def causes(workspace: str, name: Id, limit: Steps = CAUSES_MAX) -> Plan[Causes | Missing]:
    """Follow an event back by `causation_id`, over all aggregates, at most `limit` steps; no event comes twice."""
    found = yield from get.plan(workspace, name)
    if isinstance(found, Missing):
        return found
    seen, chain = {name}, list[Event]()
    while (cause := found.causation_id) is not None and cause not in seen:
        if len(chain) == limit:
            return Causes(tuple(chain), more=True)
        seen.add(cause)
        found = yield from get.plan(workspace, cause)
        if isinstance(found, Missing):
            return Causes(tuple(chain), lost=True)
        chain.append(found)
    return Causes(tuple(chain))


@operation
def history(
    workspace: str, aggregate_id: Id, after: Number, limit: Limit, *, bytes_max: Bytes | None = None
) -> Plan[History | EventsPruned | Missing]:
    """Read an aggregate's events above a revision, oldest first. `Missing`: nobody knows the aggregate.

    With `bytes_max` they end with the one that brings their data to it, and `cut` says that more of them follow.

    `EventsPruned` where events above it were removed, which only the aggregate's first kept revision can tell (or its
    next, where none is kept): revisions rise by one, but for where a new incarnation begins.
    """
    asked = {"workspace": workspace, "aggregate_id": aggregate_id, "after": after, "limit": limit, "bytes": bytes_max}
    found = yield from rows(SQL.history, **asked)
    read = History(tuple(event(*row) for *row, _ in found), cut=bool(found) and found[0][-1] > len(found))
    if found and read.events[0].aggregate_revision == after + 1:
        return read
    ((first,),) = yield from rows(SQL.first_kept, workspace=workspace, aggregate_id=aggregate_id)
    if first is None:
        return Missing()
    if first > after + 1 and first & 0xFFFF_FFFF != 1:
        return EventsPruned(first)
    return read


@operation
def get(workspace: str, name: Id) -> Plan[Event | Missing]:
    """Read an event by its id."""
    if (place := place_of(name)) is None:
        return (yield from maybe(SQL.named, event, workspace=workspace, event_id=name)) or Missing()
    aggregate_id, revision = place
    item = {"workspace": workspace, "aggregate_id": aggregate_id, "aggregate_revision": revision}
    return (yield from maybe(SQL.at, event, **item)) or Missing()
