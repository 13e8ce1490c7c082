"""Waiting: who is woken by what, and how a long poll ends."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.web.hub import Hub
from tests.web.toy import Client, World


def test_a_touch_wakes_its_topic_only():
    hub = Hub()
    with hub.waiting([("w", "a"), ("w", "b")], alone=False) as both, hub.waiting([("w", "c")], alone=False) as other:
        assert len(hub) == 2
        hub.touch(("w", "b"))
        assert (both.woken, other.woken) == (True, False)
        hub.touch(("v", "c"))
        assert not other.woken
    assert len(hub) == 0
    hub.touch(("w", "a"))


def test_those_who_wait_alone_are_woken_one_by_one_in_order():
    hub = Hub()
    with (
        hub.waiting([("w", "a")], alone=True) as first,
        hub.waiting([("w", "a")], alone=True) as second,
        hub.waiting([("w", "a")], alone=False) as reader,
    ):
        hub.touch(("w", "a"))
        assert (first.woken, second.woken, reader.woken) == (True, False, True)
        hub.touch(("w", "a"))
        assert second.woken


async def test_stopping_wakes_everyone():
    hub = Hub()
    with hub.waiting([("w", "a")], alone=True) as first, hub.waiting((), alone=False) as second:
        hub.stop()
        await first.wait(60)
        await second.wait(60)
    assert hub.stopping
    with hub.waiting([("acme", "a")], alone=False) as late:
        assert late.woken, "nobody else would wake it"


@pytest.fixture
def world() -> World:
    return World()


async def settled(world: World, waiters: int) -> None:
    async with asyncio.timeout(10):
        while len(world.hub) != waiters:
            await asyncio.sleep(0)


async def test_a_watcher_is_answered_by_a_change(world):
    call = Client(world.doors())
    world.things["a"] = (1, b"[1]")
    watching = asyncio.ensure_future(call("GET", "/v1/things/a?wait_seconds=30", if_none_match='"1"'))
    await settled(world, 1)
    assert (await call("PUT", "/v1/things/a", b"[2]", if_match='"1"')).status == 200
    assert (await watching).body == b"[2]"


async def test_a_refusal_wakes_nobody(world):
    call = Client(world.doors())
    world.things["a"] = (1, b"[1]")
    with world.hub.waiting([("acme", "thing", "a")], alone=False) as hint:
        assert (await call("PUT", "/v1/things/a", b"[2]", if_match='"7"')).status == 412
        assert not hint.woken
        assert (await call("PUT", "/v1/things/a", b"[2]", if_match='"1"')).status == 200
        assert hint.woken


async def test_a_wait_for_what_is_absent_ends_when_it_is_made(world):
    call = Client(world.doors())
    watching = asyncio.ensure_future(call("GET", "/v1/things/a?wait_seconds=30"))
    await settled(world, 1)
    assert (await call("PUT", "/v1/things/a", b"[1]", if_none_match="*")).status == 201
    assert (await watching).status == 200


async def test_a_watcher_of_what_disappears_is_told(world):
    call = Client(world.doors())
    world.things["a"] = (1, b"[1]")
    watching = asyncio.ensure_future(call("GET", "/v1/things/a?wait_seconds=30", if_none_match='"1"'))
    await settled(world, 1)
    del world.things["a"]
    world.hub.touch(("acme", "thing", "a"))
    assert (await watching).status == 404


@pytest.mark.parametrize(
    "name,headers,status", [("a", {"if_none_match": '"1"'}, 304), ("b", {}, 404)], ids=["unchanged", "absent"]
)
async def test_when_time_is_up_the_last_look_is_the_answer(world, name, headers, status):
    call = Client(world.doors())
    world.things["a"] = (1, b"[1]")
    assert (await call("GET", f"/v1/things/{name}?wait_seconds=0.01", **headers)).status == status
    assert world.played.count("web.get") >= 2


async def test_a_change_without_a_hint_is_found_by_the_poll(world):
    call = Client(world.doors())
    watching = asyncio.ensure_future(call("GET", "/v1/things/a?wait_seconds=30"))
    await settled(world, 1)
    world.things["a"] = (1, b"[1]")
    assert (await watching).status == 200


async def test_a_revoked_key_ends_its_wait(world):
    call = Client(world.doors())
    watching = asyncio.ensure_future(call("GET", "/v1/things/a?wait_seconds=30"))
    await settled(world, 1)
    del world.keys["anna"]
    assert (await watching).code == "no_valid_key"


async def test_one_of_many_takes_and_the_next_is_woken_after_it(world):
    takers = [Client(world.doors()) for _ in range(3)]
    tasks = [asyncio.ensure_future(taker("POST", "/v1/boxes/box/take?wait_seconds=30")) for taker in takers]
    await settled(world, 3)
    assert (await takers[0]("POST", "/v1/boxes/box/free")).status == 200
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().json for task in done] == ["box"]
    world.hub.stop()
    rest = [task.result().json for task in (await asyncio.wait(tasks))[0]]
    assert sorted(map(str, rest)) == ["None", "None", "box"]


async def test_a_client_that_left_takes_nothing(world):
    call = Client(world.doors())
    taking = asyncio.ensure_future(call("POST", "/v1/boxes/box/take?wait_seconds=30"))
    await settled(world, 1)
    call.leave()
    assert (await taking).status == 0
    assert world.seen[-1].status == 499
    world.things["box"] = (1, b"1")
    assert not world.undone
