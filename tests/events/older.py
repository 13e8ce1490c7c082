"""A server of the release before migration 0032, which knows nothing of what is set apart: its relay, its operators."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from steadhold.events import flow, relaying
from steadhold.events.model import event
from steadhold.kit.plan import each, operation, rows, single_operation
from steadhold.kit.sql import parse

SQL = parse(Path(__file__).with_name("older.sql").read_text(encoding="utf-8"), "events")
KEYS, EACH = 50, 10


@operation
def lanes(workspace):
    return [*(yield from rows(SQL.lanes, workspace=workspace))]


@single_operation
def deliver(workspace, target, lane, append):
    """One round of a relay in a lane that it holds; answers how many keys it dealt with, and what it asked."""
    named = {"workspace": workspace, "target": target, "lane": lane, "after": "", "keys": KEYS, "each": EACH}
    found = yield from rows(SQL.ready, **named)
    told, held = yield from relaying.hold(workspace, in_turn(found))
    batch = [
        flow.Publication(str(hand[0][0]), *hand[0][1:-1], event(*row[0]))
        for hand, row in zip(held, told, strict=True)
        if hand and row and hand[0][-1] < 2
    ]
    batch.sort(key=lambda one: (one.event.aggregate_id, one.event.aggregate_revision, one.subscription))
    if batch:
        yield from settle(workspace, batch, (yield from append(workspace, target, batch)))
    return len({row[0] for row in found}), batch


def in_turn(found):
    stopped, turn = set(), []
    for key, aggregate_id, revision, subscription, state, due in found:
        if state == 2 or not due:
            stopped.add(key)
        if key not in stopped:
            turn.append((aggregate_id, revision, subscription))
    return turn


def settle(workspace, batch, answers):
    taken, held_up = flow.settled(batch, answers)
    published = yield from rows(SQL.published, workspace=workspace, ids=[UUID(id) for id in taken])
    verdicts = [{"id": UUID(v.id), "attempts": v.attempts, "seconds": v.seconds, "why": v.why} for v in held_up]
    yield from each(SQL.held_up, [{"workspace": workspace, **said} for said in verdicts])
    yield from relaying.close(workspace, [*published])


@operation
def skip(workspace, *publications):
    """What an operator skips, and the deletion of a subscription: each (aggregate, revision, subscription, id)."""
    yield from relaying.hold(workspace, sorted(one[:3] for one in publications))
    yield from rows(SQL.skip, workspace=workspace, ids=[one[3] for one in publications])
    yield from relaying.close(workspace, [one[:2] for one in publications])


@operation
def retry(workspace, *publications):
    """What an operator lets be tried again, one or all that are parked."""
    yield from relaying.hold(workspace, sorted(one[:3] for one in publications))
    yield from rows(SQL.again, workspace=workspace, ids=[one[3] for one in publications])


@operation
def replay(workspace, target, lane, *publications):
    """Publish again what has ended of these."""
    held, _ = yield from relaying.hold(workspace, sorted(one[:3] for one in publications))
    keys = ("aggregate_id", "aggregate_revision", "subscription")
    to = {"workspace": workspace, "target": target, "lane": lane, "again": True}
    items = [{**to, **dict(zip(keys, one, strict=False)), "key": one[0]} for one in publications]
    yield from each(SQL.publish, items)
    told = [relaying.place(workspace, *row[0][:2]) for row in held]
    yield from each(relaying.SQL.matched, [{**one, "open": True} for one in told])
