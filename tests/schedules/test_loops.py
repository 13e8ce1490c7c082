"""schedules by themselves: servers that ask what is due, at once and one after the other."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from steadhold import jobs, schedules
from steadhold.db.pool import Pool
from steadhold.jobs import Complete, Settlement
from steadhold.play.single import Single
from steadhold.schedules.loops import DUTIES, duties
from steadhold.server.loops import Announcements, Duties
from steadhold.server.settings import Retention
from steadhold.server.tallies import Tallies
from steadhold.testing.database import copied
from steadhold.web.hub import Hub
from tests.schedules.conftest import HOUR, spec


@pytest.fixture(scope="module")
def own(server_run):
    with copied(server_run, "schedules_loops") as database:
        yield database


@pytest.fixture
async def pool(own):
    async with Pool(own.dsn, size=6) as pool:
        yield pool
    own.clock.reset()


def server(pool, hub):
    """The background of a server, with the duties of schedules alone."""
    faults = []
    made = Duties(
        DUTIES, due=Announcements(pool, Retention()).read, play=Single(pool).play, hub=hub,
        tallies=Tallies(), alarm=lambda error, facts: faults.append((error, facts)),
    )  # fmt: skip
    return made, faults


def test_every_duty_is_announced(conn):
    body = conn.execute("select prosrc from pg_proc where proname = 'due_schedules'").fetchone()[0]
    assert [duty.name for duty in duties() if f"'{duty.name}'" not in body] == []


async def many(own, pool, workspace, count, **said):
    """Schedules whose first instant is one and the same, however long it takes to make them."""
    at, player = own.clock.now().replace(microsecond=0) + HOUR, Single(pool)
    for n in range(count):
        made = await player.play(schedules.put.call(workspace, f"s{n}", spec(starts_at=at, **said), None))
        assert made.schedule.next_at == at
    return at


def to(own, moment):
    """Let the time be a little past a moment."""
    own.clock.move((moment - own.clock.now()).total_seconds() + 0.01)


async def runs(pool, workspace):
    async with pool.connection() as conn:
        found = await conn.fetch(
            "select schedule, scheduled_at, count from steadhold.schedule_runs where workspace = $1", workspace
        )
    return [tuple(row) for row in found]


async def test_servers_share_what_is_due(own, pool):
    """Two that ask at once record each instant once, of every schedule; and the waiters for jobs are told."""
    workspace = own.new_workspace()
    at = await many(own, pool, workspace, 600)
    to(own, at)
    hub = Hub()
    (one, faults), (two, more) = server(pool, hub), server(pool, hub)
    with hub.waiting(((workspace, "jobs"),), alone=False) as hint:
        while schedules_due(await Announcements(pool, Retention()).read(), workspace):
            await asyncio.gather(one.tick(), two.tick())
        assert (faults, more) == ([], [])
        assert hint.woken
    found = await runs(pool, workspace)
    assert sorted(id for id, _, _ in found) == sorted(f"s{n}" for n in range(600))
    assert {scheduled for _, scheduled, _ in found} == {at}
    await one.tick()
    assert len(await runs(pool, workspace)) == 600


async def test_an_outage_is_recorded_in_passes(own, pool):
    """Ten days later every instant of every schedule is told, and a few jobs are there."""
    workspace = own.new_workspace()
    said = {"every_seconds": 60, "missed": "all", "overlap": "enqueue", "window_seconds": 86_400}
    at = await many(own, pool, workspace, 30, **said)
    to(own, at + timedelta(days=10))
    one, faults = server(pool, Hub())
    while schedules_due(await Announcements(pool, Retention()).read(), workspace):
        await one.tick()
    assert faults == []
    found = await runs(pool, workspace)
    first, last = 10 * 1_440 + 1, (own.clock.now() - at) // timedelta(minutes=1) + 1
    for n in range(30):
        assert first <= sum(count for id, _, count in found if id == f"s{n}") <= last
    assert len(found) <= 30 * 105


def schedules_due(due, workspace):
    return (workspace, "schedules.tick") in due


async def test_old_runs_go_by_themselves(own, pool):
    workspace = own.new_workspace()
    to(own, await many(own, pool, workspace, 1))
    one, faults = server(pool, Hub())
    await one.tick()
    await Single(pool).play(schedules.pause.call(workspace, "s0"))
    for held in await Single(pool).play(jobs.claim.call(workspace, "w", ["t"], 1)):
        await Single(pool).play(jobs.settle.call(workspace, Settlement(held.id, held.fence, Complete())))
    own.clock.move(Retention().schedule_runs_seconds + 10)
    assert (workspace, "schedules.retention") in await Announcements(pool, Retention()).read()
    await one.tick()
    assert (faults, await runs(pool, workspace)) == ([], [])
