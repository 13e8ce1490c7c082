from __future__ import annotations

from dataclasses import replace

import pytest

from steadhold import fences
from steadhold.db.pool import Pool
from steadhold.events import Retry, Taken, relaying
from steadhold.events.routes import ROUTES
from steadhold.jobs.routes import ROUTES as JOBS
from steadhold.locks.routes import ROUTES as LOCKS
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.events.stream import MANY, Flow
from tests.jobs.house import House as Jobs


class House(Jobs):
    """The doors of events over a real database, and of what may own an aggregate."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        above = replace(self.doors.above, require=fences.require)
        self.doors = Doors((*ROUTES, *LOCKS, *JOBS), above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=("events:*", "locks:*", "jobs:*")):
        return await super().enter(scopes)

    async def match(self):
        return await self.player.play(relaying.match.call(self.workspace, 100))


@pytest.fixture(params=["lockstep", "single"])
async def house(request, dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        player = Lockstep(pool) if request.param == "lockstep" else Single(pool)
        yield await House(player, workspace).enter()
        if isinstance(player, Lockstep):
            await player.close()


@pytest.fixture
async def stream(dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        yield Flow(Single(pool), workspace)


@pytest.fixture
async def waiting(stream):
    """More of an aggregate than a claim takes, behind one that waits, and nothing of it has its turn."""
    await stream.subscribe()
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda _one: Retry("down")
    await stream.publish()
    assert await stream(relaying.lanes) == []
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    return stream
