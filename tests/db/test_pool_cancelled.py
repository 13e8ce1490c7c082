from __future__ import annotations

import asyncio
import random

import asyncpg
import pytest

from steadhold.db.pool import Pool
from tests.db.waiting import settle, until


async def test_a_cancelled_waiter_leaves_the_queue(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    first, second = (asyncio.create_task(pool.take()) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    assert pool.waiting == 1
    pool.give(held[0])
    assert await second is held[0]


async def test_a_waiter_cancelled_after_the_hand_over_passes_it_on(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    first, second = (asyncio.create_task(pool.take()) for _ in range(2))
    await settle()
    pool.give(held[0])
    first.cancel()
    assert await second is held[0]
    assert first.cancelled()
    pool.give(held[0])
    pool.give(held[1])
    assert (pool.open, pool.idle) == (2, 2)


async def test_a_place_handed_to_a_cancelled_waiter_is_passed_on(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    first, second = (asyncio.create_task(pool.take()) for _ in range(2))
    await settle()
    pool.discard(held[0])
    first.cancel()
    opened = await second
    assert opened not in held
    assert pool.open == 2


async def test_a_statement_cancelled_half_way_ends_its_connection(pool: Pool, admin: asyncpg.Connection) -> None:
    conn = await pool.take()
    pid = conn.get_server_pid()
    statement = asyncio.create_task(conn.execute("begin; select pg_sleep(3600)"))
    running = "select count(*) from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
    while not await admin.fetchval(running, pid):
        await asyncio.sleep(0)
    statement.cancel()
    with pytest.raises(asyncio.CancelledError):
        await statement
    assert not conn.is_in_transaction(), "the driver does not know yet, so the pool may not trust it"
    pool.give(conn)
    await until(lambda: pool.open == 0)
    while await admin.fetchval("select count(*) from pg_stat_activity where pid = $1", pid):
        await asyncio.sleep(0)


async def test_a_cancelled_block_ends_its_connection(pool: Pool) -> None:
    inside = asyncio.Event()

    async def use() -> None:
        async with pool.connection():
            inside.set()
            await asyncio.get_running_loop().create_future()

    using = asyncio.create_task(use())
    await inside.wait()
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert (pool.open, pool.idle) == (0, 0)


@pytest.mark.parametrize("seed", range(3))
async def test_any_mixture_of_cancellations_leaves_it_whole(housed: str, admin: asyncpg.Connection, seed: int) -> None:
    choice = random.Random(seed)
    async with Pool(housed, size=3) as pool:

        async def use() -> None:
            async with pool.connection() as conn:
                assert pool.open <= 3
                if choice.random() < 0.2:
                    await conn.execute("begin")
                await conn.fetchval("select count(*) from pg_class")

        tasks = [asyncio.create_task(use()) for _ in range(60)]
        for _ in range(40):
            for _ in range(choice.randrange(30)):
                await asyncio.sleep(0)
            choice.choice(tasks).cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(d) for d in done} <= {type(None), asyncio.CancelledError}
        assert None in done
        await until(lambda: pool.open == pool.idle)
        assert pool.waiting == 0
        held = [await pool.take() for _ in range(3)]
        assert [await conn.fetchval("select 1") for conn in held] == [1, 1, 1]
        for conn in held:
            pool.give(conn)
        ours = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        while await admin.fetchval(ours) > 3:
            await asyncio.sleep(0)
