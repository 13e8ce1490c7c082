"""(c) State and jobs again while somebody holds a snapshot open: what nobody can clean away, everybody walks past.

The bare UPDATE of pgbench under the same snapshot shows what of it is PostgreSQL's own chain of a row's versions, and
many names instead of one a client what is left where no row is written thousands of times.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from bench import driver, load, stand, tools
from bench.driver import Broken
from bench.figures import cost, last_seconds
from bench.jobs import SYSTEMS, opened
from bench.run import Run
from bench.state import fresh
from steadhold.db import binaries
from steadhold.db.embedded import Embedded

WITHOUT_SECONDS = 8.0
HELD_SECONDS = 60.0
TAIL_SECONDS = 10
CLIENTS = 64
NAMES = 250
"""Of each client, where they are many."""

STATE = {"state": (1, False), "state_receipts": (1, True), "state_many": (NAMES, False)}
BARE = {"pgbench": 1, "pgbench_many": NAMES}
USUAL = ("state", "pgbench", "steadhold", "state_many", "pgbench_many", "state_receipts")
"""What is taken where nothing else is asked for, a minute each, what has a floor or explains one first."""


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """One round: every second of the minute is a figure."""
    others = [name for name in SYSTEMS if name in run.only]
    for name, round_ in run.wanted((*USUAL, *(name for name in others if name not in USUAL)), rounds=1):
        dsn = await driver.new_database(postgres.dsn, f"snapshot_{name}")
        try:
            with ExitStack() as stack:
                figures = await _compared(run, dsn, await _rates(name, dsn, at, stack))
        except (tools.Absent, Broken) as error:
            figures = {"absent": str(error)}
        run.keep(name, round_, figures)


async def _rates(name: str, dsn: str, at: Path, stack: ExitStack) -> Callable[[float], list[float]]:
    """What runs for some seconds at full speed and answers its rate of each."""
    if name in STATE:
        return _state(*STATE[name], dsn, at, stack)
    if name in BARE:
        return await _bare(BARE[name], dsn, at)
    process = stack.enter_context(opened(name, dsn, stack))
    process.ask("drain", jobs=0, seconds_max=30)
    return lambda seconds: process.ask("steady", seconds=seconds)["begun_each_second"]


def _state(slots: int, receipts: bool, dsn: str, at: Path, stack: ExitStack) -> Callable[[float], list[float]]:  # noqa: FBT001 - a row of STATE
    served = stack.enter_context(stand.server(dsn))
    keys = at / "keys-snapshot"
    keys.write_text(stand.workspace(served, f"snapshot-{uuid.uuid4().hex[:8]}") + "\n")
    return lambda seconds: load.over_http(
        served.port, CLIENTS, seconds, fresh(), keys, receipts=receipts, slots=slots
    )["wins_each_second"]  # fmt: skip


async def _bare(names: int, dsn: str, at: Path) -> Callable[[float], list[float]]:
    pgbench = binaries.find(None).folder / "pgbench"
    conn = await asyncpg.connect(dsn)
    try:
        await conn.execute(load.TABLE + (load.MORE_NAMES.format(names=names) if names > 1 else ""))
    finally:
        await conn.close()
    return lambda seconds: load.by_pgbench(pgbench, dsn, CLIENTS, seconds, at, names=names)["wins_each_second"]


async def _compared(run: Run, dsn: str, rates: Callable[[float], list[float]]) -> dict[str, Any]:
    without = rates(run.seconds(WITHOUT_SECONDS))
    async with held(dsn):
        under = rates(run.seconds(HELD_SECONDS))
    before, after = last_seconds(without, TAIL_SECONDS), last_seconds(under, TAIL_SECONDS)
    return {
        "before_per_second": before,
        "last_seconds_per_second": after,
        "cost": cost(before, after),
        "each_second_without": without,
        "each_second_held": under,
    }


@asynccontextmanager
async def held(dsn: str) -> AsyncIterator[None]:
    """A transaction that has looked once and then forgot to end."""
    conn = await asyncpg.connect(dsn)
    try:
        async with conn.transaction(isolation="repeatable_read", readonly=True):
            await conn.fetchval("select count(*) from pg_class")
            yield
    finally:
        await conn.close()
