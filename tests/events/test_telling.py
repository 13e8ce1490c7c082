"""What is told of subscriptions: to others, in order, in numbers that only rise."""

from __future__ import annotations

import json

from steadhold import events
from steadhold.events import Happened, Spec, flow, relaying, subscribing


def told(found):
    return [(event.type, event.aggregate_revision) for event in found.events]


async def history(stream, id="s"):
    return await stream(events.history, f"subscription:{id}", 0, 10)


async def test_others_are_told_what_becomes_of_a_subscription(stream):
    await stream(events.subscribe, "watch", Spec(("subscription.*",), "sink:y"), None)
    await stream(events.subscribe, "s", Spec(("order.*",), "sink:x"), None)
    changed = await stream(events.subscribe, "s", Spec(("*",), "sink:x", ordered=False), 1)
    assert isinstance(changed, flow.Subscribed)
    await stream(events.unsubscribe, "s", 2)
    await stream(events.subscribe, "s", Spec(("order.*",), "sink:x"), None)
    await stream.match()
    await stream.publish()
    assert stream.sink.asked == [("subscription:s", n) for n in (1, 2, 3, 4)]
    found = await history(stream)
    assert [kind for kind, _ in told(found)] == [
        f"subscription.{what}" for what in ("created", "changed", "deleted", "created")
    ]
    assert json.loads(found.events[1].data) == {
        "subscription_id": "s", "revision": 2, "types": ["*"], "aggregates": [], "target": "sink:x",
        "ordered_by": "none",
    }  # fmt: skip


async def test_a_refused_change_tells_nothing(stream):
    await stream.subscribe()
    await stream(events.subscribe, "s", Spec(("*",), "sink:x"), 7)
    await stream(events.subscribe, "s", Spec(("*",), "sink:x"), None)
    await stream(events.unsubscribe, "s", 7)
    assert told(await history(stream)) == [("subscription.created", 1)]


def test_numbers_of_what_is_told_rise_with_the_incarnation(database, workspace):
    with database.connect() as reborn, reborn.transaction(force_rollback=True):
        events.subscribe(reborn, workspace, "s", Spec(("order.*",), "sink:x"), None)
        events.append(reborn, workspace, "o", None, [Happened("order.placed")])
        relaying.match(reborn, workspace, 10)
        reborn.execute(
            "update steadhold.publications set state = 2 where aggregate_id = 'o' and workspace = %s", [workspace]
        )
        reborn.execute(
            "update steadhold.subscriptions set announce_at = steadhold.clock() where workspace = %s", [workspace]
        )
        reborn.execute("select steadhold.restored()")
        first = reborn.execute("select incarnation from steadhold.house").fetchone()[0] << 32
        assert subscribing.announce(reborn, workspace, 10) == 1
        events.unsubscribe(reborn, workspace, "s", 1)
        assert told(events.history(reborn, workspace, "subscription:s", 0, 10)) == [
            ("subscription.created", 1),
            ("publication.parked", first + 1),
            ("subscription.deleted", first + 2),
        ]
