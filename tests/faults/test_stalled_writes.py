"""A worker is stopped past its lease while what it writes waits for a lock: that changes nothing any more."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.faults.fleet import Fleet
from tests.faults.history import History
from tests.faults.servers import server

LOCKS = {
    "grant": "select 1 from steadhold.grants where workspace = %s and subject = 'job:' || %s for update",
    "job": "select 1 from steadhold.jobs where workspace = %s and id::text = %s for update",
}
WAITS = (
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    " and query_start < clock_timestamp() - interval '0.3 s'"
)


@pytest.fixture(params=["on PostgreSQL", "over HTTP"])
def at(request, house, place, key):
    """Where the workers find their jobs.

    One at a time: a halted worker that still waits for a second one would be given the job of the first.
    """
    one = {"concurrency": 1, "prefetch": 0}
    if request.param == "on PostgreSQL":
        yield one | {"dsn": house.dsn, "workspace": place}
        return
    with server(house.dsn, background=False) as running:
        yield one | {"url": running.url, "api_key": key}


@pytest.fixture
async def fleet(tmp_path, house, place):
    made = Fleet(tmp_path, house, place)
    yield made
    await asyncio.to_thread(made.clear)
    house.clock.reset()


@pytest.fixture
async def play(house, place):
    async with Pool(house.dsn, size=2) as pool:
        single = Single(pool)
        yield lambda verb, *args: single.play(verb.call(place, *args))


async def gated(play, gate, *, stands=False):
    if stands:
        gate.touch()
    return (await play(jobs.submit, jobs.Submission("gated", input=f'"{gate}"'.encode()))).id


@pytest.mark.parametrize("lock", LOCKS)
async def test_what_waited_for_a_lock_is_refused(at, fleet, play, house, place, tmp_path, lock):
    fleet.start(at)
    [stalled] = fleet.children
    before = await gated(play, tmp_path / "open", stands=True)  # what is asked for the first time begins again
    await fleet.until(lambda: before in fleet.settled)
    gate = tmp_path / "gate"
    id = await gated(play, gate)
    await fleet.polled(lambda: fleet.notes.read_bytes().count(b"act") == 2)
    with house.connect() as conn, house.connect() as watching:
        with conn.transaction():
            conn.execute(LOCKS[lock], (place, id))
            gate.touch()
            await fleet.polled(lambda: watching.execute(WAITS).fetchone()[0] == 1)
            os.kill(stalled.process.pid, signal.SIGSTOP)
            house.clock.move(61)
            assert watching.execute(WAITS).fetchone()[0] == 1  # it waits still, and its lease is over
        async with asyncio.timeout(30):
            while not await play(jobs.lapse, 10):
                pass  # its transaction may be open for a moment yet
    assert (await play(jobs.get, id)).state == "accepted"
    kept = (await play(jobs.checkpoints, id, "", 10)).items
    # A server that goes on may commit what it had tested while the lease stood: nobody could take over before.
    assert kept == () or ("url" in at and lock == "job")
    fleet.start(at)
    await fleet.until(lambda: id in fleet.settled)
    ended = await play(jobs.get, id)
    os.kill(stalled.process.pid, signal.SIGCONT)
    await fleet.until(lambda: fleet.told["lease.lost"] + fleet.told["settle.refused"] >= 1, 30)
    assert fleet.settled == {before: (1, "completed"), id: (2, "completed")}
    assert await play(jobs.get, id) == ended
    assert set(await asyncio.to_thread(fleet.close)) == {0}
    with house.connect() as conn:
        history = History.read(conn, place, fleet.notes)
    assert list(history.faults()) == []
    assert history.stages[id] == {"s0": (1 if kept else 2, "t")}
