"""What operators do with deliveries, and the sweeps: replay one or many, ping, cancel, announce, skip, remove."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from steadhold import events
from steadhold.kit.outcome import Missing
from steadhold.kit.plan import Plan, maybe, one, rows, single_operation
from steadhold.kit.rules import Limit, Moment, Uuid
from steadhold.webhooks.delivering import blocked as tell_blocked
from steadhold.webhooks.delivering import keep, move, move_up
from steadhold.webhooks.model import (
    BLOCKED,
    CANCELLED,
    DELIVERED,
    EXHAUSTED,
    PENDING,
    PING,
    REPLAY,
    SKIPPED,
    Attempt,
    Cancelled,
    Delivered,
    Delivery,
    Endpoint,
    Move,
    Only,
    Placed,
    Replay,
    Type,
    endpoint,
)
from steadhold.webhooks.naming import delivery_id, gone_by_now
from steadhold.webhooks.outcomes import Disabled, Ended, Pruned, ReplayEnded
from steadhold.webhooks.plans import SQL, hold

KEPT_SECONDS: Final = 30 * 86_400
"""How long a delivery with its attempts is kept, unless the server is set otherwise."""


def _absent(workspace: str, id: str, kept_seconds: float) -> Plan[Missing | Pruned]:
    """What is said of an id that nothing is kept of: one as old as what was removed may have been."""
    first, reach = yield from one(SQL.first_body, _pair, workspace=workspace, kept_seconds=float(kept_seconds))
    return Pruned(_left(first, reach)) if gone_by_now(id, reach) else Missing()


def _left(first: datetime | None, reach: datetime) -> datetime:
    return first if first is not None and first > reach else reach


@single_operation
def delivery(
    workspace: str, id: Uuid, *, kept_seconds: float = KEPT_SECONDS
) -> Plan[Delivered | Missing | Pruned]:  # fmt: skip
    """Read a delivery with its attempts."""
    found = yield from maybe(SQL.delivery, Delivery, workspace=workspace, id=id)
    if found is None:
        return (yield from _absent(workspace, id, kept_seconds))
    attempts = yield from rows(SQL.attempts, workspace=workspace, delivery=id)
    return Delivered(found, tuple(Attempt(*row) for row in attempts))


@single_operation
def deliveries(
    workspace: str, webhook: Uuid, state: int | None, before: tuple[datetime, str], limit: Limit
) -> Plan[list[Delivery] | Missing]:
    """List an endpoint's deliveries, in a state or all, the newest first, from before a moment and an id."""
    if not (yield from rows(SQL.look, workspace=workspace, id=webhook)):
        return Missing()
    item = {"workspace": workspace, "webhook": webhook, "state": state, "limit": limit}
    found = yield from rows(SQL.deliveries, **item, before=before[0], before_id=before[1])
    return [Delivery(*row) for row in found]


@single_operation
def ping(workspace: str, webhook: Uuid, id: Uuid, body: bytes, type: Type) -> Plan[Placed | Missing]:
    """Send a test event to an endpoint, also while it is disabled: once, without retries."""
    held = yield from hold(workspace, webhook)
    if not isinstance(held, Endpoint):
        return Missing()
    event_id = f"ping_{id}"
    yield from keep(workspace, [(event_id, held.subject, held.revision, type, body, None)])
    yield from _again(workspace, id, webhook, event_id, PING)
    return Placed(id, webhook)


def _again(
    workspace: str, id: str, webhook: str, event_id: str, kind: int, *, of: Delivery | None = None
) -> Plan[None]:
    stands = of is not None and of.number == BLOCKED
    yield from rows(
        SQL.replay, workspace=workspace, id=id, webhook=webhook, event_id=event_id, kind=kind,
        lane=of.lane if of is not None and stands else None, place=of.place if of is not None else 0,
        replay_of=of.id if of is not None else None,
    )  # fmt: skip


