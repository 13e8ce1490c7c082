"""Subscriptions, and what an operator says of publications."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from steadhold import fences
from steadhold.events import flow, relaying
from steadhold.events.flow import (
    STATES,
    DeleteOutcome,
    Ending,
    PutOutcome,
    Replayed,
    ReplayPruned,
    Settled,
    Spec,
    State,
    Steered,
    SteerOutcome,
    Subscribed,
    Subscription,
    SubscriptionsFull,
    Told,
    Unsubscribed,
    WritersOpen,
)
from steadhold.events.model import Event, Happened, Number, event
from steadhold.events.plans import SQL, record
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import SUBSCRIPTIONS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows, single_operation
from steadhold.kit.rules import Id, Limit, Moment, Uuid
from steadhold.kit.sql import Row

PATIENCE_MS: Final = 100
"""How long the first subscription of a workspace holds up whoever writes events, at most."""

MINE: Final = "subscriptions"
CHANGES: Final = ("subscription.created", "subscription.changed", "subscription.deleted")
"""What somebody does with a subscription."""

FIRST: Final = ("0", str(UUID(int=0)))
SKIPPED_AT_ONCE: Final = 1_000
"""What is on its way to a subscription that is deleted, and is skipped with that."""


def want(workspace: str, by: str, patience_ms: int = PATIENCE_MS) -> Plan[bool]:
    """Be a taker of what commits once this has committed. False, and nothing happened, where writers are in the way."""
    return (yield from one(SQL.want, bool, workspace=workspace, taker=by, patience_ms=patience_ms))


def unwant(workspace: str, by: str) -> Plan[None]:
    """Be a taker no longer. `hold_taker` first, then look whether anybody needs it."""
    yield from rows(SQL.unwant, workspace=workspace, taker=by)


def hold_taker(workspace: str, by: str) -> Plan[None]:
    """Hold off whoever wants to rely on this taker, until commit."""
    yield from rows(SQL.taker_held, workspace=workspace, taker=by)


@single_operation
def subscribe(
    workspace: str,
    id: Id,
    spec: Spec,
    expected: int | None,
    fences_held: Sequence[FenceRef] = (),
    *,
    patience_ms: int = PATIENCE_MS,
) -> Plan[PutOutcome]:
    """Say which events go where, if the subscription has revision `expected`; None: if there is none of this id.

    Whatever commits after this has committed is published by it. Outcomes: `Subscribed`, `RevisionConflict`, `Missing`,
    `StaleFence`, `SubscriptionsFull`, `WritersOpen` where events were being written for longer than `patience_ms`.
    """
    if stale := (yield from fences.require(workspace, fences_held)):
        return stale
    found = yield from rows(SQL.subscription_held, workspace=workspace, subscription=id)
    revision, gone, ending = found[0] if found else (None, True, False)
    if gone and expected is not None:
        return Missing(revision)
    if not gone and expected != revision:
        return RevisionConflict(revision)
    if ending:
        return Ending()
    if gone and (yield from one(SQL.subscriptions_count, int, workspace=workspace)) >= SUBSCRIPTIONS_MAX:
        return SubscriptionsFull()
    if not (yield from want(workspace, MINE, patience_ms)):
        return WritersOpen()
    item = {"types": [*spec.types], "aggregates": [*spec.aggregates], "target": spec.target, "ordered": spec.ordered}
    made = yield from rows(SQL.subscribe, workspace=workspace, subscription=id, expected=revision, **item)
    if not made:
        return RevisionConflict(None)
    number, now = made[0][0], flow.subscription(*made[0][1:])
    yield from _tell(workspace, id, number, "created" if gone else "changed", now.revision, spec)
    return Subscribed(now, created=bool(gone))


def _tell(workspace: str, id: str, number: int, what: str, revision: int, spec: Spec | None = None) -> Plan[None]:
    """Write down what became of a held subscription: `subscription.<what>`, number `number` of its events."""
    name = f"subscription.{what}"
    assert name in CHANGES, "every event has its place in the guide"
    said = flow.said_of(spec) if spec else {}
    data = msgspec.json.encode({"subscription_id": id, "revision": revision, **said})
    yield from record(workspace, [(f"subscription:{id}", number, Happened(name, data))])


@single_operation
def unsubscribe(workspace: str, id: Id, expected: Number, fences_held: Sequence[FenceRef] = ()) -> Plan[DeleteOutcome]:
    """Delete a subscription at revision `expected`; what is on its way to it is skipped, never published from here on.

    Much of it is skipped in steps after this (`end`), and until then nobody can subscribe under this id (`Ending`).
    """
    if stale := (yield from fences.require(workspace, fences_held)):
        return stale
    under_way = yield from _held(
        workspace, id, SKIPPED_AT_ONCE
    )  # events before subscriptions: who matches takes them so
    found = yield from rows(SQL.subscription_held, workspace=workspace, subscription=id)
    if not found or found[0][1]:
        return Missing(found[0][0] if found else None)
    if found[0][0] != expected:
        return RevisionConflict(found[0][0])
    yield from relaying.skip(workspace, under_way)
    ((revision, number),) = yield from rows(SQL.unsubscribe, workspace=workspace, subscription=id)
    yield from _tell(workspace, id, number, "deleted", revision)
    yield from hold_taker(workspace, MINE)
    if not (yield from one(SQL.subscriptions_count, int, workspace=workspace)):
        yield from unwant(workspace, MINE)
    return Unsubscribed(revision)


@single_operation
def end(workspace: str, limit: int) -> Plan[int]:
    """Skip some of what is on its way to a subscription that was deleted; answers how many."""
    found = yield from rows(SQL.ending, workspace=workspace)
    if not found:
        return 0
    ((id,),) = found
    under_way = yield from _held(workspace, id, limit)
    yield from relaying.skip(workspace, under_way)
    if len(under_way) < limit:
        yield from rows(SQL.has_ended, workspace=workspace, subscription=id)
    return len(under_way)


def _held(workspace: str, id: str, limit: int) -> Plan[list[Row]]:
    found = yield from rows(SQL.open_of, workspace=workspace, subscription=id, limit=limit)
    yield from relaying.hold(workspace, [row[:3] for row in found])
    return [*found]


@operation
def subscription(workspace: str, id: Id) -> Plan[Subscription | Missing]:
    """Read a subscription; `Missing` has the last revision of one that was deleted."""
    found = yield from rows(SQL.subscription, workspace=workspace, subscription=id)
    if not found or found[0][-1]:
        return Missing(found[0][1] if found else None)
    return flow.subscription(*found[0][:-1])


@operation
def subscriptions(workspace: str, after: str, limit: Limit) -> Plan[list[Subscription]]:
    """List subscriptions by id, from behind `after`."""
    found = yield from rows(SQL.subscriptions, workspace=workspace, after=after, limit=limit)
    return [flow.subscription(*row) for row in found]


# --- publications -----------------------------------------------------------------------------


@operation
def publications(workspace: str, state: State, after: tuple[str, str] | None, limit: Limit) -> Plan[list[Told]]:
    """List publications that are pending, blocked or parked, the oldest first; `after` is a place of theirs."""
    microseconds, id = after or FIRST
    found = yield from rows(
        SQL.publications, workspace=workspace, state=STATES.index(state), microseconds=int(microseconds),
        after=UUID(id), limit=limit,
    )  # fmt: skip
    return [_told(*row) for row in found]


def _told(id: UUID, subscription: str, target: str, aggregate_id: str, revision: int, state: int, *rest: Any) -> Told:
    return Told(str(id), subscription, target, aggregate_id, revision, STATES[state], *rest)


@operation
def retry(workspace: str, id: Uuid) -> Plan[SteerOutcome]:
    """Let a blocked or parked publication be tried now, with all its attempts before it."""
    return (yield from _steer(workspace, id, "retry"))


@operation
def skip(workspace: str, id: Uuid) -> Plan[SteerOutcome]:
    """Never publish this; what waits behind it goes on."""
    return (yield from _steer(workspace, id, "skip"))


def _steer(workspace: str, id: str, verb: str) -> Plan[SteerOutcome]:
    found = yield from maybe(SQL.publication, _told, workspace=workspace, id=UUID(id))
    if found is None:
        return Missing()
    place = (found.aggregate_id, found.aggregate_revision)
    _, (hand,) = yield from relaying.hold(workspace, [(*place, found.subscription)])
    if not hand:
        return Missing()
    now: int = hand[0][-1]
    state = STATES[now]
    if state in {"published", "skipped"} or (verb == "retry" and state == "pending"):
        return Settled(state)
    if verb == "skip":
        yield from relaying.skip(workspace, [(*place, found.subscription, UUID(id))])
    else:
        yield from rows(SQL.again, workspace=workspace, ids=[UUID(id)])
    return Steered((yield from one(SQL.publication, _told, workspace=workspace, id=UUID(id))))


@single_operation
def replay(
    workspace: str, id: Id, first: Moment, until: Moment, after: tuple[str, int], limit: int
) -> Plan[Replayed | Missing | ReplayPruned]:
    """Publish what happened from `first` to before `until` again, if the subscription wants it.

    `ReplayPruned` where something that it may have wanted is not kept any more.

    At most `limit` events from behind the place `after` are looked at; go on from `Replayed.after` until it is None.
    """
    found = yield from subscription.plan(workspace, id)
    if isinstance(found, Missing):
        return Missing()
    seen = yield from rows(
        SQL.replayable, workspace=workspace, first=first, until=until, limit=limit,
        aggregate_id=after[0], aggregate_revision=after[1],
    )  # fmt: skip
    kept = [told for told in (event(*row) for row in seen) if flow.goes_to(found, told)]
    held = yield from each(
        SQL.event_held, [relaying.place(workspace, told.aggregate_id, told.aggregate_revision) for told in kept]
    )
    if not (yield from rows(SQL.subscription_kept, workspace=workspace, subscription=id)):
        return Missing()  # held behind the events, as whoever matches or deletes it holds them
    horizons = yield from rows(SQL.horizons, workspace=workspace)
    removed = max((to for jobs, to in horizons if flow.may_want(found.spec, jobs=jobs)), default=None)
    if removed is not None and first <= removed:
        return ReplayPruned(removed + timedelta(microseconds=1))
    wanted: list[Event] = [event(*hand[0]) for hand in held if hand]
    yield from relaying.publish(workspace, wanted, found, again=True)
    return Replayed(len(wanted), (seen[-1][0], seen[-1][1]) if len(seen) == limit else None)


@single_operation
def announce(workspace: str, limit: int) -> Plan[int]:
    """Say of subscriptions that something of theirs is parked: when it was, and each day that it still is."""
    found = yield from rows(SQL.to_announce, workspace=workspace, limit=limit)
    hands = yield from each(SQL.parked, [{"workspace": workspace, "subscription": id} for id, _ in found])
    told = {
        id: (f"subscription:{id}", told + 1, Happened("publication.parked", _summary(id, *hand[0])))
        for (id, told), hand in zip(found, hands, strict=True)
        if hand
    }
    yield from record(workspace, [*told.values()])
    yield from each(
        SQL.announced,
        [{"workspace": workspace, "subscription": id, "told": told[id][1] if id in told else None} for id, _ in found],
    )
    return len(found)


def _summary(id: str, count: int, publication: str, why: str | None) -> bytes:
    return msgspec.json.encode({"subscription": id, "parked": count, "publication": publication, "why": why})
