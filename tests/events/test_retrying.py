"""What is parked is tried again: counted first, in turns, of one subscription or of all."""

from __future__ import annotations

import pytest

from steadhold.events import Reject, Taken, retrying
from steadhold.events.retrying import Parked, ParkedChanged


@pytest.fixture
async def parked(stream):
    """Three events that a target refused, for two subscriptions."""
    await stream.subscribe("s", "sink:x")
    await stream.subscribe("t", "sink:y", aggregates=("a-0",))
    stream.sink.says = lambda _one: Reject("never")
    for n in range(3):
        await stream.happen(f"a-{n}")
    await stream.match()
    await stream.publish()
    assert len(await stream.listed("parked")) == 4
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    return stream


async def again(stream, *said):
    return await stream(retrying.retry_parked, *said)


async def test_what_is_parked_is_counted_before_it_is_tried(parked):
    assert [await again(parked), await again(parked, "s"), await again(parked, "t"), await again(parked, "none")] == [
        Parked(4), Parked(3), Parked(1), Parked(0),
    ]  # fmt: skip
    assert await again(parked, None, 3) == ParkedChanged(4)
    assert await again(parked, "s", 4) == ParkedChanged(3)
    assert len(await parked.listed("parked")) == 4
    assert await again(parked, "s", 3) == Parked(3, 3)
    assert [one.subscription for one in await parked.listed("parked")] == ["t"]
    await parked.publish()
    assert sorted(parked.sink.asked) == [("a-0", 1), ("a-1", 1), ("a-2", 1)]
    assert await again(parked, None, 1) == Parked(1, 1)


async def test_a_turn_is_bounded_and_takes_the_oldest(parked, monkeypatch):
    monkeypatch.setattr(retrying, "PUBLICATIONS_RETRIED_MAX", 2)
    oldest = [one.id for one in await parked.listed("parked")][:2]
    assert await again(parked, None, 4) == Parked(4, 2)
    assert {one.id for one in await parked.listed("pending")} == set(oldest)
    assert await again(parked, None, 2) == Parked(2, 2)
    assert await again(parked) == Parked(0)


async def test_over_http(house):
    async def ask(body, **headers):
        return await house("POST", "/v1/publications:retry", body, **headers)

    assert (await ask({})).json == {"count": 0, "retried": 0, "left": 0}
    refused = await ask({"subscription_id": "s", "expect_count": 2})
    assert (refused.status, refused.code, refused.json["count"]) == (409, "count_changed", 0)
    assert (await ask({"expect_count": -1})).status == 400
    await house.enter(("events:read",))
    assert (await ask({})).status == 403
