"""client.locks over a real server: both clients hold, lose and release, and the time is this machine's own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steadhold.kit.ids import new_id
from steadhold.sdk import locks_holding
from steadhold.sdk.errors import LockHeld, LockLost, NotFound, StaleFence
from steadhold.sdk.locks_shapes import CLOCK
from tests.sdk.site import key, real_aclient, real_client, site  # noqa: F401 - fixtures
from tests.standing import standing


@pytest.fixture(autouse=True)
def server_clock(site):  # noqa: F811
    """The time of the server, which stands unless a test moves it."""
    with standing(site.database):
        yield site.database.clock
    site.database.clock.reset()


@pytest.fixture
def often(monkeypatch):
    """Renew long before the time is over: whoever is slow meanwhile loses nothing."""
    monkeypatch.setattr(locks_holding, "RENEWALS", 100)


def test_it_is_taken_renewed_and_released(client):
    before = CLOCK()
    grant = client.locks.acquire("a", owner="me", ttl=30)
    assert (grant.name, grant.owner, grant.fence, grant.ttl_seconds) == ("a", "me", 1, 30)
    assert before + 30 <= grant.relied_until <= CLOCK() + 30
    with pytest.raises(LockHeld) as held:
        client.locks.acquire("a", owner="you")
    assert (held.value.holder, held.value.next) == ("me", "wait")
    assert client.locks.renew("a", 1, ttl=60).ttl_seconds == 60
    assert client.locks.get("a").held
    client.locks.release("a", 1)
    client.locks.release("a", 1)
    assert not client.locks.get("a").held
    with pytest.raises(LockLost):
        client.locks.renew("a", 1)
    with pytest.raises(NotFound):
        client.locks.get("b")
    assert [lock.name for lock in client.locks.list()] == ["a"]


def test_asked_again_it_may_be_relied_on_no_longer(client, server_clock):
    operation = new_id()
    first = client.locks.acquire("a", ttl=30, operation_id=operation)
    server_clock.move(20)
    again = client.locks.acquire("a", ttl=30, operation_id=operation)
    assert again.fence == first.fence
    assert again.relied_until < CLOCK() + 10
    client.locks.release("a", 1)
    with pytest.raises(LockLost):
        client.locks.acquire("a", operation_id=operation)


def test_a_block_holds_it(client):
    with client.locks.hold("a", owner="me", ttl=30) as lock:
        lock.ensure_held()
        assert (lock.fence, lock.owner, lock.held) == (1, "me", True)
        client.state.create("n", 1, fences=[lock.grant])
    assert not client.locks.get("a").held
    with pytest.raises(LockLost):
        lock.ensure_held()
    with pytest.raises(StaleFence):
        client.state.put("n", 2, if_revision=1, fences=[lock.grant])


async def test_an_async_block_holds_it(aclient):
    async with aclient.locks.hold("a", owner="me", ttl=30) as lock:
        await aclient.state.create("n", 1, fences=[lock.grant])
        assert (await aclient.locks.get("a")).owner == "me"
    assert not (await aclient.locks.get("a")).held


TWICE = range(2)
"""The first renewal that is seen may have been asked for before; the second one is later than that."""


async def test_it_is_renewed_while_it_is_held(aclient, often, server_clock):
    """Held three times as long as a grant is good for: it stays ours, under the same fence."""
    async with aclient.locks.hold("a", ttl=30) as lock:
        for _ in range(4):
            for relied_until in (lock.relied_until for _ in TWICE):
                while lock.relied_until == relied_until:
                    await asyncio.sleep(0)
                    lock.ensure_held()
            server_clock.move(25)
        assert (await aclient.locks.get("a")).fence == lock.fence == 1


def test_a_thread_renews_it_while_it_is_held(client, often, server_clock):
    with client.locks.hold("a", ttl=30) as lock:
        renewed = threading.Event()
        for _ in range(4):
            for relied_until in (lock.relied_until for _ in TWICE):
                while lock.relied_until == relied_until:
                    renewed.wait(0.01)
                    lock.ensure_held()
            server_clock.move(25)
        assert client.locks.get("a").fence == 1


async def test_what_the_server_ended_is_lost_inside_the_block(aclient, often):
    """Released by somebody who knew the fence: the next renewal is told, and the block is interrupted."""
    held = []

    async def work():
        async with aclient.locks.hold("a", ttl=30) as lock:
            held.append(lock)
            await aclient.locks.release("a", lock.fence)
            await asyncio.Event().wait()
            held.append("after")

    with pytest.raises(LockLost, match="the server says"):
        await work()
    (lock,) = held
    with pytest.raises(LockLost):
        lock.ensure_held()


def test_what_the_server_ended_is_told_to_a_thread(client, often):
    told = threading.Event()

    def work():
        with client.locks.hold("a", ttl=30, on_lost=told.set) as lock:
            client.locks.release("a", lock.fence)
            assert told.wait(30)
            assert not lock.held
            lock.ensure_held()

    with pytest.raises(LockLost, match="the server says"):
        work()


async def test_a_block_that_ended_well_after_its_time_is_told(aclient):
    with pytest.raises(LockLost):
        async with aclient.locks.hold("a", ttl=30) as lock:
            lock.ended = "somebody said so"


async def test_an_error_of_the_block_stays_what_it_is(aclient):
    with pytest.raises(KeyError):
        async with aclient.locks.hold("a"):
            raise KeyError("k")
    assert not (await aclient.locks.get("a")).held


async def test_a_cancelled_block_releases(aclient):
    entered = asyncio.Event()

    async def work():
        async with aclient.locks.hold("a"):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (await aclient.locks.get("a")).held


async def test_it_is_waited_for_in_line(aclient):
    order = []

    async def work(n):
        async with aclient.locks.hold("a", owner=f"w{n}") as lock:
            order.append((n, lock.fence))

    async with aclient.locks.hold("a", owner="first"):
        tasks = []
        for n in range(4):
            tasks.append(asyncio.ensure_future(work(n)))
            while (await aclient.locks.get("a")).waiting <= n:
                await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == [(n, n + 2) for n in range(4)]


async def test_one_who_waits_no_longer_is_told_who_holds_it(aclient):
    async with aclient.locks.hold("a", owner="first"):
        with pytest.raises(LockHeld) as held:
            async with aclient.locks.hold("a", owner="second", wait_seconds=0.2):
                raise AssertionError("two hold it")
    assert held.value.holder == "first"


async def test_watching(aclient):
    grant = await aclient.locks.acquire("a", owner="me")
    seen = aclient.locks.watch("a")
    assert (await anext(seen)).held
    await aclient.locks.release("a", grant.fence)
    after = await anext(seen)
    assert (after.held, after.revision, after.fence) == (False, 2, 1)
    await seen.aclose()


def test_the_high_water_mark(client):
    assert client.locks.mark("disk", 3) == 3
    with pytest.raises(StaleFence) as stale:
        client.locks.mark("disk", 2)
    assert stale.value.extras["highest"] == 3
