"""procrastinate."""

from __future__ import annotations

import asyncio

import procrastinate
import psycopg
from harness import CONCURRENCY, Tally, chunked, main

LEFT = "select count(*) from procrastinate_jobs where status in ('todo', 'doing')"


class System:
    route = "task.batch_defer_async of 1,000"
    worker = "run_worker_async(concurrency=100), pool of 20"

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    async def open(self, dsn: str) -> None:
        connector = procrastinate.PsycopgConnector(conninfo=dsn, min_size=4, max_size=20)
        self.app = procrastinate.App(connector=connector)

        @self.app.task(name="noop", queue="bench")
        async def noop(at: float) -> None:
            self.tally.hit(at)

        self.noop = noop
        await self.app.open_async()
        await self.app.schema_manager.apply_schema_async()
        self.looking = await psycopg.AsyncConnection.connect(dsn, autocommit=True)

    async def enqueue(self, count: int) -> None:
        await chunked(count, lambda n: self.noop.batch_defer_async(*([{"at": 0}] * n)))

    async def one(self, at: float) -> None:
        await self.noop.defer_async(at=at)

    async def start(self) -> None:
        work = self.app.run_worker_async(queues=["bench"], concurrency=CONCURRENCY, install_signal_handlers=False)
        self.running = asyncio.create_task(work)

    async def unsettled(self) -> int:
        found = await (await self.looking.execute(LEFT)).fetchone()
        return found[0] if found else 0


tally = Tally()
main(System(tally), tally)
