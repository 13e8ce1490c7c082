"""(f) Schedules: what it costs to ask when nothing is due among 100,000, and how late 1,000 of one instant are."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench import driver, stand
from bench.figures import percentile
from bench.run import Run
from steadhold import Client
from steadhold.db.embedded import Embedded
from steadhold.db.pool import Pool
from steadhold.server.loops import Announcements
from steadhold.server.settings import Retention

STANDING = 100_000
DUE = 1_000
TICKS = 300
AHEAD_SECONDS = 4
LATE_SECONDS_MAX = 30.0

COPY = """
insert into steadhold.schedules (workspace, id, revision, spec, since, cursor, next_at, tables, made_at, changed_at)
select workspace, id || '-' || n, revision, spec, since, cursor, next_at, tables, made_at, changed_at
from steadhold.schedules, generate_series(2, $3::int) n where workspace = $1 and id = $2
"""
RECORDED = """
select extract(epoch from r.recorded_at - r.scheduled_at)::float8 as late, j.id is not null as has_job
from steadhold.schedule_runs r left join steadhold.jobs j on j.workspace = r.workspace and j.id = r.job
where r.workspace = $1 and r.scheduled_at = $2
"""


async def take(run: Run, postgres: Embedded, _at: Path) -> None:
    """A tick of an empty house, one beside 100,000 schedules, and 1,000 due at once among them."""
    empty, full = [await driver.new_database(postgres.dsn, f"schedules_{name}") for name in ("none", "many")]
    with ExitStack() as stack:
        for dsn in (empty, full):
            served = stack.enter_context(stand.server(dsn))
            workspace = f"schedules-{uuid.uuid4().hex[:8]}"
            client = stack.enter_context(Client(served.url, stand.workspace(served, workspace)))
        standing = run.scaled(STANDING, least=1_000)
        far = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
        await _made(full, workspace, client, "standing", far, standing)
        for name, round_ in run.wanted(("tick_none", "tick", "due")):
            if name == "due":
                figures = await _due(full, workspace, client, run.scaled(DUE, least=50))
            else:
                figures = await _ticks(empty if name == "tick_none" else full, run.scaled(TICKS, least=20))
            run.keep(name, round_, figures)


async def _made(dsn: str, workspace: str, client: Client, id: str, at: datetime, count: int) -> None:
    """Make a schedule through the door, and its copies in the table: they are what as many PUTs leave."""
    client.schedules.put(id, "bench", at=at)
    conn = await asyncpg.connect(dsn)
    try:
        await conn.execute(COPY, workspace, id, count)
        await conn.execute("vacuum analyze steadhold.schedules")
    finally:
        await conn.close()


async def _ticks(dsn: str, times: int) -> dict[str, Any]:
    """Ask what is due as each server does at each tick."""
    took: list[float] = []
    async with Pool(dsn, size=1) as pool:
        announcements = Announcements(pool, Retention())
        for n in range(times + 10):
            began = time.perf_counter()
            due = await announcements.read()
            if n >= 10:  # the first ones plan, and fill caches
                took.append((time.perf_counter() - began) * 1e3)
    return {
        "p50_ms": percentile(took, 0.5),
        "p99_ms": percentile(took, 0.99),
        "max_ms": max(took),
        "due": len(due),
    }


async def _due(dsn: str, workspace: str, client: Client, count: int) -> dict[str, Any]:
    instant = datetime.fromtimestamp(math.ceil(time.time()) + AHEAD_SECONDS, UTC)
    await _made(dsn, workspace, client, f"due-{uuid.uuid4().hex[:8]}", instant, count)
    conn = await asyncpg.connect(dsn)
    try:
        await asyncio.sleep(max(0.0, instant.timestamp() - time.time()))
        while True:
            rows = await conn.fetch(RECORDED, workspace, instant)
            seen = time.time() - instant.timestamp()
            if len(rows) >= count or seen > LATE_SECONDS_MAX:  # then that is what it took at least
                break
            await asyncio.sleep(0.02)
    finally:
        await conn.close()
    late = [row["late"] for row in rows]
    return {
        "due": count,
        "recorded": len(rows),
        "jobs": sum(row["has_job"] for row in rows),
        "all_seen_seconds": seen,
        "late_p50_seconds": percentile(late, 0.5),
        "late_p99_seconds": percentile(late, 0.99),
        "late_max_seconds": max(late, default=None),
    }
