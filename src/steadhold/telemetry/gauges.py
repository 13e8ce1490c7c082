"""How things stand in the whole house, as the database says it: every server and every process tells the same."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from steadhold.db.pool import Pool
from steadhold.jobs.model import Class
from steadhold.play.transaction import roll_back

FRESH_SECONDS: Final = 1.0
"""What was read is told again for this long, so that whoever asks often asks the database seldom."""

ANSWER_SECONDS: Final = 3.0
COUNTED_MAX: Final = 50_000
"""Rows of one workspace that are counted of each thing."""

TYPES_MAX: Final = 50
"""Types of jobs that are told by name: each is a series of its own for whoever keeps them."""

QUERY: Final = "select * from steadhold.job_gauges($1, $2) union all select * from steadhold.house_gauges($1)"


@dataclass(frozen=True, slots=True)
class Family:
    """A gauge: what it says, and the label by which it has several values ("": it has one)."""

    says: str
    label: str = ""


CLASSES: Final = get_args(Class)
FAMILIES: Final[Mapping[str, Family]] = {
    "jobs_ready": Family("Jobs that can be claimed now.", "type"),
    "jobs_scheduled": Family("Jobs that are accepted, and not to run yet.", "type"),
    "jobs_running": Family("Jobs that a worker holds.", "type"),
    "jobs_waiting": Family("Jobs that wait for a fact or a time.", "type"),
    "queue_age_seconds": Family("How long the oldest job that can be claimed has been so.", "type"),
    "running_age_seconds": Family("How long the oldest attempt that runs has been running.", "type"),
    "jobs_failed_lately": Family("Jobs that failed for good in the last 15 minutes.", "class"),
    "jobs_to_retry": Family("Jobs that failed and are to be tried again.", "class"),
    "schedules_late": Family("Schedules with an instant that should have been recorded 5 seconds ago."),
    "schedules_late_seconds": Family("Age of the oldest instant of a schedule that is not recorded yet."),
    "effects_under_way": Family("Effects that are planned, initiated, or await their settlement."),
    "effects_to_reconcile": Family("Effects of which somebody has to find out what became of them."),
    "effects_to_reconcile_seconds": Family("Age of the oldest effect that is to be reconciled."),
    "webhooks": Family("Webhooks that are not well: failing, paused, or disabled because of that (given_up).", "state"),
    "deliveries_due_seconds": Family("Age of the oldest delivery that is due and that nobody has begun."),
    "deliveries_blocked": Family("Deliveries whose lane waits for an operator."),
    "events_unmatched_seconds": Family("Age of the oldest event that no relay has matched yet."),
    "publications_pending_seconds": Family("Age of the oldest publication that is pending."),
    "publications_pending": Family("Publications that are pending."),
    "publications_blocked": Family("Publications that are tried again later."),
    "publications_parked": Family("Publications that wait for an operator."),
    "oldest_snapshot_transactions": Family("Transactions begun since the oldest snapshot that PostgreSQL must keep."),
    "oldest_transaction_seconds": Family("Age of the oldest transaction of PostgreSQL that holds a snapshot."),
}
"""The gauges of the database, by their names without `steadhold_`."""

NAMES: Final = frozenset(f"steadhold_{name}" for name in FAMILIES)


class Gauges:
    """Reads them when metrics are read. While the database does not answer there are none."""

    def __init__(self, pool: Pool, *, types: bool = False) -> None:
        self._pool, self._types, self._read_at = pool, TYPES_MAX if types else 0, -math.inf
        self._values: Mapping[str, Mapping[str, float]] = {}
        self._asking = asyncio.Lock()

    def told(self) -> Mapping[str, Mapping[str, float]]:
        """What was read last: of each family its values, by what its label says."""
        return self._values

    async def read(self) -> None:
        """Ask the database, at most once in a second; who comes meanwhile waits for the answer to that."""
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= FRESH_SECONDS:
                self._read_at = now
                await self._read()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._pool.connection() as conn:
                await conn.execute("begin read only; set local role steadhold_app")
                found = await conn.fetch(QUERY, COUNTED_MAX, self._types)
                await roll_back(conn)
        except Exception:  # noqa: BLE001 - metrics without these say that it does not answer
            self._values = {}
            return
        values = {name: self._zeros(family) for name, family in FAMILIES.items()}
        for name, of, value in found:
            values[name][of] = float(value)
        self._values = values

    def _zeros(self, family: Family) -> dict[str, float]:
        """What is told where there is nothing to count, so that no series begins with the first trouble."""
        if family.label == "type":
            return {} if self._types else {"all": 0.0}
        return dict.fromkeys(CLASSES if family.label == "class" else (), 0.0)
