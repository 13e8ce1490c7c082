"""What becomes claimable in one process wakes waiters in another, after the commit, by a hint alone."""

from __future__ import annotations

import asyncio

from steadhold.db.pool import Pool
from steadhold.jobs import hints
from steadhold.server import hints as house
from steadhold.server.hints import Hints
from steadhold.web.hub import Hub


class Heard(Hub):
    """A hub that writes down what wakes it."""

    def __init__(self):
        super().__init__()
        self.keys: asyncio.Queue = asyncio.Queue()

    def wake(self, key):
        self.keys.put_nowait(key)


async def listening(conn):
    """Whether somebody listens in this database, and on the last channel, too."""
    asked = (
        "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle'"
        " and application_name = 'steadhold hints' and query ilike 'listen%' and query like $1"
    )
    return await conn.fetchval(asked, f"%{hints.CHANNEL}%")


async def test_a_touch_here_wakes_a_waiter_there(fresh_database, workspace):
    """Two hubs on one database: the second hears what others may wait for, and nothing else."""
    dsn = fresh_database.dsn
    async with Pool(dsn, size=2) as pool, asyncio.timeout(30):
        here, there = Hub(), Heard()
        told, heard = Hints(pool, dsn, here), Hints(pool, dsn, there)
        here.tell = told.take
        task = asyncio.ensure_future(heard.hear())
        async with pool.connection() as conn:
            while not await listening(conn):
                await asyncio.sleep(0)
        here.touch((workspace, "state", "n"))
        here.touch((workspace, "jobs", "mail"))
        keys = [(workspace, room, "x") for room in ("lock", "approval", "schedule", "inbox")]
        for key in (*keys, (workspace, "lock.free", "x")):
            here.touch(key)
        await told.send()
        here.touch(last := (workspace, "jobs", "last"))
        await told.send()
        heard_of = [await there.keys.get()]
        while heard_of[-1] != last:
            heard_of.append(await there.keys.get())
        assert sorted(heard_of) == sorted([(workspace, "jobs", "mail"), *keys, last])
        heard.stop()
        await task


async def test_loops_that_wait_go_round_though_nothing_happens(fresh_database, workspace, monkeypatch):
    """So they are seen to go well; and what happens between two rounds is heard."""
    monkeypatch.setattr(house, "QUIET_SECONDS_MAX", 0.0)
    dsn = fresh_database.dsn
    async with Pool(dsn, size=1) as pool, asyncio.timeout(30):
        here, there = Hub(), Heard()
        told, heard = Hints(pool, dsn, here), Hints(pool, dsn, there)
        here.tell = told.take
        for _ in range(2):
            await told.send()
            await heard.hear()
        here.touch(key := (workspace, "lock", "x"))
        await told.send()
        assert await there.keys.get() == key
        heard.stop()
        await heard.hear()
        assert heard._conn is None
