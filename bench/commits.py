"""(g) Four operations as one commit, beside the same four in four requests: three names of state, and a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import driver, load, stand
from bench.run import Run
from steadhold.db.embedded import Embedded

CLIENTS = (1, 64)
SECONDS = 3.0
OPERATIONS = 4
SLOTS = 3


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Each operation and each commit under an operation id, of names of each client's own."""
    dsn = await driver.new_database(postgres.dsn, "commits")
    with stand.server(dsn) as served:
        keys = at / "keys-commits"
        keys.write_text(stand.workspace(served, f"commits-{uuid.uuid4().hex[:8]}") + "\n")
        works = {"together": "commits", "alone": "alone"}
        systems = {
            f"{name}_{clients}": _turns(run, served, keys, clients, work)
            for clients in CLIENTS
            for name, work in works.items()
        }
        for name, round_ in run.wanted(systems):
            found = systems[name]()
            run.keep(name, round_, {**found, "operations_per_second": found["wins_per_second"] * OPERATIONS})


def _turns(run: Run, served: stand.Served, keys: Path, clients: int, work: str) -> Callable[[], dict[str, Any]]:
    seconds = run.seconds(SECONDS)
    return lambda: load.over_http(
        served.port, clients, seconds, uuid.uuid4().hex, keys, work=work, receipts=True, slots=SLOTS
    )
