"""(c) State and jobs again while somebody holds a snapshot open: what nobody can clean away, everybody walks past."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
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
from steadhold.db.embedded import Embedded

WITHOUT_SECONDS = 20.0
HELD_SECONDS = 60.0
TAIL_SECONDS = 10
CLIENTS = 64
OURS = ("state", "state_receipts", "steadhold", "steadhold_http")


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Ours in each round, peers in the first."""
    names = (*OURS, *(name for name in SYSTEMS if name not in OURS))
    for round_ in run.rounds():
        for name in run.systems(names):
            if run.has(name, round_) or (round_ and name not in OURS):
                continue
            try:
                taken = await (_state if name.startswith("state") and name in OURS[:2] else _jobs)(
                    name, run, postgres, at
                )
            except (tools.Absent, Broken) as error:
                taken = {"absent": str(error)}
            run.keep(name, round_, taken)


async def _state(name: str, run: Run, postgres: Embedded, at: Path) -> dict[str, Any]:
    dsn = await driver.new_database(postgres.dsn, f"snapshot_{name}")
    with stand.server(dsn) as served:
        keys = at / "keys-snapshot"
        keys.write_text(stand.workspace(served, f"snapshot-{uuid.uuid4().hex[:8]}") + "\n")

        def rates(seconds: float) -> list[float]:
            receipts = name == "state_receipts"
            found = load.over_http(served.port, CLIENTS, seconds, fresh(), keys, receipts=receipts, hot=False)
            return found["wins_each_second"]

        without = rates(run.seconds(WITHOUT_SECONDS))
        async with held(dsn):
            under = rates(run.seconds(HELD_SECONDS))
    return _compared(without, under)


async def _jobs(name: str, run: Run, postgres: Embedded, _at: Path) -> dict[str, Any]:
    dsn = await driver.new_database(postgres.dsn, f"snapshot_{name}")
    with ExitStack() as stack:
        process = stack.enter_context(opened(name, dsn, stack))
        process.ask("drain", jobs=0, seconds_max=30)
        without = process.ask("steady", seconds=run.seconds(WITHOUT_SECONDS))["begun_each_second"]
        async with held(dsn):
            under = process.ask("steady", seconds=run.seconds(HELD_SECONDS))["begun_each_second"]
    return _compared(without, under)


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


def _compared(without: list[float], under: list[float]) -> dict[str, Any]:
    before, after = last_seconds(without, TAIL_SECONDS), last_seconds(under, TAIL_SECONDS)
    return {
        "before_per_second": before,
        "last_seconds_per_second": after,
        "cost": cost(before, after),
        "each_second_without": without,
        "each_second_held": under,
    }
