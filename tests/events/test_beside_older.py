"""Servers of the release before migration 0032, beside ours and alone: what ours have set apart goes on, in order."""

from __future__ import annotations

import pytest

from steadhold.events import Reject, Retry, Taken, flow, relaying
from tests.events import older
from tests.events.stream import MANY

LANE = ("sink:x", flow.lane_of("a"))


async def named(stream, state):
    return [(one.aggregate_id, one.aggregate_revision, one.subscription, one.id) for one in await stream.listed(state)]


async def older_relay(stream, rounds=50):
    """What a relay of the older release does at its next look."""

    def append(_workspace, _target, batch):
        return [stream.sink.says(one) for one in batch]
        yield

    for lane in await stream(older.lanes):
        for _ in range(rounds):
            dealt, batch = await stream(older.deliver, *lane, append)
            stream.sink.asked += [(one.event.aggregate_id, one.event.aggregate_revision) for one in batch]
            if not dealt:
                break


@pytest.fixture
async def parked(stream):
    """More of an aggregate than a claim takes, behind one that is parked and was set apart with it."""
    await stream.subscribe()
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    assert await stream(relaying.lanes) == []
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    return stream


async def test_the_first_waits_and_is_skipped(waiting):
    await waiting(older.skip, *await named(waiting, "blocked"))
    assert await waiting.published() == [*range(2, MANY + 1)]


async def test_the_first_has_its_turn_and_is_skipped(waiting, clock):
    clock.move(2)
    assert await waiting(relaying.lanes) == [LANE]
    await waiting(older.skip, *await named(waiting, "blocked"))
    assert await waiting.published() == [*range(2, MANY + 1)]


async def test_the_first_is_parked_and_skipped(parked):
    await parked(older.skip, *await named(parked, "parked"))
    assert await parked.published() == [*range(2, MANY + 1)]


async def test_the_first_waits_and_is_tried_again(waiting):
    await waiting(older.retry, *await named(waiting, "blocked"))
    assert await waiting.published() == [*range(1, MANY + 1)]


async def test_all_that_is_parked_is_tried_again(parked):
    await parked(older.retry, *await named(parked, "parked"))
    assert await parked.published() == [*range(1, MANY + 1)]


async def test_what_goes_with_its_subscription_lets_in_what_is_behind_it(stream):
    await stream.subscribe("s")
    await stream.subscribe("t", "sink:x")
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda one: Reject("never") if one.subscription == "s" else Taken()
    await stream.publish()
    await stream.published()
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    of_s = [one for state in ("parked", "pending") for one in await named(stream, state) if one[2] == "s"]
    assert len(of_s) == MANY
    await stream(older.skip, *of_s)
    assert await stream.published() == [*range(1, MANY + 1)]


async def test_what_an_older_relay_publishes_lets_in_what_is_behind_it(waiting, clock):
    clock.move(2)
    assert await waiting(relaying.lanes) == [LANE]
    await older_relay(waiting, rounds=1)
    assert len(waiting.sink.asked) == older.EACH
    assert await waiting.published() == [*range(1, MANY + 1)]


async def test_what_an_older_relay_holds_up_goes_on_when_its_time_has_come(waiting, clock):
    clock.move(2)
    assert await waiting(relaying.lanes) == [LANE]
    waiting.sink.says = lambda one: Retry("down") if one.event.aggregate_revision == 3 else Taken()
    await older_relay(waiting)
    waiting.sink.says = lambda _one: Taken()
    assert (len(await waiting.published()), len(await waiting.listed("blocked"))) == (older.EACH, 1)
    clock.move(2)
    waiting.sink.asked = []
    assert await waiting.published() == [*range(3, MANY + 1)]


async def test_older_relays_alone_go_on_when_its_time_has_come(waiting, clock):
    await older_relay(waiting)
    assert waiting.sink.asked == []
    clock.move(2)
    await older_relay(waiting)
    assert [revision for _, revision in waiting.sink.asked] == [*range(1, MANY + 1)]


async def test_older_relays_ask_nothing_again_and_again_of_what_waits(waiting):
    await waiting.happen("a", 3, expected=MANY)
    await waiting.match()
    assert await waiting(older.lanes) == []


@pytest.mark.parametrize("ended", ["published", "skipped"])
async def test_what_is_replayed_has_its_turn(parked, ended):
    ((*first, id),) = await named(parked, "parked")
    if ended == "published":
        await parked(older.retry, (*first, id))
        await parked.publish()
    else:
        await parked(older.skip, (*first, id))
    parked.sink.asked = []
    await parked(older.replay, *LANE, (*first, id))
    await older_relay(parked, rounds=1)
    assert parked.sink.asked[0] == ("a", 1)


async def test_older_relays_ask_nothing_again_and_again_of_what_is_due_behind_one_that_waits(stream, clock):
    await stream.subscribe()
    await stream.happen("a", 2)
    await stream.match()
    stream.sink.says = lambda one: Taken() if one.event.aggregate_revision == 1 else Retry("down")
    await stream.publish()
    await stream(older.replay, *LANE, ("a", 1, "s"))
    stream.sink.says = lambda _one: Retry("down", 1_000.0)
    await older_relay(stream, rounds=1)
    clock.move(10)
    assert await stream(older.lanes) == []
    clock.move(1_000)
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    await older_relay(stream)
    assert [revision for _, revision in stream.sink.asked] == [1, 2]
