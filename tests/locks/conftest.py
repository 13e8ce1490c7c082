from __future__ import annotations

import msgspec
import pytest

from steadhold.db.pool import Pool
from steadhold.locks import plans
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from tests.locks.house import House


@pytest.fixture(params=["lockstep", "single"])
async def house(request, dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        player = Lockstep(pool) if request.param == "lockstep" else Single(pool)
        yield await House(player, workspace).enter()
        if isinstance(player, Lockstep):
            await player.close()


class Door:
    """The verbs on one connection, in one workspace."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(plans, verb)(self.conn, self.workspace, *args, **kw)

    def waits(self, operation, request="r", name="a", ttl=30):
        """A request that stands in line, looking again."""
        return self.acquire(name, operation, ttl, operation, request=request, waits=True)

    def events(self, name="a"):
        found = self.conn.execute(
            "select aggregate_revision, type, data from steadhold.events where workspace = %s and aggregate_id = %s"
            " order by 1",
            [self.workspace, f"lock:{name}"],
        )
        return [(revision, type, msgspec.json.decode(data)["fence"]) for revision, type, data in found]


@pytest.fixture
def door(conn, workspace):
    return Door(conn, workspace)
