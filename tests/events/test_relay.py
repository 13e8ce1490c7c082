"""The relay over a real database, with targets that take, fail, refuse and stay silent."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime

from steadhold import events
from steadhold.events import Happened, Reject, Retry, Taken, flow, loops, relaying, subscribing
from steadhold.events.flow import Inside, Outside
from steadhold.events.loops import Relay
from steadhold.kit.limits import PUBLICATION_ATTEMPTS_MAX
from steadhold.kit.plan import operation

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
DAY = 86_400


async def test_events_are_published_in_order_and_once(stream):
    await stream.subscribe()
    await stream.subscribe("t", "sink:y", aggregates=("b*",))
    for aggregate in ("a", "b", "c"):
        await stream.happen(aggregate, 3)
    assert await stream.match() == 9
    await stream.publish()
    assert Counter(stream.sink.asked) == {
        **{(aggregate, n): 1 for aggregate in "ac" for n in (1, 2, 3)},
        **{("b", n): 2 for n in (1, 2, 3)},
    }
    for aggregate in "ac":
        assert [n for a, n in stream.sink.asked if a == aggregate] == [1, 2, 3]
    assert await stream.publish() == 0


async def test_many_more_than_a_claim_holds_are_all_published(stream):
    await stream.subscribe()
    await stream.happen("a", 100)
    for n in range(120):
        await stream.happen(f"b-{n}")
    await stream.match()
    await stream.publish()
    assert sorted(stream.sink.asked) == sorted([("a", n) for n in range(1, 101)] + [(f"b-{n}", 1) for n in range(120)])
    assert [n for a, n in stream.sink.asked if a == "a"] == [*range(1, 101)]


async def test_what_fails_waits_longer_each_time_and_holds_up_its_own_key_alone(stream, clock):
    await stream.subscribe()
    await stream.happen("bad", 2)
    await stream.happen("good", 2)
    await stream.match()
    stream.sink.says = lambda one: Retry("down") if one.key == "bad" else Taken()
    await stream.publish()
    (blocked,) = await stream.listed("blocked")
    assert (blocked.attempts, blocked.why, blocked.aggregate_revision) == (1, "down", 1)
    assert [one.aggregate_revision for one in await stream.listed("pending")] == [2]
    assert await stream.publish() == 0
    for seconds in (1, 2, 4):
        clock.move(seconds)
        await stream.publish()
    asked = [n for key, n in stream.sink.asked if key == "bad"]
    assert [a for a in asked if a == 1] == [1] * 4
    stream.sink.says = lambda _one: Taken()
    await stream(events.retry, blocked.id)
    await stream.publish()
    assert await stream.listed("pending") == await stream.listed("blocked") == []
    assert stream.sink.asked[-2:] == [("bad", 1), ("bad", 2)]


async def test_two_hundred_poisoned_keys_cost_others_no_claim(stream):
    await stream.subscribe(ordered=True)
    for n in range(200):
        await stream.happen(f"bad-{n:03}")
    await stream.match()
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    assert len(await stream.listed("parked")) == 200
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    await stream.happen("good")
    await stream.match()
    assert await stream(relaying.lanes) == [("sink:x", flow.lane_of("good"))]
    await stream.publish()
    assert stream.sink.asked == [("good", 1)]


async def test_what_was_tried_often_enough_is_parked_and_announced_each_day(stream, clock):
    await stream.subscribe()
    await stream.happen("a", 2)
    await stream.match()
    stream.sink.says = lambda _one: Retry("down", 0.0)
    for _ in range(PUBLICATION_ATTEMPTS_MAX):
        await stream.publish()
    (parked,) = await stream.listed("parked")
    assert parked.attempts == PUBLICATION_ATTEMPTS_MAX
    assert await stream(subscribing.announce, 10) == 1
    assert await stream(subscribing.announce, 10) == 0
    clock.move(DAY)
    assert await stream(subscribing.announce, 10) == 1
    told = (await stream(events.history, "subscription:s", 1, 10)).events
    assert [event.type for event in told] == ["publication.parked"] * 2
    assert b'"parked":1' in told[0].data
    assert b'"publication":"%s"' % parked.id.encode() in told[0].data
    await stream(events.skip, parked.id)
    stream.sink.says = lambda _one: Taken()
    await stream.publish()
    assert stream.sink.asked[-1] == ("a", 2)
    clock.move(DAY)
    assert await stream(subscribing.announce, 10) == 1
    assert len((await stream(events.history, "subscription:s", 1, 10)).events) == 2


async def test_without_order_nothing_waits_behind_anything(stream):
    await stream.subscribe(ordered=False)
    await stream.happen("a", 3)
    await stream.match()
    stream.sink.says = lambda one: Reject("never") if one.event.aggregate_revision == 1 else Taken()
    await stream.publish()
    assert [one.aggregate_revision for one in await stream.listed("parked")] == [1]
    assert await stream.listed("pending") == []


async def test_a_target_that_raises_or_stays_silent_is_asked_again(stream, clock):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()

    async def silent(_workspace, _name, _batch):
        await asyncio.Event().wait()

    async def broken(_workspace, _name, _batch):
        raise OSError("no route")

    for publish, why in ((silent, "TimeoutError"), (broken, "OSError: no route")):
        await stream.publish(stream.another("other", sink=Outside(publish, seconds=0.05)))
        (blocked,) = await stream.listed("blocked")
        assert blocked.why.startswith(why)
        clock.move(10)
    await stream.publish()
    assert stream.sink.asked == [("a", 1)]


async def test_a_lane_is_one_relays_until_its_lease_is_over(stream, clock):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    (lane,) = await stream(relaying.lanes)
    await stream(relaying.hold_lane, *lane, "a relay that was killed")
    assert await stream.publish() == 0
    clock.move(relaying.LANE_SECONDS + 1)
    assert await stream(relaying.free_lanes, 10) == 1
    assert await stream.publish() == 1


async def test_a_settlement_under_a_lost_lane_changes_nothing(stream, clock):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()

    async def slow(_workspace, _name, batch):
        clock.move(relaying.LANE_SECONDS + 1)
        return [Taken() for _ in batch]

    await stream.publish(stream.another("slow", sink=Outside(slow)))
    assert len(await stream.listed("pending")) == 1
    await stream.publish()
    assert stream.sink.asked == [("a", 1)]


async def test_a_target_inside_is_appended_and_settled_in_one_transaction(stream):
    async def count():
        found = await stream(events.history, "inbox:x", 0, 10)
        return len(found.events) if isinstance(found, events.History) else 0

    def broken(workspace, _name, batch):
        yield from events.record(workspace, [("inbox:x", 1, Happened("b"))])
        raise ArithmeticError

    def append(workspace, name, batch):
        assert name == "x"
        yield from events.record(workspace, [("inbox:x", 1, Happened("b"))])
        return [Taken() for _ in batch]

    await stream.subscribe(target="inbox:x")
    await stream.happen("a")
    await stream.match()
    await stream.publish(stream.another("broken", inbox=Inside(broken)))
    (blocked,) = await stream.listed("blocked")
    assert (await count(), blocked.why) == (0, "ArithmeticError: ")
    await stream(events.retry, blocked.id)
    await stream.publish(stream.another("whole", inbox=Inside(append)))
    assert (await count(), len(await stream.listed("pending"))) == (1, 0)


async def test_a_target_that_nobody_knows_here_is_left_to_others(stream):
    await stream.subscribe(target="inbox:x")
    await stream.happen("a")
    await stream.match()
    assert await stream.publish() == 0
    assert len(await stream.listed("pending")) == 1


async def test_takers_are_given_what_was_matched_in_its_transaction(stream):
    seen = []

    def take(_workspace, told):
        seen.append(tuple((event.aggregate_id, event.aggregate_revision) for event in told))
        return
        yield

    assert await stream.player.play(stream_want(stream))
    await stream.happen("a", 2)
    relay = Relay(stream.player.play, {}, name="r", takers=[take])
    assert [await relay.matching(stream.workspace) for _ in range(2)] == [2, 0]
    assert {*seen} == {(("a", 1), ("a", 2))}  # a plan may begin again


async def test_what_was_matched_is_published_at_once_and_told(stream):
    told = []
    await stream.subscribe()
    await stream.happen("a")
    relay = Relay(
        stream.player.play, {"sink": Outside(stream.sink.publish)}, name="r", told=lambda *told_: told.append(told_)
    )
    assert await relay.matching(stream.workspace) == 1
    assert await relay.idle() == 1
    assert (stream.sink.asked, told) == ([("a", 1)], [(stream.workspace, "sink:x")])


async def test_where_something_was_matched_takers_are_told_at_once_and_else_not(stream):
    done = []

    async def then():
        done.append(len(await stream.listed("pending")))

    await stream.subscribe()
    await stream.happen("a")
    relay = Relay(stream.player.play, {"sink": Outside(stream.sink.publish)}, name="r", then=then)
    assert [await relay.matching(stream.workspace) for _ in range(2)] == [1, 0]
    assert done == [1], "before it is published, and once"
    await relay.idle()


def stream_want(stream):
    return operation(events.want).call(stream.workspace, "webhooks")


async def test_where_something_happened_the_next_is_looked_for_at_once_and_not_for_ever(stream):
    now, asked = [0.0], []

    async def play(call):
        asked.append(call.name)
        return await stream.player.play(call)

    relay = Relay(play, {"sink": Outside(stream.sink.publish)}, name="r", clock=lambda: now[0])
    await stream.subscribe()
    await relay.linger()
    assert asked == []
    await stream.happen("a")
    await relay.matching(stream.workspace)
    await stream.happen("b")
    await relay.linger()
    await relay.idle()
    assert sorted(stream.sink.asked) == [("a", 1), ("b", 1)]
    now[0] += loops.WARM_SECONDS + 1
    await relay.linger()
    asked.clear()
    await relay.linger()
    assert asked == []
    relay.note("another workspace")
    await relay.linger()
    assert asked == []
    relay.note(stream.workspace)
    await relay.linger()
    assert asked == ["events.match"]


async def test_what_was_on_its_way_to_an_earlier_target_is_skipped_with_the_rest(stream):
    await stream.subscribe("s", "sink:x")
    await stream.happen("a")
    await stream.match()
    moved = await stream(events.subscribe, "s", events.Spec(("*",), "sink:y"), 1)
    await stream.happen("a", expected=1)
    await stream.match()
    await stream(events.unsubscribe, "s", moved.subscription.revision)
    assert await stream.listed("pending") == []
    await stream.publish()
    assert (stream.sink.asked, await stream.listed("pending")) == ([], [])
