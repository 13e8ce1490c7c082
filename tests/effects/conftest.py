from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.effects.house import House
from tests.effects.people import Desk


@pytest.fixture
def desk(conn, workspace):
    return Desk(conn, workspace)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield House(Single(pool), workspace)
