"""steadhold: the library enqueues, a worker directly on PostgreSQL drains."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import asyncpg
from harness import CONCURRENCY, Tally, chunked, main

from steadhold import access, jobs
from steadhold.db.pool import Pool
from steadhold.jobs.model import Submission
from steadhold.kit import ids
from steadhold.play.single import Single
from steadhold.worker import Worker
from steadhold.worker.on_postgres import wake

WORKSPACE = "bench"
TYPE = "noop"
UNSETTLED = "select count(*) from steadhold.jobs where workspace = $1 and state < 3"


class Steadhold:
    route = "jobs.submit_all of 1,000 in the caller's transaction (asyncpg)"
    worker = "Worker(dsn=…), one process, async handler; the collector as Worker.run sets it"

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    async def open(self, dsn: str) -> None:
        from steadhold.db.migrate import migrate

        await migrate(dsn, on=lambda _: None)
        token = access.Token("live", access.key_id_of(ids.new_id()), access.secret_of(ids.new_secret()))
        async with Pool(dsn, size=1) as pool:
            made = access.create_workspace.call(
                WORKSPACE, token.key_id, token.hash, subject="bench", by=access.Actor("operator", None)
            )
            await Single(pool).play(made)
        self.dsn = dsn
        self.conn = await asyncpg.connect(dsn)
        self.looking = await asyncpg.connect(dsn)

    async def enqueue(self, count: int) -> None:
        await chunked(count, self._some)
        await wake(self.conn, WORKSPACE, [TYPE])

    async def _some(self, count: int) -> None:
        submissions = [Submission(type=TYPE, input=b'{"at":0}', id=ids.new_id()) for _ in range(count)]
        async with self.conn.transaction():
            made = await jobs.submit_all(self.conn, WORKSPACE, submissions)
        assert all(isinstance(each, jobs.Submitted) for each in made), made[0]

    async def one(self, at: float) -> None:
        async with self.conn.transaction():
            await jobs.submit(self.conn, WORKSPACE, Submission(type=TYPE, input=b'{"at":%f}' % at, id=ids.new_id()))
        await wake(self.conn, WORKSPACE, [TYPE])

    async def start(self) -> None:
        worker = Worker(dsn=self.dsn, workspace=WORKSPACE, concurrency=CONCURRENCY)

        @worker.job(TYPE)
        async def noop(_ctx: Any, input: Any) -> None:
            self.tally.hit(float(input["at"]))

        gc.set_threshold(20_000, 20, 50)  # as `Worker.run` does, which has a process of its own
        self.running = asyncio.create_task(worker.serve())

    async def unsettled(self) -> int:
        return await self.looking.fetchval(UNSETTLED, WORKSPACE)


tally = Tally()
main(Steadhold(tally), tally)
