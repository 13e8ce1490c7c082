"""One target, and one event, cannot hold up others."""

from __future__ import annotations

import asyncio

from steadhold.events import Taken, flow
from steadhold.events.flow import Inside, Outside
from steadhold.events.loops import Relay


async def test_what_breaks_on_one_event_holds_up_its_own_key_alone(stream):
    await stream.subscribe(target="inbox:x")
    others = [f"a-{n}" for n in range(40)]
    assert flow.lane_of("bad") in {flow.lane_of(name) for name in others}
    await stream.happen("bad", 2)
    for name in others:
        await stream.happen(name)
    await stream.match()
    appended, told = [], []

    def append(_workspace, _name, batch):
        yield from ()
        if "bad" in {one.key for one in batch}:
            raise ArithmeticError("seven")
        appended.extend(one.key for one in batch)
        return [Taken() for _ in batch]

    relay = Relay(
        stream.player.play, {"inbox": Inside(append)}, name="r", alarm=lambda error, facts: told.append((error, facts))
    )
    await relay.publish(stream.workspace)
    assert set(appended) == set(others)  # a plan may begin again
    assert [(one.aggregate_id, one.why) for one in await stream.listed("blocked")] == [
        ("bad", "ArithmeticError: seven")
    ]
    assert [one.aggregate_id for one in await stream.listed("pending")] == ["bad"]
    assert {facts["target"] for _, facts in told} == {"inbox:x"}


async def test_who_is_closed_asks_no_target_any_longer(stream):
    asked = asyncio.Event()

    async def silent(_workspace, _name, _batch):
        asked.set()
        await asyncio.Event().wait()

    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    relay = stream.another("closed", sink=Outside(silent, seconds=20))
    assert await relay.publish(stream.workspace) == 0
    await asked.wait()
    await relay.close()
    assert await stream.publish() == 1
    assert stream.sink.asked == [("a", 1)]
