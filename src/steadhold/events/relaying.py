"""The relay: matches events with subscriptions after their commit, and publishes them. No relay is special.

Matching and the publishing of a lane are each done by one relay at a time; what a relay leaves undone, another does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from steadhold import fences
from steadhold.events import flow
from steadhold.events.flow import Append, Publication, Subscription, Taker
from steadhold.events.model import Event, event
from steadhold.events.plans import SQL
from steadhold.events.turns import Turns, in_turn
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Plan, each, one, operation, rows, single_operation
from steadhold.kit.sql import Item, Row

LaneOutcome: TypeAlias = fences.Granted | fences.Held | fences.KeySpent
LANE_SECONDS: Final = 30.0
KEYS: Final = 50
EACH: Final = 10
"""A claim takes so many keys of a lane, and so many publications of each."""

APART: Final = 100
"""So many publications of a key are set apart at once, behind one that waits."""

DUE_AT_ONCE: Final = 10_000
"""So many whose time has come are given their turn at once; others follow with the next look."""


@single_operation
def match(workspace: str, limit: int, takers: Sequence[Taker] = ()) -> Plan[int]:
    """Write publications for the oldest events that nobody has matched yet, and give the events to the takers.

    Answers how many it matched; 0 where another relay is at it.
    """
    if not (yield from one(SQL.matching, bool, workspace=workspace)):
        return 0
    found = [event(*row) for row in (yield from rows(SQL.unmatched, workspace=workspace, limit=limit))]
    if not found:
        return 0
    subscribed = [flow.subscription(*row) for row in (yield from rows(SQL.subscribed, workspace=workspace))]
    items = [_item(workspace, told, to) for told in found for to in subscribed if flow.goes_to(to, told)]
    yield from each(SQL.publish, [{**item, "again": False} for item in items])
    for take in takers:
        yield from take(workspace, found)
    wanted = {(item["aggregate_id"], item["aggregate_revision"]) for item in items}
    yield from each(SQL.matched, [{**_place(workspace, told), "open": _at(told) in wanted} for told in found])
    return len(found)


def _item(workspace: str, told: Event, to: Subscription) -> dict[str, Any]:
    key = flow.key_of(to.spec, told)
    return {
        **_place(workspace, told),
        "subscription": to.id,
        "target": to.spec.target,
        "lane": flow.lane_of(key),
        "key": key,
    }


def _at(told: Event) -> tuple[str, int]:
    return told.aggregate_id, told.aggregate_revision


def place(workspace: str, aggregate_id: str, revision: int) -> Item:
    """An event by its place, as statements take it."""
    return {"workspace": workspace, "aggregate_id": aggregate_id, "aggregate_revision": revision}


def _place(workspace: str, told: Event) -> Item:
    return place(workspace, *_at(told))


def publish(workspace: str, told: Sequence[Event], to: Subscription, *, again: bool) -> Plan[None]:
    """Write publications of events whose rows are locked, for one subscription."""
    yield from each(SQL.publish, [{**_item(workspace, one, to), "again": again} for one in told])
    yield from each(SQL.matched, [{**_place(workspace, one), "open": True} for one in told])


@operation
def lanes(workspace: str) -> Plan[list[tuple[str, int]]]:
    """Give their turn to publications whose time has come, and list the lanes in which something has its turn."""
    yield from rows(SQL.due_again, workspace=workspace, limit=DUE_AT_ONCE)
    return [(target, lane) for target, lane in (yield from rows(SQL.lanes, workspace=workspace))]


@operation
def hold_lane(workspace: str, target: str, lane: int, relay: str) -> Plan[LaneOutcome]:
    """Take a lane for a relay. `Held` where another has it."""
    wanted = fences.Wanted(flow.subject(target, lane), relay, LANE_SECONDS)
    return (yield from fences.grant(workspace, [wanted]))[0]


@operation
def renew_lane(workspace: str, ref: FenceRef) -> Plan[fences.Renewed | StaleFence]:
    """Hold a lane for longer."""
    return (yield from fences.renew(workspace, [fences.Renewal(ref.subject, ref.fence)]))[0]


@operation
def leave_lane(workspace: str, ref: FenceRef) -> Plan[fences.Released | StaleFence]:
    """Give a lane back."""
    return (yield from fences.release(workspace, [ref]))[0]


@operation
def free_lanes(workspace: str, limit: int) -> Plan[int]:
    """End what dead relays held. The clock alone has ended it; nobody had to wait for this."""
    refs = yield from fences.lapsed(workspace, "lane", limit)
    yield from fences.end(workspace, refs, released=False)
    return len(refs)


@single_operation
def deliver(
    workspace: str, target: str, lane: int, ref: FenceRef, after: str, append: Append, *, keys: int = KEYS
) -> Plan[tuple[int, str] | StaleFence]:
    """Publish the next of a lane to a target that brings its own plan: appended and settled in one transaction.

    Answers how many keys it dealt with and the last of them, behind which the next call goes on.
    """
    if stale := (yield from fences.require(workspace, [ref])):
        return stale
    dealt, batch = yield from _batch(workspace, target, lane, after, keys)
    if batch:
        answers = yield from append(workspace, target.partition(":")[2], batch)
        yield from _settle(workspace, batch, answers)
    return dealt


@single_operation
def hold_up(
    workspace: str, target: str, lane: int, ref: FenceRef, after: str, why: str
) -> Plan[tuple[int, str] | StaleFence]:
    """Let the next key of a lane be tried later, because its target broke on it."""
    if stale := (yield from fences.require(workspace, [ref])):
        return stale
    dealt, batch = yield from _batch(workspace, target, lane, after, 1)
    yield from _settle(workspace, batch, [flow.Retry(why) for _ in batch])
    return dealt


@operation
def claim(
    workspace: str, target: str, lane: int, ref: FenceRef, after: str
) -> Plan[tuple[tuple[int, str], list[Publication]] | StaleFence]:
    """Read the next of a lane for a target outside, which is asked once this has committed."""
    if stale := (yield from fences.require(workspace, [ref])):
        return stale
    return (yield from _batch(workspace, target, lane, after))


@operation
def settle(
    workspace: str, ref: FenceRef, batch: Sequence[Publication], answers: Sequence[flow.Answer]
) -> Plan[StaleFence | None]:
    """Write down what a target outside answered, if the lane is still held: else another relay asks it again."""
    if stale := (yield from fences.require(workspace, [ref])):
        return stale
    yield from each(SQL.event_held, [_place(workspace, one.event) for one in batch])
    yield from _settle(workspace, batch, answers)
    return None


def _batch(
    workspace: str, target: str, lane: int, after: str, most: int = KEYS
) -> Plan[tuple[tuple[int, str], list[Publication]]]:
    more = {"after": after, "keys": most, "each": EACH + 1}
    turns = in_turn((yield from rows(SQL.ready, workspace=workspace, target=target, lane=lane, **more)), EACH)
    held, waiting = yield from _held(workspace, turns)
    gone = yield from _gone(workspace, sorted({row[1] for row, _ in held}))
    yield from skip(workspace, [(*_at(one), row[1], row[0]) for row, one in held if row[1] in gone])
    yield from _set_apart(workspace, waiting)  # last: after it nothing is waited for
    batch = [_publication(row, one) for row, one in held if row[1] not in gone]
    return (len(turns.keys), turns.keys[-1] if turns.keys else ""), sorted(batch, key=_order)


def _held(workspace: str, turns: Turns) -> Plan[tuple[list[tuple[Row, Event]], list[UUID]]]:
    """Lock what has its turn, what comes after it, which is let in, and what waits before others, of which the ids."""
    told, held = yield from hold(workspace, [*turns.now, *turns.next, *turns.waiting])
    now, behind = len(turns.now), len(turns.now) + len(turns.next)
    yield from _let_in(workspace, [hand[0] for hand in held[now:behind] if hand])
    ready = zip(held[:now], told[:now], strict=True)
    taken = [(hand[0], event(*row[0])) for hand, row in ready if hand and row and hand[0][-1] < 2]
    return taken, [hand[0][0] for hand in held[behind:] if hand]


def _let_in(workspace: str, next_ones: Sequence[Row]) -> Plan[None]:
    """Let in what comes next; behind what has ended meanwhile, what was set apart while that was being ended."""
    if ids := [row[0] for row in next_ones if row[-1] == 0]:
        yield from rows(SQL.let_in, workspace=workspace, ids=ids)
    if ids := [row[0] for row in next_ones if row[-1] > 2]:
        yield from rows(SQL.let_in_behind, workspace=workspace, ids=ids)


def _set_apart(workspace: str, ids: Sequence[UUID]) -> Plan[None]:
    if ids:
        yield from rows(SQL.set_apart, workspace=workspace, ids=ids, each=APART)


def _gone(workspace: str, subscriptions: Sequence[str]) -> Plan[set[str]]:
    hands = yield from each(SQL.gone, [{"workspace": workspace, "subscription": id} for id in subscriptions])
    return {id for id, hand in zip(subscriptions, hands, strict=True) if hand and hand[0][0]}


def hold(workspace: str, publications: Sequence[Sequence[Any]]) -> Plan[tuple[list[list[Row]], list[list[Row]]]]:
    """Lock events, then their publications, each named by aggregate, revision and subscription; the rows of both."""
    named = [{**place(workspace, *at), "subscription": of} for *at, of in publications]
    return (yield from each(SQL.event_held, named)), (yield from each(SQL.publication_held, named))


def _publication(row: Row, told: Event) -> Publication:
    id, subscription, target, key, attempts, _ = row
    return Publication(str(id), subscription, target, key, attempts, told)


def _order(one: Publication) -> tuple[str, int, str]:
    return one.event.aggregate_id, one.event.aggregate_revision, one.subscription


def _settle(workspace: str, batch: Sequence[Publication], answers: Sequence[flow.Answer]) -> Plan[None]:
    taken, held_up = flow.settled(batch, answers)
    published = yield from rows(SQL.published, workspace=workspace, ids=[UUID(id) for id in taken])
    yield from each(SQL.held_up, [_verdict(workspace, verdict) for verdict in held_up])
    yield from _set_apart(workspace, [UUID(verdict.id) for verdict in held_up])
    yield from close(workspace, [(aggregate_id, revision) for aggregate_id, revision in published])


def _verdict(workspace: str, verdict: flow.Verdict) -> Item:
    return {
        "workspace": workspace,
        "id": UUID(verdict.id),
        "attempts": verdict.attempts,
        "seconds": verdict.seconds,
        "why": verdict.why,
    }


def skip(workspace: str, publications: Sequence[Row]) -> Plan[None]:
    """Never publish these, each (aggregate, revision, subscription, id). Their rows, and their events', are locked."""
    if publications:
        yield from rows(SQL.skip, workspace=workspace, ids=[row[3] for row in publications])
        yield from close(workspace, [(row[0], row[1]) for row in publications])


def close(workspace: str, places: Sequence[tuple[str, int]]) -> Plan[None]:
    """Let the window of events begin of which nothing is open any more. Their rows are locked."""
    yield from each(SQL.ended, [place(workspace, *at) for at in sorted(set(places))])
