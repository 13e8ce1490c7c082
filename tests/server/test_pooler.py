"""A whole server behind a transaction pooler: nothing of it is kept in a session."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import asyncpg
import msgspec
import pytest

from steadhold.server.app import App
from steadhold.server.settings import Settings
from steadhold.testing.database import Database
from tests.db.pooler import pooling
from tests.db.test_pooler import parts
from tests.server.conftest import key_of
from tests.web.toy import Client


@pytest.mark.parametrize("player", ["lockstep", "single"])
async def test_a_server_works_through_a_transaction_pooler(fresh_database: Database, player: str) -> None:
    """Three backends are shared by writes, duties and checks of health, and no settings of one are seen by another."""
    workspace = fresh_database.new_workspace()
    settings = Settings(pool_size=6, player=player, prepared_statements=0)
    with tempfile.TemporaryDirectory() as folder:
        async with pooling(Path(folder), *parts(fresh_database.dsn), size=3) as through:
            app = App(msgspec.structs.replace(settings, database_url=through))
            await app.start()
            call = Client(app, await key_of(app, workspace))
            names = [f"/v1/state/n{n}" for n in range(20)]
            made = await asyncio.gather(*[call("PUT", name, b"1", if_none_match="*") for name in names])
            assert {got.status for got in made} == {201}
            assert (await call("GET", "/readyz")).status == 200
            async with asyncio.timeout(10):
                while "duties" not in app.engine.tallies.successes:
                    await asyncio.sleep(0)
            seen = await asyncio.gather(*[call("GET", name) for name in names])
            assert [got.body for got in seen] == [b"1"] * 20
            await app.stop()
            conn = await asyncpg.connect(through, statement_cache_size=0)
            left = "select coalesce(current_setting('steadhold.receipts_seconds', true), '')"
            assert [await conn.fetchval(left) for _ in range(3)] == ["", "", ""]
            await conn.close()
