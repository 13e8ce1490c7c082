"""Blocks that hold a lock, and a server that says what a test has it say."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client, locks_holding
from steadhold.sdk.errors import LockHeld, LockLost
from steadhold.sdk.locks_shapes import CLOCK
from steadhold.sdk.retry import Patience
from tests.sdk.conftest import problem

LOST = problem(409, "lock_lost")
TIMES = {"expires_at": "2026-11-29T16:00:30Z", "server_time": "2026-11-29T16:00:00Z"}


def granted(ttl):
    grant = {"name": "a", "owner": "me", "fence": 3, "ttl_seconds": ttl, "waited_seconds": 0.0, **TIMES}
    return httpx2.Response(200, json=grant)


def renewed(ttl):
    return httpx2.Response(200, json={"name": "a", "fence": 3, "ttl_seconds": ttl, **TIMES})


def answering(ttl, renew):
    """A transport at which a lock is taken and released, and renewed as `renew()` says."""

    def answer(request):
        what = request.url.path.rpartition("/")[2]
        said = granted(ttl) if what == "acquire" else renew() if what == "renew" else httpx2.Response(204)
        return httpx2.Response(said.status_code, headers=said.headers, stream=httpx2.ByteStream(said.content))

    return httpx2.MockTransport(answer)


@pytest.fixture
async def client():
    made = []

    def open(ttl, renew):
        made.append(AsyncClient("http://test", "sh_key", transport=answering(ttl, renew)))
        return made[-1]

    yield open
    for each in made:
        await each.close()


async def forever():
    async with asyncio.timeout(20):
        await asyncio.Event().wait()


async def test_who_cannot_bear_to_be_told_loses_it_all_the_same(client):
    """The block is interrupted although `on_lost` raises."""
    told = []

    def on_lost():
        told.append(True)
        raise RuntimeError("no")

    holding = client(6, lambda: LOST).locks.hold("a", ttl=6, on_lost=on_lost)

    async def work():
        async with holding:
            await forever()

    with pytest.raises(LockLost, match="the server says"):
        await work()
    assert told == [True]
    assert CLOCK() < holding.lock.relied_until  # not only when its time was over


async def test_who_will_not_be_interrupted_is_told_at_once(client):
    """The time is over while a block suppresses its cancellation: `on_lost` does not wait for the block's end."""
    told = asyncio.Event()

    def cut():
        raise httpx2.ConnectError("the network is cut")

    async def will_not_be_interrupted():
        async with client(1, cut).locks.hold("a", ttl=1, on_lost=told.set) as lock:
            with pytest.raises(asyncio.CancelledError):
                await forever()
            async with asyncio.timeout(20):
                await told.wait()
            assert not lock.held

    with pytest.raises(LockLost, match="no renewal came through"):
        await will_not_be_interrupted()


async def test_a_renewal_that_answers_late_revives_nothing(client, monkeypatch):
    ahead = [0.0]
    monkeypatch.setattr("steadhold.sdk.locks_shapes.CLOCK", lambda: CLOCK() + ahead[0])
    monkeypatch.setattr(locks_holding, "CLOCK", lambda: CLOCK() + ahead[0])
    late = [2.4]

    def renew():
        ahead[0] += late.pop() if late else 0
        return renewed(3)

    with pytest.raises(LockLost):
        async with client(3, renew).locks.hold("a", ttl=3):
            await forever()


async def test_of_two_blocks_the_one_whose_lock_is_lost_is_left(client):
    """The outer one is lost: the inner lock is released on the way, tasks of the block are cancelled."""
    left = []

    async def works(name):
        try:
            await forever()
        finally:
            left.append(name)

    outer, inner = client(2, lambda: LOST).locks.hold("a", ttl=2), client(30, lambda: renewed(30)).locks.hold("b")

    async def hold_both():
        async with outer, inner, asyncio.TaskGroup() as group:
            group.create_task(works("one"))
            group.create_task(works("two"))

    with pytest.raises(LockLost, match="the server says"):
        await hold_both()
    assert (sorted(left), inner.lock.ended) == (["one", "two"], "it was released")


async def test_who_is_cancelled_from_outside_is_cancelled(client):
    """Also where the lock is lost in the same moment: whoever cancelled is waiting for that."""
    tasks = []

    async def work():
        async with client(2, lambda: LOST).locks.hold("a", ttl=2, on_lost=tasks[0].cancel):
            await forever()

    tasks.append(asyncio.ensure_future(work()))
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


def held(holder):
    return problem(409, "lock_held", next="wait", holder=holder)


