"""Jobs under workers that are killed, stopped and cut off, and a server that is killed: none lost, none done twice."""

from __future__ import annotations

import asyncio
import random
import signal
import socket

import pytest

from steadhold.sdk import AsyncClient
from steadhold.sdk.jobs import Submission
from tests.faults.fleet import Fleet
from tests.faults.history import History
from tests.faults.proxy import Proxy
from tests.faults.servers import Server

LEASE_SECONDS = 2
JSON = {"content-type": "application/json"}


class Yard:
    """A server whose place another takes when it is killed, a proxy to the database, and a fleet at all doors."""

    def __init__(self, dsn, key, place, proxy, listener, fleet):
        self.dsn, self.listener, self.fleet, self.proxy = dsn, listener, fleet, proxy
        self.server = Server(dsn, listener=listener)
        self.url = self.server.url
        self.over_http = {"url": self.url, "api_key": key}
        self.on_postgres = {"dsn": dsn, "workspace": place}
        self.cut_off = {"dsn": proxy.dsn, "workspace": place}

    async def kill_a_worker(self, chance):
        await self.fleet.replace(chance.choice([c for c in self.fleet.children if c.place != self.cut_off]))

    async def stop_a_worker(self, chance):
        """Past its leases, until others have what it held; then let it speak."""
        child = chance.choice(self.fleet.children)
        child.process.send_signal(signal.SIGSTOP)
        while self.fleet.left() and not self.fleet.holds(child):  # it was between two claims: later, then
            child.process.send_signal(signal.SIGCONT)
            await asyncio.to_thread(self.fleet.holds, child)
            child.process.send_signal(signal.SIGSTOP)
        await self.fleet.given_up(child)
        child.process.send_signal(signal.SIGCONT)

    async def cut_a_worker_off(self, _chance):
        """What it wrote meanwhile arrives late."""
        self.proxy.stall()
        await asyncio.gather(*(self.fleet.given_up(c) for c in self.fleet.children if c.place == self.cut_off))
        self.proxy.resume()

    async def kill_the_server(self, _chance):
        await asyncio.to_thread(self.server.kill)
        before, self.server = self.server, await asyncio.to_thread(Server, self.dsn, listener=self.listener)
        before.close()


@pytest.fixture
async def yard(house, key, place, tmp_path):
    async with Proxy(house.dsn) as proxy:
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
            fleet = Fleet(tmp_path, house, place)
            made = await asyncio.to_thread(Yard, house.dsn, key, place, proxy, listener, fleet)
            try:
                yield made
            finally:
                proxy.resume()
                await asyncio.to_thread(fleet.clear)
                made.server.close()


async def submit(client, first, jobs):
    """Hand in jobs that are numbered from `first`."""
    many = [Submission(type="chaos", input=n) for n in range(first, first + jobs)]
    assert all(item.ok for item in await client.jobs.submit_many(many))


@pytest.mark.parametrize(
    "jobs, faults",
    [
        pytest.param(1_000, 10, marks=pytest.mark.timeout(300)),
        pytest.param(10_000, 80, marks=[pytest.mark.soak, pytest.mark.timeout(3_600)]),
    ],
)
async def test_no_job_is_lost_and_none_done_twice(yard, house, key, place, jobs, faults):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    chance, fleet = random.Random(seed), yard.fleet
    for at in (yard.on_postgres, yard.on_postgres, yard.over_http, yard.cut_off):
        fleet.start(at)
    kinds = [yard.kill_a_worker, yard.kill_a_worker, yard.stop_a_worker, yard.cut_a_worker_off, yard.kill_the_server]
    plan = [*kinds, *(chance.choice(kinds) for _ in range(faults - len(kinds)))]
    chance.shuffle(plan)
    wave = jobs // faults
    async with AsyncClient(yard.url, key) as client:
        await client.jobs.put_type("chaos", {"lease_seconds": LEASE_SECONDS, "attempts_max": 1_000})
        for n, fault in enumerate(plan):
            await submit(client, n * wave, wave)
            await fleet.until(lambda n=n: len(fleet.settled) >= (n + 0.2) * wave * 0.8, 600)
            await fault(chance)
    await fleet.polled(lambda: fleet.left() == 0, 600)
    assert set(await asyncio.to_thread(fleet.close)) == {0}

    with house.connect() as conn:
        history = History.read(conn, place, fleet.notes)
    assert list(history.faults()) == []
    assert len(history.rows) == jobs
    poisoned = [row for row in history.rows.values() if row.error_code == "poison"]
    assert history.count("completed") + len(poisoned) == jobs
    assert len(poisoned) < jobs / 50
    assert history.count("accepted", "lapse") >= 1
    assert fleet.told["settle.refused"] + fleet.told["lease.lost"] >= 1
    told = [(id, fence) for id, (fence, state) in fleet.settled.items() if state == "completed"]
    assert len(told) >= jobs * 0.8
    assert [id for id, fence in told if (history.rows[id].state, history.rows[id].fence) != (3, fence)] == []