@single_operation
def replay(
    workspace: str, id: Uuid, new_id: Uuid, *, kept_seconds: float = KEPT_SECONDS
) -> Plan[Placed | Missing | Disabled | Pruned]:
    """Deliver an event again, by a delivery of its own. A test stays one.

    Of one that blocks its lane, it takes the place.
    """
    seen = yield from maybe(SQL.delivery, Delivery, workspace=workspace, id=id)
    if seen is None:
        return (yield from _absent(workspace, id, kept_seconds))
    at = yield from hold(workspace, seen.webhook)
    if not isinstance(at, Endpoint):
        return Missing()
    if not at.enabled:
        return Disabled()
    found = yield from rows(SQL.hold_deliveries, workspace=workspace, ids=[id])
    if not found:
        return Pruned(None)
    of = Delivery(*found[0])
    if of.number == BLOCKED:
        yield from move(workspace, [Move(id, EXHAUSTED, of.tries)])
    yield from _again(workspace, new_id, of.webhook, of.event_id, PING if of.kind == PING else REPLAY, of=of)
    return Placed(new_id, of.webhook)


@single_operation
def cancel(
    workspace: str, id: Uuid, *, kept_seconds: float = KEPT_SECONDS
) -> Plan[Cancelled | Missing | Ended | Pruned]:
    """Attempt a delivery no more. `unknown` where an attempt began whose end nobody knows: it may have arrived."""
    seen = yield from maybe(SQL.delivery, Delivery, workspace=workspace, id=id)
    if seen is None:
        return (yield from _absent(workspace, id, kept_seconds))
    yield from rows(SQL.hold, workspace=workspace, id=seen.webhook)
    found = yield from rows(SQL.hold_deliveries, workspace=workspace, ids=[id])
    if not found:
        return Pruned(None)
    held = Delivery(*found[0])
    attempts = [Attempt(*row) for row in (yield from rows(SQL.attempts, workspace=workspace, delivery=id))]
    unknown = any(attempt.state in {"started", "unknown"} for attempt in attempts)
    if held.number == CANCELLED:
        return Cancelled(held, unknown)
    if held.ended:
        return Ended(held.state)
    yield from move(workspace, [Move(id, CANCELLED, held.tries)])
    yield from move_up(workspace, [(held, held.skipped + 1)])
    now = yield from one(SQL.delivery, Delivery, workspace=workspace, id=id)
    return Cancelled(now, unknown)


@single_operation
def replay_many(
    workspace: str, webhook: Uuid, id: Uuid, since: Moment, only: Only, *, until: Moment | None = None,
    kept_seconds: float = KEPT_SECONDS,
) -> Plan[Replay | Missing | Disabled | Pruned]:  # fmt: skip
    """Deliver again what has come between two moments, or to now: what failed, what never was tried, or all.

    It goes on by itself.
    """
    at = yield from hold(workspace, webhook)
    if not isinstance(at, Endpoint):
        return Missing()
    if not at.enabled:
        return Disabled()
    first, reach = yield from one(SQL.first_body, _pair, workspace=workspace, kept_seconds=kept_seconds)
    if since < reach:
        return Pruned(_left(first, reach))
    item = {"workspace": workspace, "id": id, "webhook": webhook, "only": only, "since": since, "until": until}
    yield from rows(SQL.begin_replay, **item)
    return (yield from one(SQL.look_replay, Replay, workspace=workspace, id=id))


def _pair(first: datetime | None, reach: datetime) -> tuple[datetime | None, datetime]:
    return first, reach


@single_operation
def look_replay(workspace: str, id: Uuid, *, kept_seconds: float = KEPT_SECONDS) -> Plan[Replay | Missing | Pruned]:
    """Read how far a replay is."""
    found = yield from maybe(SQL.look_replay, Replay, workspace=workspace, id=id)
    return (yield from _absent(workspace, id, kept_seconds)) if found is None else found


@single_operation
def cancel_replay(
    workspace: str, id: Uuid, *, kept_seconds: float = KEPT_SECONDS
) -> Plan[Replay | Missing | ReplayEnded | Pruned]:
    """Carry a replay on no further. What it has placed by now is delivered all the same."""
    done = yield from rows(SQL.cancel_replay, workspace=workspace, id=id)
    now = yield from maybe(SQL.look_replay, Replay, workspace=workspace, id=id)
    if now is None:
        return (yield from _absent(workspace, id, kept_seconds))
    return now if done or now.state == "cancelled" else ReplayEnded()


