"""(f) Inboxes: events appended over HTTP one by one and in batches, pages read, and how soon an event reaches an inbox.

NATS JetStream and Redis Streams take the same events: as they come, and keeping each before it is answered.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from bench import driver, load, stand
from bench.figures import percentile
from bench.run import Run
from bench.state import with_commits
from bench.tools import Absent
from bench.wakes import Wire
from steadhold import AsyncClient, events
from steadhold.db.embedded import Embedded

CLIENTS = 64
SLOTS = 16
"""Inboxes of each client, where they are many."""

SECONDS = 3.0
BATCH, SENDERS = 500, 4
PAGE = 500
PAGES = 200
LAGS = 200

Taker = Callable[[], dict[str, Any]]


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """One by one in turn with the peers', then batches, pages and lags, which share the server and nothing else."""
    dsn = await driver.new_database(postgres.dsn, "inboxes")
    name = f"inboxes-{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        served = stack.enter_context(stand.server(dsn, processes=str(stand.CORES)))
        single = stack.enter_context(stand.server(dsn))
        key = stand.workspace(served, name)
        keys = at / "keys-inboxes"
        keys.write_text(key + "\n")
        one = _ours(run, served, single, keys)
        peers = {**_nats(run, at, stack), **_redis(run, at, stack)}
        others = ("batch", "page", "lag")
        async with AsyncClient(served.url, key) as client:
            for system, round_ in run.wanted((*one, *peers, *others)):
                if system in one:
                    figures = await one[system](client)
                elif system in peers:
                    figures = peers[system]()
                else:
                    figures = await _other(system, run, served, client, key, dsn, name)
                run.keep(system, round_, figures)


def _ours(run: Run, many: stand.Served, single: stand.Served, keys: Path) -> dict[str, Callable[[AsyncClient], Any]]:
    async def into(client: AsyncClient, slots: int, served: stand.Served) -> dict[str, Any]:
        prefix = uuid.uuid4().hex
        names = [prefix] if slots == 1 else [f"{prefix}-{n}-{m}" for n in range(CLIENTS) for m in range(slots)]
        for first in range(0, len(names), CLIENTS):
            await asyncio.gather(*(client.inboxes[name].create() for name in names[first : first + CLIENTS]))
        sent = with_commits(
            served,
            lambda: load.over_http(
                served.port, CLIENTS, run.seconds(SECONDS), prefix, keys, work="events", receipts=True, slots=slots
            ),
        )
        return {**sent, "inboxes": len(names)}

    slots = 1 if run.scale < 0.02 else SLOTS
    return {
        "steadhold": lambda client: into(client, 1, many),
        "steadhold_many": lambda client: into(client, slots, many),
        "steadhold_1p": lambda client: into(client, 1, single),
        "steadhold_1p_many": lambda client: into(client, slots, single),
    }


def _nats(run: Run, at: Path, stack: ExitStack) -> dict[str, Taker]:
    found: dict[str, Taker] = {}
    for system, always in (("nats", False), ("nats_always", True)):
        try:
            port = stack.enter_context(stand.nats(at, always=always))
            run.about["versions"]["nats"] = stand.nats_version()
        except Absent as error:
            found[system] = _absent(error)
        else:
            found[system] = _published(run, port)
    return found


def _published(run: Run, port: int) -> Taker:
    def taken() -> dict[str, Any]:
        name = uuid.uuid4().hex
        stand.stream(port, name)
        return load.on_nats(port, CLIENTS, run.seconds(SECONDS), name)

    return taken


def _redis(run: Run, at: Path, stack: ExitStack) -> dict[str, Taker]:
    try:
        port = stack.enter_context(stand.redis(at, always=True))
    except Absent as error:
        return {"redis_always": _absent(error)}
    run.about["versions"]["redis"] = stand.redis_version()
    return {
        "redis_always": lambda: load.on_redis(
            port, CLIENTS, run.seconds(SECONDS), uuid.uuid4().hex, work="events"
        )
    }  # fmt: skip


def _absent(why: Absent) -> Taker:
    told = {"absent": str(why)}
    return lambda: told


async def _other(
    system: str, run: Run, served: stand.Served, client: AsyncClient, key: str, dsn: str, workspace: str
) -> dict[str, Any]:
    inbox = uuid.uuid4().hex
    await client.inboxes[inbox].create()
    if system == "batch":
        return await batches(served.port, key, inbox, run.seconds(SECONDS))
    if system == "page":
        return await pages(served.port, key, inbox, run.scaled(PAGES, least=5))
    return await lags(client, dsn, workspace, inbox, run.scaled(LAGS, least=5))


async def batches(port: int, key: str, inbox: str, seconds: float) -> dict[str, Any]:
    """So many senders, each a batch of lines after another."""
    took: list[float] = []
    until = time.perf_counter() + seconds

    async def send() -> None:
        async with connected(port, key) as wire:
            while time.perf_counter() < until:
                body = lines()
                began = time.perf_counter()
                await wire.ask("POST", f"/v1/inboxes/{inbox}/events", body, kind="application/x-ndjson")
                took.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(SENDERS)))
    whole = time.perf_counter() - began
    return {
        "events_per_second": len(took) * BATCH / whole,
        "events": len(took) * BATCH,
        "p50_ms": (percentile(took, 0.5) or 0) * 1e3,
        "p99_ms": (percentile(took, 0.99) or 0) * 1e3,
    }


def lines() -> bytes:
    """A batch of events whose keys nobody has used."""
    batch = uuid.uuid4().hex
    return b"".join(
        b'{"key":"%b-%d","type":"bench","data":{"a":1,"b":"hello world"}}\n' % (batch.encode(), n) for n in range(BATCH)
    )


async def pages(port: int, key: str, inbox: str, times: int) -> dict[str, Any]:
    """A full page, read one time after another over one connection."""
    async with connected(port, key) as wire:
        await wire.ask("POST", f"/v1/inboxes/{inbox}/events", lines(), kind="application/x-ndjson")
        took: list[float] = []
        for _ in range(times):
            began = time.perf_counter()
            got = await wire.ask("GET", f"/v1/inboxes/{inbox}/events?limit={PAGE}")
            took.append((got.at - began) * 1e3)
            assert got.status == 200, got
    return {"pages": times, "p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99)}


async def lags(client: AsyncClient, dsn: str, workspace: str, inbox: str, times: int) -> dict[str, Any]:
    """From the commit of a transaction of one's own that appended an event, to a reader who waits at the inbox."""
    box, took = client.inboxes[inbox], list[float]()
    await client.subscriptions.put(inbox, ["bench.*"], {"inbox": inbox})
    conn = await asyncpg.connect(dsn)
    try:
        found = await box.read()
        for n in range(times):
            waits = asyncio.create_task(box.read(epoch=found.epoch, after=found.next_after, wait_seconds=30))
            async with conn.transaction():
                told = [events.Happened("bench.done", b"1")]
                await events.append(conn, workspace, f"{inbox}-{n}", None, told, state="new", aggregate_type="bench")
            began = time.perf_counter()
            found = await waits
            took.append((time.perf_counter() - began) * 1e3)
            assert len(found.events) == 1, found
    finally:
        await conn.close()
    return {"lags": times, "p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99), "max_ms": max(took)}


@asynccontextmanager
async def connected(port: int, key: str) -> AsyncIterator[Wire]:
    """A connection for one request after another."""
    wire = await Wire.open(port, key)
    try:
        yield wire
    finally:
        wire.close()
