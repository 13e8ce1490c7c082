"""absurd: no call for many, so many calls go in parallel."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from absurd_sdk import AsyncAbsurd
from harness import CONCURRENCY, Tally, main, parallel

WORKERS = 4
LEFT = "select count(*) from absurd.t_default where state not in ('completed', 'failed', 'cancelled')"


class System:
    route = "spawn, one by one over 16 connections (there is no call for many)"
    worker = "4 AsyncAbsurd workers of 25 in one process, poll_interval 0.05 s (0.25 as it comes)"

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def client(self, dsn: str) -> AsyncAbsurd:
        made = AsyncAbsurd(dsn)

        async def noop(params: Any, _ctx: Any) -> None:
            self.tally.hit(params["at"])

        made.register_task(name="noop")(noop)
        return made

    async def open(self, dsn: str) -> None:
        environment = {**os.environ, "ABSURD_DATABASE_URL": dsn}
        program = str(Path(sys.executable).parent / "absurdctl")
        for words in (("init",), ("create-queue", "default")):
            await asyncio.to_thread(subprocess.run, [program, *words], env=environment, check=True, capture_output=True)
        self.senders = [self.client(dsn) for _ in range(16)]
        self.workers = [self.client(dsn) for _ in range(WORKERS)]
        self.looking = await psycopg.AsyncConnection.connect(dsn, autocommit=True)

    async def enqueue(self, count: int) -> None:
        await parallel(count, lambda lane: self.senders[lane].spawn("noop", {"at": 0}), len(self.senders))

    async def one(self, at: float) -> None:
        await self.senders[0].spawn("noop", {"at": at})

    async def start(self) -> None:
        each = CONCURRENCY // WORKERS
        work = [
            each_one.start_worker(concurrency=each, batch_size=each, poll_interval=0.05) for each_one in self.workers
        ]
        self.running = [asyncio.create_task(one) for one in work]

    async def unsettled(self) -> int:
        found = await (await self.looking.execute(LEFT)).fetchone()
        return found[0] if found else 0


tally = Tally()
main(System(tally), tally, uv=False)
