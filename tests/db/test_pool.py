from __future__ import annotations

import asyncio

import asyncpg
import pytest

from steadhold.db.binaries import Binaries
from steadhold.db.embedded import Embedded
from steadhold.db.errors import HouseError
from steadhold.db.migrate import files, migrate
from steadhold.db.pool import Pool, PoolClosedError
from tests.db.waiting import settle, until


async def test_what_is_given_last_is_taken_first(pool: Pool) -> None:
    one, two = await pool.take(), await pool.take()
    pool.give(one)
    pool.give(two)
    assert await pool.take() is two
    assert await pool.take() is one
    assert (pool.open, pool.idle) == (2, 0)


async def test_opens_no_more_than_needed_and_allowed(pool: Pool, admin: asyncpg.Connection) -> None:
    for _ in range(3):
        async with pool.connection() as conn:
            assert await conn.fetchval("select 1") == 1
    assert (pool.open, pool.idle) == (1, 1)
    held = [await pool.take(), await pool.take()]
    third = asyncio.create_task(pool.take())
    await settle()
    assert (pool.open, pool.waiting, third.done()) == (2, 1, False)
    ours = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    assert await admin.fetchval(ours) == 2
    pool.give(held[0])
    assert await third is held[0]


async def test_waiters_are_served_in_order_and_nobody_overtakes(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    order: list[int] = []

    async def use(n: int) -> None:
        async with pool.connection():
            order.append(n)

    waiting = []
    for n in range(4):
        waiting.append(asyncio.create_task(use(n)))
        await settle()
    pool.give(held[0])
    late = asyncio.create_task(use(99))
    await asyncio.gather(*waiting, late)
    assert order == [0, 1, 2, 3, 99]


async def test_a_transaction_left_open_is_rolled_back_with_its_connection(
    pool: Pool, admin: asyncpg.Connection
) -> None:
    conn = await pool.take()
    await conn.execute("begin; create table steadhold.left_open (n int)")
    pool.give(conn)
    assert conn.is_closed()
    assert pool.open == 0
    async with pool.connection() as other:
        assert other is not conn
    await admin.execute("create table steadhold.left_open (n int)")


async def test_an_error_in_a_block_keeps_a_sound_connection(pool: Pool) -> None:
    with pytest.raises(asyncpg.UndefinedTableError):
        async with pool.connection() as conn:
            await conn.execute("select * from no_such_table")
    assert (pool.open, pool.idle) == (1, 1)


async def test_a_connection_given_twice_is_a_mistake_told_at_once(pool: Pool) -> None:
    conn = await pool.take()
    pool.give(conn)
    with pytest.raises(AssertionError, match="Give it once"):
        pool.give(conn)


async def test_discarding_in_a_block_is_allowed(pool: Pool) -> None:
    async with pool.connection() as conn:
        pool.discard(conn)
    assert pool.open == 0


async def test_a_connection_that_died_idle_is_replaced(pool: Pool, admin: asyncpg.Connection) -> None:
    conn = await pool.take()
    pool.give(conn)
    await admin.execute("select pg_terminate_backend($1, 10000)", conn.get_server_pid())
    await until(conn.is_closed)
    async with pool.connection() as other:
        assert await other.fetchval("select 1") == 1
    assert (pool.open, pool.idle) == (1, 1)


async def test_init_runs_once_for_each_connection(housed: str) -> None:
    seen: list[object] = []

    async def init(conn: asyncpg.Connection) -> None:
        seen.append(conn)

    async with Pool(housed, size=2, init=init) as pool:
        for _ in range(3):
            async with pool.connection():
                pass
        assert len(seen) == 1


async def test_each_new_connection_compares_the_incarnation(pool: Pool, admin: asyncpg.Connection) -> None:
    first = await pool.take()
    assert pool.house.house.incarnation == 0
    await admin.execute("update steadhold.house set timeline = '0000000A'")
    second = await pool.take()
    assert pool.house.house.incarnation == 1
    pool.give(first)
    pool.give(second)


async def test_a_connection_that_fails_its_init_frees_its_place(empty: str) -> None:
    async with Pool(empty, size=1) as pool:
        for _ in range(2):
            with pytest.raises(HouseError, match="steadhold migrate"):
                await pool.take()
        assert pool.open == 0


async def test_a_failed_connect_lets_the_next_waiter_try(housed: str) -> None:
    calls = iter([RuntimeError("first"), None])

    async def init(_: asyncpg.Connection) -> None:
        await settle()
        if (error := next(calls)) is not None:
            raise error

    async with Pool(housed, size=1, init=init) as pool:
        first, second = (asyncio.create_task(pool.take()) for _ in range(2))
        with pytest.raises(RuntimeError, match="first"):
            await first
        pool.give(await second)
        assert (pool.open, pool.idle) == (1, 1)


async def test_closing_tells_waiters_and_ends_what_comes_back(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    waiting = asyncio.create_task(pool.take())
    pool.give(held[0])
    held[0] = await waiting
    waiting = asyncio.create_task(pool.take())
    await settle()
    await pool.close()
    for task in (waiting, asyncio.create_task(pool.take())):
        with pytest.raises(PoolClosedError):
            await task
    for conn in held:
        assert not conn.is_closed()
        pool.give(conn)
        assert conn.is_closed()
    assert pool.open == 0


async def test_terminating_ends_even_what_is_taken(pool: Pool) -> None:
    held, idle = await pool.take(), await pool.take()
    pool.give(idle)
    pool.terminate()
    assert held.is_closed()
    assert idle.is_closed()


async def test_works_without_named_statements(housed: str) -> None:
    async with Pool(housed, size=1, statements=0) as pool, pool.connection() as conn:
        for n in range(3):
            assert await conn.fetchval("select $1::int", n) == n
        assert await conn.fetchval("select count(*) from pg_prepared_statements") == 0


async def test_finds_the_server_again_after_a_crash(home, pg_bin: Binaries) -> None:
    async with Embedded(home / "data", throwaway=True, pg_bin=pg_bin) as pg:
        await migrate(pg.dsn, known=files()[:1])
        async with Pool(pg.dsn, size=2) as pool:
            held, idle = await pool.take(), await pool.take()
            pool.give(idle)
            pg.kill()
            await until(lambda: held.is_closed() and idle.is_closed())
            pool.give(held)
            async with pool.connection() as conn:
                assert await conn.fetchval("select 1") == 1
            assert pool.house.house.incarnation == 0, "a crash loses nothing that was acknowledged"


async def test_says_what_the_driver_says_when_the_server_stays_away(home) -> None:
    async with Pool(f"postgresql://nobody@/none?host={home}", size=1, connect_seconds=0.2) as pool:
        with pytest.raises(OSError, match="No such file"):
            await pool.take()
        assert pool.open == 0
