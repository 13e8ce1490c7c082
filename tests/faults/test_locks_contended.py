"""Many want one lock while PostgreSQL is killed and clocks are wrong: fences rise, and no two hold it at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import msgspec
import psycopg
import pytest

from steadhold.db.embedded import Embedded
from steadhold.db.migrate import migrate
from steadhold.kit.ids import new_id
from steadhold.testing.database import Database
from tests.faults.servers import Server, key_in

ROOT = Path(__file__).parents[2]
CLIENTS = 8
AGAIN = {"unavailable", "outcome_unknown", "busy"}

# Its clock is wrong by what it is told; it takes the lock and gives it back until it is told to stop.
SKEWED = """
import sys, time
off = float(sys.argv[4])
now, now_ns = time.time, time.time_ns
time.time, time.time_ns = (lambda: now() + off), (lambda: now_ns() + int(off * 1e9))
from steadhold.sdk import Client
from steadhold.sdk.errors import LockHeld, LockLost, SteadholdError
url, key, owner = sys.argv[1:4]
taken = 0
with Client(url, key) as client:
    while True:
        try:
            with client.locks.hold("a", owner=owner, ttl=10, wait_seconds=5) as lock:
                lock.ensure_held()
                taken += 1
                print(taken, flush=True)
        except SteadholdError:
            continue
"""


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="steadhold-locks-") as made:
        Path(made).chmod(0o755)
        yield Path(made) / "data"


@pytest.fixture
async def postgres(folder):
    async with Embedded(folder) as running:
        await migrate(running.dsn)
        yield running


@pytest.fixture
async def servers(postgres):
    made = [await asyncio.to_thread(Server, postgres.dsn) for _ in range(2)]
    yield made
    for each in made:
        assert "Traceback" not in each.said(), each.said()
        each.close()


class Crowd:
    """Clients that take one lock, each in its turn, and note what they were told."""

    def __init__(self, clients):
        self.clients, self.granted, self.told = clients, [], Counter()
        self.news, self.stopping = asyncio.Event(), False

    async def said(self, client, path, body, key=None):
        """One request, sent again until it is known what became of it."""
        headers = {"idempotency-key": key or new_id()}
        while True:
            got = await client.post(f"/v1/locks/a/{path}", json=body, headers=headers)
            code = got.json().get("code", "done") if got.content else "done"
            self.told[code] += 1
            if code not in AGAIN:
                return code, got

    async def contend(self, n):
        client = self.clients[n % len(self.clients)]
        key = new_id()
        while not self.stopping:
            code, got = await self.said(
                client, "acquire", {"owner": f"c{n}", "ttl_seconds": 10, "wait_seconds": 5}, key
            )  # fmt: skip
            if code == "lock_held":
                continue
            if code == "done":
                fence = got.json()["fence"]
                self.granted.append((fence, f"c{n}"))
                self.news.set()
                await self.said(client, "release", {"fence": fence})
            else:
                assert code == "lock_lost", got.text
            key = new_id()

    async def more(self, grants):
        """Wait until so many more were granted."""
        least = len(self.granted) + grants
        async with asyncio.timeout(600):
            while len(self.granted) < least:
                await self.news.wait()
                self.news.clear()


def history(dsn):
    """Each grant as the database's clock has it: fence, owner, begin, end."""
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "select aggregate_revision, type, data, occurred_at from steadhold.events"
            " where aggregate_id = 'lock:a' order by aggregate_revision"
        ).fetchall()
    assert [revision for revision, *_ in found] == list(range(1, len(found) + 1))
    told = [(type, msgspec.json.decode(data), at) for _, type, data, at in found]
    begun, ended = told[::2], told[1::2]
    assert {type for type, _, _ in begun} == {"lock.granted"}
    assert {type for type, _, _ in ended} <= {"lock.released", "lock.expired"}
    assert all(a["fence"] == b["fence"] for (_, a, _), (_, b, _) in zip(begun, ended, strict=False))
    ends = [at for _, _, at in ended] + [None]
    return [(data["fence"], data["owner"], at, end) for (_, data, at), end in zip(begun, ends, strict=False)]


def skewed_by(off, url, key, n):
    """A client whose clock is wrong."""
    words = [sys.executable, "-c", SKEWED, url, key, f"skewed{n}", f"{off}"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT, env=environ)


async def contended(postgres, servers, grants, kills):
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        database = Database(postgres.dsn, conn)
        key = key_in(database, database.new_workspace())
    with ExitStack() as stack:
        skewed = [stack.enter_context(skewed_by(off, servers[n].url, key, n)) for n, off in enumerate((180, -180))]
        for each in skewed:
            stack.callback(each.kill)
            assert await asyncio.to_thread(each.stdout.readline)
        async with servers[0].aclient(key) as one, servers[1].aclient(key) as two:
            crowd = Crowd([one, two])
            tasks = [asyncio.create_task(crowd.contend(n)) for n in range(CLIENTS)]
            for _ in range(kills):
                await crowd.more(grants // (kills + 1))
                old = postgres.pid
                os.kill(old, signal.SIGKILL)
                await asyncio.to_thread(postgres.wait_ready, not_pid=old)
            await crowd.more(grants // (kills + 1))
            crowd.stopping = True
            for each in skewed:
                each.kill()
            await asyncio.gather(*tasks)
    seen = history(postgres.dsn)
    print(f"{len(seen)} grants; told {dict(crowd.told)}")  # noqa: T201 - noted, not judged
    return seen, crowd.granted


def judge(seen, granted):
    """What must be so of all grants, and of those that somebody was told of."""
    fences = [fence for fence, *_ in seen]
    assert all(a < b for a, b in pairwise(fences)), "a fence did not rise"
    assert all(end <= begin for (*_, end), (_, _, begin, _) in pairwise(seen)), "two held it"
    owners = {fence: owner for fence, owner, *_ in seen}
    assert len(granted) == len(set(granted))
    assert all(owners[fence] == owner for fence, owner in granted)
    assert {owner for owner in owners.values() if owner.startswith("skewed")} == {"skewed0", "skewed1"}


async def test_fences_rise_and_grants_do_not_overlap_while_postgres_is_killed(postgres, servers):
    seen, granted = await contended(postgres, servers, grants=240, kills=2)
    judge(seen, granted)
    assert len(granted) >= 240


@pytest.mark.soak
@pytest.mark.timeout(1_200)
async def test_ten_thousand_grants(postgres, servers):
    seen, granted = await contended(postgres, servers, grants=10_000, kills=4)
    judge(seen, granted)
    assert len(granted) >= 10_000
