from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.events.stream import Flow
from tests.sinks.server import Nats


@pytest.fixture
async def nats(tmp_path):
    async with Nats(tmp_path / "jetstream") as made:
        yield made


@pytest.fixture
async def stream(dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        yield Flow(Single(pool), workspace)
