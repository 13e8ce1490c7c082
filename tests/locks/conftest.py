from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
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
