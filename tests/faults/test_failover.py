"""A standby that lagged takes over with another clock, or a snapshot is put back: no number is given for two acts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager

import psycopg
import pytest

from steadhold import AsyncClient
from steadhold.db.migrate import migrate
from steadhold.sdk.errors import StaleFence
from steadhold.testing.database import Database
from tests.faults import standby
from tests.faults.issued import LEASE_SECONDS, Held, HeldJob, HeldLock, Issued
from tests.faults.servers import Server, key_in

WRITERS, WORKERS = 4, 2


def founded(primary) -> str:
    """A migrated database with a workspace; a key that may do everything there."""
    asyncio.run(migrate(primary.dsn))
    with psycopg.connect(primary.dsn, autocommit=True) as conn:
        database = Database(primary.dsn, conn)
        return key_in(database, database.new_workspace())


@pytest.fixture
def home():
    with standby.folder() as made:
        yield made


@pytest.fixture
def pair(home, ahead_seconds):
    made = standby.Pair(home, ahead_seconds)
    with made.primary:
        key = founded(made.primary)
    made.follow()
    try:
        yield made, key
    finally:
        made.stop()


@asynccontextmanager
async def busy(client, issued, held):
    """Writers, workers, a holder and a rival, for as long as the block runs."""
    for one in held:
        one.subject, one.fence, _ = await one.take(client, "holder")
    loops = [
        *(issued.write(client, n) for n in range(WRITERS)),
        *(issued.bounce(client, n) for n in range(WORKERS)),
        *(issued.lock(client, n) for n in range(WORKERS)),
        *(one.hold(client) for one in held),
        *(one.rival(client) for one in held),
    ]
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
        for one in (issued, *held):
            one.stopping = True
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def not_early(conn, held: Held) -> None:
    """Whoever lost it, or got it, did so after its whole length in this incarnation."""
    assert held.renewed >= 3
    incarnation, began = conn.execute("select incarnation, began_at from steadhold.house").fetchone()
    ends = conn.execute(
        "select occurred_at from steadhold.events where aggregate_id = %s and aggregate_revision > %s and type = %s",
        (held.subject, incarnation << 32, held.ends_with),
    ).fetchall()
    times = [*(at for (at,) in ends), *(at for fence, at in held.taken if fence > incarnation << 32)]
    assert all((at - began).total_seconds() >= LEASE_SECONDS for at in times), (held.subject, began, times)
    assert held.refused or not times


class Seat:
    """Where a server listens. Another that takes its place knows nothing of what the first one knew."""

    def __init__(self, dsn: str) -> None:
        self.server = Server(dsn)
        self.listener, self.url = self.server.listener.dup(), self.server.url

    async def leave(self) -> None:
        """Kill the server; who asks meanwhile waits for the next."""
        await asyncio.to_thread(self.server.kill)

    async def take(self, dsn: str) -> None:
        """Start another."""
        self.server.close()
        self.server = await asyncio.to_thread(Server, dsn, listener=self.listener)

    def close(self) -> None:
        """Leave nothing behind."""
        self.server.close()
        self.listener.close()


@asynccontextmanager
async def seated(dsn):
    """A server, and its seat."""
    seat = await asyncio.to_thread(Seat, dsn)
    try:
        yield seat
    finally:
        seat.close()


async def the_lost_is_lost(client, lost) -> None:
    """The claim that was lost is worth nothing, and the next one has a higher fence."""
    [again] = await client.jobs.claim("another", ["lost"])
    assert (again.job_id, again.fence > lost.fence) == (lost.job_id, True)
    with pytest.raises(StaleFence):
        await client.jobs.complete(lost.job_id, lost.fence)


def steadhold(*words: str, database_url: str) -> None:
    """Run a command, as an operator would."""
    command = [sys.executable, "-m", "steadhold", *words, "--database-url", database_url]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("ahead_seconds, new", [(10, False), (-10, True)], ids=["ahead", "behind, and a new server"])
async def test_a_standby_that_lagged_and_has_another_clock_takes_over(pair, new):
    both, key = pair
    issued, held = Issued(), (HeldJob(), HeldLock())
    async with (
        seated(both.dsn) as seat,
        AsyncClient(seat.url, key, give_up_seconds=120) as client,
        busy(client, issued, held),
    ):
        await client.jobs.submit("lost")
        await issued.more(revision=100, fence=5, lock=10)
        await asyncio.to_thread(both.caught_up)
        await asyncio.to_thread(both.lag)
        [lost] = await client.jobs.claim("me", ["lost"])
        await issued.more(revision=100, fence=5, lock=10)
        if new:
            await seat.leave()
        await asyncio.to_thread(both.fail_over)
        if new:
            await seat.take(both.dsn)
        await issued.more(revision=200, fence=10, lock=20)
        await the_lost_is_lost(client, lost)
    assert issued.faults == []
    with standby.connected(both.standby) as conn:
        assert conn.execute("select incarnation, timeline from steadhold.house").fetchone() == (1, "00000002")
        for one in held:
            not_early(conn, one)


@pytest.mark.parametrize("ahead_seconds", [10, -10], ids=["ahead", "behind"])
async def test_a_snapshot_is_put_back_and_said_so(home, ahead_seconds):
    """On a host with another clock. Nothing shows it, and the servers that might remember were stopped."""
    data, snapshot = home / "data", home / "snapshot"
    first, second = standby.postgres(data), standby.postgres(data, **standby.shifted(home, ahead_seconds))
    issued, held = Issued(), (HeldJob(), HeldLock())
    with first:
        key = await asyncio.to_thread(founded, first)
    try:
        await asyncio.to_thread(first.start)
        async with (
            seated(first.dsn) as seat,
            AsyncClient(seat.url, key, give_up_seconds=120) as client,
            busy(client, issued, held),
        ):
            await client.jobs.submit("lost")
            await issued.more(revision=100, fence=5, lock=10)
            await asyncio.to_thread(standby.replaced, first, first, data, snapshot)
            [lost] = await client.jobs.claim("me", ["lost"])
            await issued.more(revision=100, fence=5, lock=10)
            await seat.leave()
            await asyncio.to_thread(standby.replaced, first, second, snapshot, data)
            await asyncio.to_thread(steadhold, "restored", database_url=second.dsn)
            await seat.take(second.dsn)
            await issued.more(revision=200, fence=10, lock=20)
            await the_lost_is_lost(client, lost)
        assert issued.faults == []
        with standby.connected(second) as conn:
            assert conn.execute("select incarnation, timeline from steadhold.house").fetchone() == (1, "00000001")
            for one in held:
                not_early(conn, one)
    finally:
        first.stop()
        second.stop()
