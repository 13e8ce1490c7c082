"""What it costs at rest: the server's memory, its questions to PostgreSQL, its metrics, the command line's start."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import asyncpg

from bench import driver, metrics, stand
from bench.run import Run
from steadhold.db.embedded import Embedded

SETTLE_SECONDS = 5.0
IDLE_SECONDS = 20.0
HELPS = 9
ASKED = re.compile(r"LOG: +(?:statement|execute [^:]*): (.*)")
FRAME = re.compile(r"(?i)\s*(begin|commit|rollback|set|select set_config)\b")


async def take(run: Run, postgres: Embedded) -> None:
    """As often as the run has rounds."""
    for name, round_ in run.wanted(("rest",)):
        dsn = await driver.new_database(postgres.dsn, "rest")
        with stand.server(dsn) as served:
            found = await _idle(run, served, postgres, dsn)
        run.keep(name, round_, {**found, "help_seconds": help_seconds()})
    await metrics.take(run, postgres)


async def _idle(run: Run, served: stand.Served, postgres: Embedded, dsn: str) -> dict[str, Any]:
    stand.workspace(served, "rest")
    log = Path(postgres.data_dir) / "postgres.log"
    conn = await asyncpg.connect(dsn)
    try:
        await conn.execute("alter system set log_statement = 'all'")
        await conn.execute("select pg_reload_conf()")
        await asyncio.sleep(SETTLE_SECONDS)
        begun, seconds = log.stat().st_size, run.seconds(IDLE_SECONDS)
        await asyncio.sleep(seconds)
        asked = ASKED.findall(log.read_bytes()[begun:].decode(errors="replace"))
    finally:
        await conn.execute("alter system reset log_statement")
        await conn.execute("select pg_reload_conf()")
        await conn.close()
    queries = [statement for statement in asked if not FRAME.match(statement)]
    return {
        "rss_mb": rss_mb(served.pid),
        "queries_per_second": len(queries) / seconds,
        "statements_per_second": len(asked) / seconds,
        "asked": sorted(set(queries))[:20],
    }


def rss_mb(pid: int) -> float:
    """Resident memory of a process, in MB (a million bytes)."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / 1e6


def help_seconds() -> float:
    """The median time of `steadhold --help`, from its start to its end."""
    took: list[float] = []
    for _ in range(HELPS):
        began = time.perf_counter()
        program = str(Path(sys.executable).parent / "steadhold")
        subprocess.run([program, "--help"], check=True, capture_output=True)
        took.append(time.perf_counter() - began)
    return sorted(took)[HELPS // 2]
