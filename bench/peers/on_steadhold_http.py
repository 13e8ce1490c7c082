"""steadhold over HTTP: batches are posted to a server, a worker claims and settles through the same server."""

from __future__ import annotations

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from harness import CONCURRENCY, Tally, main

from steadhold import AsyncClient
from steadhold.kit import ids
from steadhold.worker import Worker

TYPE = "noop"
BATCH = 500
CONNECTIONS = 4
UNSETTLED = "select count(*) from steadhold.jobs where workspace = $1 and state < 3"
HEAD = (
    "POST /v1/jobs:batch HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    "Content-Type: application/json\r\nIdempotency-Key: {id}\r\nContent-Length: {length}\r\n\r\n"
)


class Line:
    """A connection of its own to the server: a client light enough to leave the cores to it."""

    def __init__(self, url: str, key: str) -> None:
        self.at, self.key = urlsplit(url), key
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, count: int) -> None:
        """Post a batch with an operation id."""
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.at.hostname, self.at.port)
        reader, writer = self.streams
        body = b'{"items":[' + b",".join([b'{"type":"noop","input":{"at":0}}'] * count) + b"]}"
        writer.write(HEAD.format(key=self.key, id=ids.new_id(), length=len(body)).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        answer = await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
        assert head.split()[1] == b"200", answer[:500]
        assert answer.count(b'"status":202') == count, answer[:500]


class Steadhold:
    route = f"POST /v1/jobs:batch of {BATCH} with an operation id, {CONNECTIONS} connections"
    worker = "Worker(url, key), one process, async handler"

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.url, self.key = os.environ["STEADHOLD_URL"], os.environ["STEADHOLD_API_KEY"]
        self.lines = [Line(self.url, self.key) for _ in range(CONNECTIONS)]

    async def open(self, dsn: str) -> None:
        self.looking = await asyncpg.connect(dsn)
        self.client = AsyncClient(self.url, self.key)

    async def enqueue(self, count: int) -> None:
        sizes = [min(BATCH, count - begun) for begun in range(0, count, BATCH)]

        async def some(n: int) -> None:
            for size in sizes[n::CONNECTIONS]:
                await self.lines[n].post(size)

        await asyncio.gather(*(some(n) for n in range(CONNECTIONS)))

    async def one(self, at: float) -> None:
        await self.client.jobs.submit(TYPE, {"at": at})

    async def start(self) -> None:
        worker = Worker(self.url, self.key, concurrency=CONCURRENCY)

        @worker.job(TYPE)
        async def noop(_ctx: Any, input: Any) -> None:
            self.tally.hit(float(input["at"]))

        self.running = asyncio.create_task(worker.serve())

    async def unsettled(self) -> int:
        return await self.looking.fetchval(UNSETTLED, "bench")


tally = Tally()
main(Steadhold(tally), tally)
