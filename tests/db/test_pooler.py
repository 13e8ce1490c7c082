from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from steadhold.db import pooler
from steadhold.db.connection import connect
from steadhold.db.errors import StatementsLostError
from steadhold.db.facts import gather
from steadhold.db.pool import Pool
from steadhold.db.pooler import Pooler
from tests.db.pooler import pooling


def parts(dsn: str) -> tuple[str, str]:
    split = urlsplit(dsn)
    return parse_qs(split.query)["host"][0], split.path.removeprefix("/")


async def test_a_transaction_pooler_is_seen_with_what_it_loses(housed: str, home: Path) -> None:
    async with pooling(home, *parts(housed), size=3) as through:
        found = (await gather(through)).pooler
        assert (found.transactions, found.keeps_statements) == (True, False)


@pytest.mark.parametrize("keeps", [False, True], ids=["loses", "keeps"])
async def test_a_pooler_with_one_backend_is_seen_too(housed: str, home: Path, keeps: bool) -> None:
    """What one client prepared there is found by the next one under the same name, unless the pooler sees to names."""
    async with pooling(home, *parts(housed), size=1, keeps=keeps) as through:
        assert (await gather(through)).pooler == Pooler(transactions=True, leaks=True, keeps_statements=keeps)


async def test_a_pooler_that_keeps_statements_is_known(housed: str, home: Path) -> None:
    async with pooling(home, *parts(housed), size=3, keeps=True) as through:
        found = (await gather(through)).pooler
        assert (found.transactions, found.keeps_statements) == (True, True)


async def test_a_pooler_whose_other_backends_are_all_taken_is_one() -> None:
    """Whether it keeps statements is not known then, and is seen when one is lost."""

    class One:
        async def prepare(self, _query: str, *, name: str) -> One:
            assert name
            return self

        async def fetchval(self, *, timeout: float | None = None) -> int:
            if timeout is not None:
                raise TimeoutError
            return 1

    class Two:
        @asynccontextmanager
        async def transaction(self) -> AsyncIterator[None]:
            yield

        async def fetch(self, _query: str, _name: str) -> list[tuple[int, bool]]:
            return [(2, False)]

    assert await pooler._compare(cast("Any", One()), cast("Any", Two())) == (True, None)


async def test_a_pool_refuses_what_loses_its_statements(housed: str, home: Path) -> None:
    """Of two clients of such a pooler, one may execute what the other prepared: nothing of ours is executed there."""
    async with pooling(home, *parts(housed), size=3) as through, Pool(through, size=2) as pool:
        for _ in range(2):
            with pytest.raises(
                StatementsLostError, match=r"Set prepared_statements to 0 .STEADHOLD_PREPARED_STATEMENTS"
            ):
                await pool.take()
        assert pool.open == 0
        conn = await asyncpg.connect(through, statement_cache_size=0)
        named = "select name from pg_prepared_statements where name like '\\_\\_asyncpg%'"
        assert [await conn.fetch(named) for _ in range(3)] == [[], [], []]
        await conn.close()


async def test_a_pool_looks_once_at_what_keeps_its_statements(
    housed: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    async def look(dsn: str, seconds: float) -> Pooler:
        looks.append(dsn)
        return await looking(dsn, seconds)

    looking = pooler.look
    monkeypatch.setattr(pooler, "look", look)
    async with pooling(home, *parts(housed), size=2, keeps=True) as through, Pool(through, size=4) as pool:

        async def use(n: int) -> int:
            async with pool.connection() as conn:
                return int(await conn.fetchval("select $1::int", n))

        assert await use(0) == 0
        assert await asyncio.gather(*(use(n) for n in range(20))) == list(range(20))
        assert pool.open > 1
    async with Pool(housed, size=1) as pool, pool.connection():
        pass
    assert looks == [through]


async def test_a_pool_looks_again_where_it_could_not_see(
    housed: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[bool | None] = [None, None, True]

    async def look(_dsn: str, _seconds: float) -> Pooler:
        return Pooler(transactions=True, leaks=False, keeps_statements=answers.pop(0))

    monkeypatch.setattr(pooler, "look", look)
    async with pooling(home, *parts(housed), size=4, keeps=True) as through, Pool(through, size=4) as pool:
        conns = [await pool.take() for _ in range(4)]
        assert answers == []
        for conn in conns:
            pool.give(conn)


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


async def test_statements_that_are_lost_later_are_told_by_our_setting(housed: str, home: Path) -> None:
    """A pooler may change while a pool is open. The driver would name a setting of its own."""
    async with pooling(home, *parts(housed), size=2) as through:
        conn = await connect(through, statements=5, seconds=5.0, application_name="steadhold")
        try:
            assert conn.lent
            assert await conn.fetchval("select $1::int", 1) == 1
            with pytest.raises(StatementsLostError, match="prepared_statements") as lost:
                await conn.fetchval("select $1::int", 2)
            assert lost.value.sqlstate == "26000"  # it was not executed
        finally:
            conn.terminate()