async def test_who_waits_is_told_who_holds_it_and_when_that_is_somebody_else(server):
    server.then(held("one"), held("one"), held(None), held("two"), granted(30), httpx2.Response(204))
    told, transport = [], httpx2.MockTransport(server)
    client = AsyncClient("http://test", "k", patience=Patience(chance=lambda: 0.0), transport=transport)
    async with client, client.locks.hold("a", on_wait=told.append) as lock:
        assert lock.fence == 3
    assert told == ["one", None, "two"]
    waits = [json.loads(request.content)["wait_seconds"] for request in server.requests[:-1]]
    assert (waits, len(set(server.keys[:-1]))) == ([1.0, 5.0, 5.0, 5.0, 5.0], 1)


async def test_who_is_told_may_be_asynchronous_as_the_client_is(server):
    server.then(held("one"), held("two"), granted(30), httpx2.Response(204))
    told = []

    async def tell(holder):
        await asyncio.sleep(0)
        told.append(holder)

    client = AsyncClient(
        "http://test", "k", patience=Patience(chance=lambda: 0.0), transport=httpx2.MockTransport(server)
    )
    async with client, client.locks.hold("a", on_wait=tell):
        assert told == ["one", "two"]


async def never(*_):
    raise AssertionError("nobody awaits it")


def test_who_cannot_be_awaited_is_refused_before_anything_is_sent(server, client_of):
    locks = client_of(held("one")).locks
    with pytest.raises(TypeError, match="on_wait is asynchronous, and this client is not"):
        locks.hold("a", on_wait=never)
    with pytest.raises(TypeError, match="on_wait is asynchronous, and this client is not"):
        locks.acquire("a", wait_seconds=9, on_wait=never)
    with pytest.raises(TypeError, match="on_lost is asynchronous"):
        locks.hold("a", on_lost=never)
    assert server.requests == []
    with pytest.raises(TypeError, match="is asynchronous, and this client is not"):  # only its answer tells
        locks.acquire("a", wait_seconds=9, on_wait=lambda _: never())


@pytest.mark.parametrize("which", ["on_wait", "on_lost"])
async def test_what_cannot_be_called_is_refused_before_anything_is_sent(server, client_of, client, which):
    for locks in (client_of(granted(30)).locks, client(30, lambda: renewed(30)).locks):
        with pytest.raises(TypeError, match=f"{which} is called, which 7 cannot be"):
            locks.hold("a", **{which: 7})
    assert server.requests == []


def test_who_acquires_and_names_what_cannot_be_called_has_nothing(server, each_client):
    server.then(granted(30))
    with pytest.raises(TypeError, match="on_wait is called, which 7 cannot be"):
        each_client.locks.acquire("a", on_wait=7)
    assert server.requests == []


def test_who_is_told_and_stops_grants_nothing(server, each_client):
    """A generator's own end is told the same way: it was taken for a wait that had ended well."""
    server.then(held("one"), granted(30))
    words = iter(())
    with pytest.raises(RuntimeError) as caught:
        each_client.locks.acquire("a", wait_seconds=9, on_wait=lambda _: next(words))
    assert isinstance(caught.value.__cause__, StopIteration)
    assert len(server.requests) == 1


async def test_nothing_awaits_who_is_told_of_a_loss(client):
    with pytest.raises(TypeError, match="on_lost is asynchronous"):
        client(30, lambda: renewed(30)).locks.hold("a", on_lost=never)


def test_who_waits_for_a_grant_is_told_too_and_keeps_its_place(server, client_of):
    told = []
    locks = client_of(held("one"), held("two"), granted(30), held("one"), LOST).locks
    assert locks.acquire("a", wait_seconds=9, on_wait=told.append, operation_id="k").fence == 3
    with pytest.raises(LockLost):
        locks.acquire("a", wait_seconds=9, on_wait=told.append, operation_id="k")
    assert (told, server.keys) == (["one", "two", "one"], ["k"] * 5)


def test_who_waits_too_short_to_be_told_is_not(client_of):
    told = []
    with pytest.raises(LockHeld):
        client_of(held("one"), held("one")).locks.hold("a", wait_seconds=0, on_wait=told.append).__enter__()
    assert told == []


@pytest.mark.parametrize("ttl", [30, 3_600])
def test_the_end_of_a_block_waits_for_seconds_not_for_a_third_of_the_time(server, client_of, clock, ttl):
    """The server is gone: the lock ends by itself, and the block goes on."""
    began = clock.now
    with client_of(granted(ttl)).locks.hold("a", ttl=ttl):
        pass
    assert 0 < clock.now - began <= locks_holding.TRY_SECONDS_MAX


@pytest.fixture
def client_of(server, patience):
    made = []

    def open(*answers):
        server.then(*answers, *[httpx2.ConnectError] * 100)
        made.append(Client("http://test", "sh_key", patience=patience, transport=httpx2.MockTransport(server)))
        return made[-1]

    yield open
    for each in made:
        each.close()
