"""What a page of metrics costs beside 100,000 jobs, read from the database anew each time."""

from __future__ import annotations

import asyncio
import time
import urllib.request
import uuid
from typing import Any

import asyncpg

from bench import driver, stand
from bench.figures import percentile
from bench.run import Run
from steadhold.db.embedded import Embedded
from steadhold.telemetry.gauges import FRESH_SECONDS

JOBS = 100_000
PAGES = 20
SHARES: dict[str, dict[int, float]] = {
    "metrics": {0: 0.2, 1: 0.01, 2: 0.09, 3: 0.65, 4: 0.05},
    "metrics_ready": {0: 1.0},
}
"""How many of the jobs are in each state: a usual house, and one in which all of them wait for a worker."""

FILL = """
insert into steadhold.jobs (workspace, id, root, type, configuration_revision, state, priority, revision, attempts_max,
  lease_seconds, run_at, created_at, claimed_at, ended_at, awaits, input_digest, input, result, settled_digest,
  error_code, error_class)
select $1, id, id, 'type-' || n % 10, 0, $2, 5, 1, 5, 30, now() - n * interval '1 millisecond', now(),
  case when $2 > 0 then now() end, case when $2 > 2 then now() end, case when $2 = 2 then '{}'::bytea end, '\\x00',
  '{}', case when $2 = 3 then '{}'::bytea end, '\\x00', case when $2 = 4 then 'failed' end,
  case when $2 = 4 then 'bug' end
from (select n, (lpad(to_hex($2 * 16777216 + n), 12, '0') || '70008000000000000000')::uuid as id
  from generate_series(1, $3::int) n) made
"""


async def take(run: Run, postgres: Embedded) -> None:
    """As often as the run has rounds, for each mix of jobs."""
    for name, round_ in run.wanted(tuple(SHARES)):
        dsn = await driver.new_database(postgres.dsn, name)
        with stand.server(dsn) as served:
            workspace = f"metrics-{uuid.uuid4().hex[:8]}"
            stand.workspace(served, workspace)
            await _filled(dsn, workspace, SHARES[name], run.scaled(JOBS, least=1_000))
            run.keep(name, round_, await asyncio.to_thread(_pages, f"{served.url}/metrics", run.scaled(PAGES, least=3)))


async def _filled(dsn: str, workspace: str, shares: dict[int, float], count: int) -> None:
    conn = await asyncpg.connect(dsn)
    try:
        for state, share in shares.items():
            await conn.execute(FILL, workspace, state, int(count * share))
        await conn.execute("vacuum analyze steadhold.jobs")
    finally:
        await conn.close()


def _pages(url: str, times: int) -> dict[str, Any]:
    took: list[float] = []
    for n in range(times + 3):
        time.sleep(FRESH_SECONDS * 1.05)
        began = time.perf_counter()
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - loopback
            size = len(answer.read())
        if n >= 3:  # the first ones plan, and fill caches
            took.append((time.perf_counter() - began) * 1e3)
    return {"p50_ms": percentile(took, 0.5), "max_ms": max(took), "bytes": size}
