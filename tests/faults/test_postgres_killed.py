"""PostgreSQL is killed under load: what was acknowledged is there, what was refused is not, and the server goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from steadhold.db.embedded import Embedded
from steadhold.db.migrate import migrate
from steadhold.kit.ids import new_id
from steadhold.testing.database import Database
from tests.faults.servers import Server, key_in

JSON = {"content-type": "application/json"}
WRITERS = 16
KILLS = 3


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="steadhold-killed-") as made:
        path = Path(made)
        path.chmod(0o755)
        yield path / "data"


@pytest.fixture
async def postgres(folder):
    async with Embedded(folder) as made:
        await migrate(made.dsn)
        yield made


@pytest.fixture(params=["lockstep", "single"])
async def running(request, postgres):
    made = await asyncio.to_thread(Server, postgres.dsn, player=request.param)
    try:
        yield made
        assert "Traceback" not in made.said(), made.said()
    finally:
        made.close()


class Load:
    """Writers that each count a name of their own up, and note what they were told."""

    def __init__(self, client):
        self.client = client
        self.told = Counter()
        self.acknowledged = dict.fromkeys(range(WRITERS), 0)
        self.broken = ""
        self.news = asyncio.Event()
        self.stopping = False

    async def write(self, writer):
        revision = 0
        while not self.stopping:
            condition = {"if-match": f'"{revision}"'} if revision else {"if-none-match": "*"}
            operation = new_id()
            headers = {**condition, "idempotency-key": operation, **JSON}
            content = b"%d" % (revision + 1)
            got = await self.until_told(f"/v1/state/w{writer}", content, headers)
            if got.status_code not in {200, 201}:
                self.broken = got.text
                self.news.set()
                return
            revision = int(got.headers["revision"])
            assert revision == int(content)
            self.acknowledged[writer] = revision
            self.told["written"] += 1
            self.news.set()

    async def until_told(self, path, content, headers):
        """Send one operation until it is known what became of it."""
        while True:
            got = await self.client.put(path, content=content, headers=headers)
            code = got.json().get("code", "written")
            self.told[code] += 1
            if code not in {"unavailable", "outcome_unknown", "busy", "operation_in_flight"}:
                return got
            assert got.headers["retry-after"]

    async def more(self, writes):
        """Wait until so many more are written, or a writer was told what cannot be."""
        least = self.told["written"] + writes
        async with asyncio.timeout(90):
            while self.told["written"] < least:
                await self.news.wait()
                self.news.clear()
                if self.broken:
                    raise AssertionError(self.broken)


async def test_what_was_acknowledged_is_there(postgres, running):
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        database = Database(postgres.dsn, conn)
        key = key_in(database, database.new_workspace())
    async with running.aclient(key) as client:
        load = Load(client)
        writers = [asyncio.create_task(load.write(n)) for n in range(WRITERS)]
        back = []
        for _ in range(KILLS):
            await load.more(200)
            old = postgres.pid
            os.kill(old, signal.SIGKILL)
            killed = time.monotonic()
            await asyncio.to_thread(postgres.wait_ready, not_pid=old)
            await load.more(1)
            back.append(round(time.monotonic() - killed, 1))
        await load.more(200)
        load.stopping = True
        await asyncio.gather(*writers)
        print(f"writes again after {back} s; told {dict(load.told)}")  # noqa: T201 - noted, not judged
        for writer, revision in load.acknowledged.items():
            read = await client.get(f"/v1/state/w{writer}")
            assert (read.content, read.headers["revision"]) == (b"%d" % revision, f"{revision}")
            kept = (await client.get(f"/v1/state/w{writer}?view=revisions")).json()["items"]
            assert [item["revision"] for item in kept] == list(range(revision, max(0, revision - len(kept)), -1))
        assert load.told["written"] >= 200 * (KILLS + 1)
        assert (await client.get("/readyz")).status_code == 200
