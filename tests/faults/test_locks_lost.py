"""A holder that was paused, or cut off: it is told in time, and whatever it writes late is refused everywhere."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import psycopg
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import LockLost
from steadhold.sdk.locks_shapes import CLOCK
from steadhold.testing.protected import ProtectedTable
from tests.faults.relay import Relay
from tests.sdk.site import key, site  # noqa: F401 - fixtures
from tests.standing import standing

ROOT = Path(__file__).parents[2]
HOLDER = """
import json, os, sys, threading
import httpx2, psycopg
from steadhold.sdk import Client, locks_holding
from steadhold.sdk.errors import LockLost
from steadhold.testing.protected import ProtectedTable

url, key, dsn = sys.argv[1:]
locks_holding.RENEWALS = 100  # so it is asked soon after it woke
lost = threading.Event()
with Client(url, key) as client, psycopg.connect(dsn, autocommit=True, options="-c search_path=theirs") as conn:
    told = {}
    try:
        with client.locks.hold("a", owner="paused", ttl=30, on_lost=lost.set) as lock:
            client.state.create("n", "first", fences=[lock.grant])
            table = ProtectedTable(conn)
            assert table.write("n", lock.fence, "first")
            print(lock.fence, flush=True)
            sys.stdin.readline()  # it is stopped here, and woken after another took over
            held = {"authorization": f"Bearer {key}", "fence": f'"lock:a";fence={lock.fence}'}
            with httpx2.Client(base_url=url, headers=held, trust_env=False) as http:
                put = {"if-match": '"2"', "content-type": "application/json"}
                told["state"] = http.put("/v1/state/n", content=b'"late"', headers=put).json()["code"]
                job = http.post("/v1/jobs", json={"type": "t"}, headers={"idempotency-key": "late"})
                told["jobs"] = job.json()["code"]
            told["table"] = table.write("n", lock.fence, "late")
            assert lost.wait(60)
            lock.ensure_held()
            told["ensure_held"] = "went on"
    except LockLost as error:
        told["lost"] = error.code
print(json.dumps(told), flush=True)
"""


@pytest.fixture(autouse=True)
def server_clock(site):  # noqa: F811
    """The time of the server, which stands unless a test moves it: only the holder's own goes on."""
    with standing(site.database):
        yield site.database.clock
    site.database.clock.reset()


@pytest.fixture
def theirs(site):  # noqa: F811
    """A table of somebody else's, in the same PostgreSQL."""
    with psycopg.connect(site.database.dsn, autocommit=True) as conn:
        conn.execute("drop schema if exists theirs cascade; create schema theirs; set search_path = theirs")
        table = ProtectedTable(conn)
        table.create()
        yield table


def test_a_paused_holder_wakes_after_its_time_and_is_refused_everywhere(site, key, theirs, server_clock):  # noqa: F811
    paused = subprocess.Popen(
        [sys.executable, "-c", HOLDER, site.url, key.key, site.database.dsn],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    try:
        assert paused.stdout.readline().strip() == "1"
        paused.send_signal(signal.SIGSTOP)
        server_clock.move(31)
        with Client(site.url, key.key) as client, client.locks.hold("a", owner="next", ttl=30) as lock:
            assert lock.fence == 2
            client.state.put("n", "second", if_revision=1, fences=[lock.grant])
            assert theirs.write("n", lock.fence, "second")
            paused.send_signal(signal.SIGCONT)
            said, _ = paused.communicate("go on\n", timeout=60)
            assert msgspec.json.decode(said) == {
                "state": "stale_fence", "jobs": "stale_fence", "table": False, "lost": "lock_lost",
            }  # fmt: skip
            assert client.state.get("n").value == "second"
            assert list(client.jobs.list()) == []
            assert theirs.read("n") == (2, "second")
            lock.ensure_held()
    finally:
        paused.kill()
        paused.wait()
        paused.stdin.close()
        paused.stdout.close()


async def test_a_holder_that_is_cut_off_is_told_before_another_is_granted(site, key, server_clock):  # noqa: F811
    """Nothing comes through any more: the block is interrupted by this machine's own clock, and then comes the next."""
    entered, order = [], []

    async def hold(client, relay):
        async with client.locks.hold("a", owner="cut", ttl=2) as lock:
            relay.fall_silent()
            entered.append(CLOCK())
            order.append(lock)
            await asyncio.Event().wait()

    async def follow(client):
        async with client.locks.hold("a", owner="next", ttl=30) as lock:
            order.append(lock.fence)

    with Relay(site.url) as relay:
        async with AsyncClient(relay.url, key.key) as cut, AsyncClient(site.url, key.key) as other:
            held = asyncio.ensure_future(hold(cut, relay))
            while not order:
                await asyncio.sleep(0)
            following = asyncio.ensure_future(follow(other))
            with pytest.raises(LockLost, match="time is over"):
                await held
            lost_at = CLOCK()
            (lock,) = order
            assert lock.relied_until <= entered[0] + 2
            assert lost_at >= lock.relied_until
            server_clock.move(2)
            await following
            assert order[1] == 2


def test_a_thread_that_is_cut_off_is_told(site, key, server_clock):  # noqa: F811
    told = threading.Event()

    def work(client, relay):
        with client.locks.hold("a", ttl=1, on_lost=told.set) as lock:
            relay.fall_silent()
            assert told.wait(60)
            assert not lock.held
            lock.ensure_held()

    with Relay(site.url) as relay, Client(relay.url, key.key, timeout=2) as client:
        with pytest.raises(LockLost, match="time is over"):
            work(client, relay)
        server_clock.move(1)
        with Client(site.url, key.key) as other, other.locks.hold("a") as lock:
            assert lock.fence == 2
