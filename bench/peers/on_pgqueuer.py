"""pgqueuer as it comes: nothing bounds how many jobs it runs at once. `PGQUEUER_AT_ONCE` does."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import Any

import asyncpg
from harness import CONCURRENCY, Tally, chunked, main
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.queries import Queries

AT_ONCE = int(os.environ.get("PGQUEUER_AT_ONCE", "0"))


class System:
    route = "Queries.enqueue of 1,000 (asyncpg)"
    worker = "PgQueuer.run(batch_size=100), asyncpg pool of 20; without a bound of jobs at once"

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        if AT_ONCE:
            self.worker = f"PgQueuer.run(batch_size={AT_ONCE // 2}, max_concurrent_tasks={AT_ONCE}), asyncpg pool of 20"

    async def open(self, dsn: str) -> None:
        self.queries = Queries(AsyncpgDriver(await asyncpg.connect(dsn)))
        await self.queries.install()
        self.looking = await asyncpg.connect(dsn)
        self.queue = PgQueuer(AsyncpgPoolDriver(await asyncpg.create_pool(dsn, min_size=8, max_size=20)))

        @self.queue.entrypoint("noop")
        async def noop(job: Any) -> None:
            self.tally.hit(float(job.payload or b"0"))

    async def enqueue(self, count: int) -> None:
        await chunked(count, lambda n: self.queries.enqueue(["noop"] * n, [b"0"] * n, [0] * n))

    async def one(self, at: float) -> None:
        await self.queries.enqueue("noop", str(at).encode())

    async def start(self) -> None:
        bounds = {"batch_size": CONCURRENCY}
        if AT_ONCE:
            bounds = {"batch_size": AT_ONCE // 2, "max_concurrent_tasks": AT_ONCE}
        work = self.queue.run(dequeue_timeout=timedelta(seconds=30), **bounds)
        self.running = asyncio.create_task(work)

    async def unsettled(self) -> int:
        return await self.looking.fetchval("select count(*) from pgqueuer")


tally = Tally()
main(System(tally), tally)
