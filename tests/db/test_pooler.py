from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from steadhold.db import facts
from steadhold.db.connection import connect
from steadhold.db.facts import Pooler, gather
from steadhold.db.pool import Pool
from tests.db.pooler import pooling


def parts(dsn: str) -> tuple[str, str]:
    split = urlsplit(dsn)
    return parse_qs(split.query)["host"][0], split.path.removeprefix("/")


async def test_a_transaction_pooler_is_seen_with_what_it_loses(housed: str, home: Path) -> None:
    async with pooling(home, *parts(housed), size=3) as through:
        found = (await gather(through)).pooler
        assert (found.transactions, found.keeps_statements) == (True, False)


async def test_a_pooler_with_one_backend_is_seen_too(housed: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "HELD_SECONDS", 0.1)
    async with pooling(home, *parts(housed), size=1) as through:
        assert (await gather(through)).pooler == Pooler(transactions=True, leaks=True, keeps_statements=True)


async def test_a_direct_connection_is_none(housed: str) -> None:
    assert (await gather(housed)).pooler == Pooler(transactions=False, leaks=False, keeps_statements=True)


async def test_the_pool_works_through_one_without_named_statements(housed: str, home: Path) -> None:
    async with pooling(home, *parts(housed), size=2) as through, Pool(through, size=4, statements=0) as pool:

        async def use(n: int) -> int:
            async with pool.connection() as conn, conn.transaction():
                await conn.execute("select set_config('steadhold.workspace', $1, true)", str(n))
                return int(await conn.fetchval("select current_setting('steadhold.workspace')"))

        assert await asyncio.gather(*(use(n) for n in range(20))) == list(range(20))


async def test_a_session_that_is_lent_is_not_ours(housed: str, home: Path) -> None:
    """What would be set for it would be set for whoever comes next, whether statements are kept or not."""
    found = []
    async with pooling(home, *parts(housed), size=2) as through:
        for dsn, statements in ((housed, 5), (housed, 0), (through, 0)):
            conn = await connect(dsn, statements=statements, seconds=5.0, application_name="steadhold")
            found.append((conn.direct, await conn.is_direct()))
            await conn.close()
    assert found == [(True, True), (False, True), (False, False)]


async def test_named_statements_fail_through_one(housed: str, home: Path) -> None:
    """What the doctor's refusal is about."""
    lost = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
    async with pooling(home, *parts(housed), size=2) as through:
        conn = await asyncpg.connect(through)
        assert await conn.fetchval("select $1::int", 1) == 1
        with pytest.raises(lost):
            await conn.fetchval("select $1::int", 2)
        conn.terminate()
