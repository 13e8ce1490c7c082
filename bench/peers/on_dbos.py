"""DBOS: a durable workflow per job, which records more than a job's outcome."""

from __future__ import annotations

import sys

import psycopg
from dbos import DBOS
from harness import CONCURRENCY, Tally, main, parallel

LEFT = "select count(*) from dbos.workflow_status where status not in ('SUCCESS', 'ERROR', 'CANCELLED')"
tally = Tally()
DBOS(
    config={
        "name": "bench", "system_database_url": sys.argv[1], "log_level": "ERROR", "run_admin_server": False,
        "sys_db_pool_size": 20,
    }
)  # fmt: skip


@DBOS.workflow()
async def noop(at: float) -> None:
    """Do nothing."""
    tally.hit(at)


class System:
    route = "enqueue_workflow_async, 16 at once (there is no call for many)"
    worker = "one queue, worker_concurrency=100, polling_interval_sec=0.05 (1.0 as it comes)"

    async def open(self, dsn: str) -> None:
        DBOS.launch()
        self.looking = await psycopg.AsyncConnection.connect(dsn, autocommit=True)

    async def enqueue(self, count: int) -> None:
        await parallel(count, lambda _: DBOS.enqueue_workflow_async("bench", noop, 0.0))

    async def one(self, at: float) -> None:
        await DBOS.enqueue_workflow_async("bench", noop, at)

    async def start(self) -> None:
        await DBOS.register_queue_async("bench", worker_concurrency=CONCURRENCY, polling_interval_sec=0.05)

    async def unsettled(self) -> int:
        found = await (await self.looking.execute(LEFT)).fetchone()
        return found[0] if found else 0


main(System(), tally, uv=False)
