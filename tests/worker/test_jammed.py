"""Somebody's transaction holds the row of a job that a worker settles."""

from __future__ import annotations

import asyncio

import asyncpg

CLAIMED = "select id from steadhold.jobs where id = $1 for update"


async def test_others_are_settled_while_a_stranger_holds_a_job(on_postgres, dsn):
    worker = on_postgres.worker(concurrency=2)
    begun, go = asyncio.Event(), asyncio.Event()

    @worker.job("t")
    async def handler(ctx, input):
        if input == "held":
            begun.set()
            await go.wait()
        return input

    held = await on_postgres.submit(input=b'"held"')
    stranger = await asyncpg.connect(dsn)
    try:
        async with on_postgres.working(worker) as probe:
            await begun.wait()
            async with stranger.transaction():
                await stranger.execute(CLAIMED, held)
                go.set()
                others = [await on_postgres.submit(input=b"1") for _ in range(5)]
                for each in others:
                    await probe.seen("job.settled", job_id=each)
                assert (await on_postgres.look(held)).state == "running"
            await probe.seen("job.settled", job_id=held)
    finally:
        await stranger.close()
