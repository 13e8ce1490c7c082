from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from tests.webhooks.site import Site


@pytest.fixture
async def site(dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        made = Site(dsn, pool, workspace)
        yield made
        assert made.alarms == []
