"""oban."""

from __future__ import annotations

from typing import Any

import psycopg
from harness import CONCURRENCY, Tally, chunked, main
from oban import Oban, schema, worker

LEFT = "select count(*) from oban_jobs where state in ('available', 'scheduled', 'executing', 'retryable')"
tally = Tally()


@worker(queue="bench")
class Noop:
    async def process(self, job: Any) -> None:
        tally.hit(job.args["at"])


class System:
    route = "Oban.enqueue_many of 1,000"
    worker = 'Oban(queues={"bench": 100}), pool of 20'

    async def open(self, dsn: str) -> None:
        self.pool = await Oban.create_pool(dsn, min_size=4, max_size=20)
        await schema.install(self.pool)
        self.looking = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
        self.oban = Oban(pool=self.pool, queues={"bench": CONCURRENCY})
        self.sends = Oban(pool=self.pool, name="sends")

    async def enqueue(self, count: int) -> None:
        await chunked(count, lambda n: self.sends.enqueue_many(Noop.new({"at": 0}) for _ in range(n)))

    async def one(self, at: float) -> None:
        await self.oban.enqueue(Noop.new({"at": at}))

    async def start(self) -> None:
        await self.oban.start()

    async def unsettled(self) -> int:
        found = await (await self.looking.execute(LEFT)).fetchone()
        return found[0] if found else 0


main(System(), tally)