@single_operation
def replay_on(workspace: str, limit: int) -> Plan[int]:
    """Carry one replay on by at most `limit` events; says how many it looked at."""
    running = yield from rows(SQL.running, workspace=workspace)
    if not running:
        return 0
    id, webhook, only, until, cursor_at, cursor_id, made_at = running[0]
    at = yield from maybe(SQL.share, endpoint, workspace=workspace, id=webhook)
    item = {"workspace": workspace, "webhook": webhook, "cursor_at": cursor_at, "cursor_id": cursor_id}
    found = yield from rows(SQL.replayable, **item, until=until, limit=limit)
    again = [(row[1], row[3]) for row in found if _again_to(at, only, row[4], row[5])]
    yield from _deliver_again(workspace, webhook, id, made_at, again)
    over = 2 if at is None or not at.enabled else 1 if len(found) < limit else 0
    last = (found[-1][0], found[-1][1]) if found else (cursor_at, cursor_id)
    yield from rows(
        SQL.go_on, workspace=workspace, id=id, cursor_at=last[0], cursor_id=last[1], looked=len(found),
        made=len(again), state=over,
    )  # fmt: skip
    return len(found)


def _wanted(only: Only, states: Sequence[int] | None) -> bool:
    """Whether a replay delivers an event again, given what became of its deliveries to the endpoint."""
    seen = set(states or ())
    match only:
        case "all":
            return True
        case "failed":
            return bool(seen & {EXHAUSTED, CANCELLED}) and DELIVERED not in seen and PENDING not in seen
        case "missing":
            return seen <= {SKIPPED}


def _again_to(at: Endpoint | None, only: Only, type: str, states: Sequence[int] | None) -> bool:
    if at is None or not at.enabled or not _wanted(only, states):
        return False
    return bool(states) or events.matches(at.spec.types, type)


def _deliver_again(
    workspace: str, webhook: str, replay: str, at: datetime, found: Sequence[tuple[str, int]]
) -> Plan[None]:
    if found:
        ids = [delivery_id(workspace, webhook, event_id, at, replay) for event_id, _ in found]
        item = {
            "webhook": webhook,
            "id": ids,
            "event_id": [e for e, _ in found],
            "place": [place for _, place in found],
        }
        yield from rows(SQL.deliver_again, workspace=workspace, **item)


@single_operation
def skip(workspace: str, limit: int) -> Plan[int]:
    """End what is pending for endpoints that are disabled."""
    ids = [id for (id,) in (yield from rows(SQL.hold_disabled, workspace=workspace, limit=limit))]
    return len((yield from rows(SQL.skip, workspace=workspace, ids=ids, limit=limit))) if ids else 0


@single_operation
def announce(workspace: str, limit: int) -> Plan[int]:
    """Tell again of lanes that wait for an operator, once a day."""
    found = yield from rows(SQL.to_announce, workspace=workspace, limit=limit)
    for id, webhook, lane in sorted(found, key=lambda row: (row[1], row[0])):
        held = yield from hold(workspace, webhook)
        due = yield from rows(SQL.announced, workspace=workspace, id=id)
        if due and isinstance(held, Endpoint):
            yield from tell_blocked(workspace, held, lane, id)
    return len(found)


@single_operation
def purge(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove what ended longer ago than it is kept: deliveries with attempts, bytes, replays, and deleted endpoints."""
    item = {"workspace": workspace, "kept_seconds": float(kept_seconds), "limit": limit}
    gone = 0
    for statement in (SQL.purge_deliveries, SQL.purge_bodies, SQL.purge_replays, SQL.purge_webhooks):
        gone += len((yield from rows(statement, **item)))
    return gone


def ping_body(id: str, webhook: str, type: str) -> bytes:
    """What a ping says."""
    return msgspec.json.encode(
        {"event_id": f"ping_{id}", "type": type, "aggregate_id": f"webhook:{webhook}", "test": True}
    )
