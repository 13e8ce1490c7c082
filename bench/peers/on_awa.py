"""awa: a Rust core with Python handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import asyncpg
import awa
from harness import CONCURRENCY, Tally, chunked, main

OPEN = """
select (select count(*) from awa.lease_claims)
  - (select coalesce(sum(closed_count), 0) from awa.lease_claim_closure_batches)::bigint
"""
"""Claimed and not yet closed, asked once all were begun. Its own queue_stats() takes seconds."""


@dataclass
class Noop:
    at: float


class System:
    route = "enqueue_many_copy of 1,000 (COPY)"
    worker = 'AsyncClient.start([("bench", 100)]), pool of 20'

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    async def open(self, dsn: str) -> None:
        by_socket = dsn.replace(
            "@/", "@localhost/"
        )  # its driver wants a host, and takes the socket's folder all the same
        await awa.migrate(by_socket)
        self.client = awa.AsyncClient(by_socket, max_connections=20)
        await self.client.install_queue_storage()
        self.looking = await asyncpg.connect(dsn)

        @self.client.task(Noop, queue="bench")
        async def noop(job: Any) -> None:
            self.tally.hit(job.args.at)

    async def enqueue(self, count: int) -> None:
        await chunked(count, lambda n: self.client.enqueue_many_copy([Noop(0)] * n, queue="bench"))

    async def one(self, at: float) -> None:
        await self.client.insert(Noop(at), queue="bench")

    async def start(self) -> None:
        await self.client.start([("bench", CONCURRENCY)])

    async def unsettled(self) -> int:
        return max(0, await self.looking.fetchval(OPEN))


tally = Tally()
main(System(tally), tally, uv=False)
