"""(b) Jobs whose handler does nothing: enqueue, drain, and how soon an idle worker begins one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from bench import driver, stand, tools
from bench.driver import Broken
from bench.figures import percentile
from bench.run import Run
from steadhold.db.embedded import Embedded

SYSTEMS = ("steadhold", "steadhold_http", *(peer.name for peer in tools.PEERS), "pgqueuer_100")
JOBS = {"procrastinate": 3_000, "dbos": 1_500, "absurd": 3_000, "oban": 10_000}
"""Slow systems get fewer jobs, so that each drains for seconds; the others get 20,000."""

JOBS_DEFAULT = 20_000
DRAIN_SECONDS_MAX = 120.0
DELAYS = 200


async def take(run: Run, postgres: Embedded) -> None:
    """All systems, one after another, as often as the run has rounds."""
    for name, round_ in run.wanted(SYSTEMS):
        run.keep(name, round_, await tried(name, run, postgres))


async def tried(name: str, run: Run, postgres: Embedded) -> dict[str, Any]:
    """The figures of one system, or why there are none."""
    try:
        return await _measured(name, run.scaled(JOBS.get(name, JOBS_DEFAULT), least=200), run, postgres)
    except (tools.Absent, Broken) as error:
        return {"absent": str(error)}


async def _measured(name: str, jobs: int, run: Run, postgres: Embedded) -> dict[str, Any]:
    dsn = await driver.new_database(postgres.dsn, f"jobs_{name}")
    with ExitStack() as stack:
        process = stack.enter_context(opened(name, dsn, stack))
        before = await driver.marks(dsn)
        enqueued = process.ask("enqueue", jobs=jobs)
        between = await driver.marks(dsn)
        drained = process.ask("drain", jobs=jobs, seconds_max=DRAIN_SECONDS_MAX)
        after = await driver.marks(dsn)
        delays = process.ask("latency", jobs=run.scaled(DELAYS, least=20))["delays_ms"]
        about = process.about
    left = await driver.left_behind(dsn)
    return {
        **about,
        "jobs": jobs,
        "enqueued_per_second": jobs / enqueued["seconds"],
        "drained": drained["jobs"],
        "drained_per_second": drained["jobs"] / drained["seconds"],
        "start_p50_ms": percentile(delays, 0.5),
        "start_p99_ms": percentile(delays, 0.99),
        "wal_bytes_per_job_enqueue": (between["wal_bytes"] - before["wal_bytes"]) / jobs,
        "wal_bytes_per_job_drain": (after["wal_bytes"] - between["wal_bytes"]) / jobs,
        "writing_transactions_per_job": (after["writes"] - before["writes"]) / jobs,
        "left_behind": left,
        "dead_tuples_per_job": left["updates_and_deletes"] / (jobs + len(delays) + 10),
        "start_delays_ms": delays,
    }


def opened(name: str, dsn: str, stack: ExitStack) -> Any:
    """A system's process, with a server before it where it talks to one."""
    environment: dict[str, str] = {}
    if name == "steadhold_http":
        served = stack.enter_context(stand.server(dsn))
        environment = {"STEADHOLD_URL": served.url, "STEADHOLD_API_KEY": stand.workspace(served, "bench")}
    return driver.system(name, dsn, environment)
