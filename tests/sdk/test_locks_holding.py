"""Blocks that hold a lock, and a server that says what a test has it say."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client, locks_holding
from steadhold.sdk.errors import LockLost
from steadhold.sdk.locks_shapes import CLOCK
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
