"""(h) An action from its plan to its outcome: planned, begun and told in three requests, each committed.

By a server of as many processes as there are cores, and by one process.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import driver, load, stand
from bench.run import Run
from bench.state import with_commits
from steadhold.db.embedded import Embedded

CLIENTS = (1, 64)
SECONDS = 3.0
REQUESTS = 3


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Each client begins one action after another, each request under an operation id."""
    dsn = await driver.new_database(postgres.dsn, "effects")
    with stand.server(dsn, processes=str(stand.CORES)) as many, stand.server(dsn) as one:
        keys = at / "keys-effects"
        keys.write_text(stand.workspace(many, f"effects-{uuid.uuid4().hex[:8]}") + "\n")
        systems = {
            f"{name}_{clients}": _turns(run, served, keys, clients)
            for clients in CLIENTS
            for name, served in (("steadhold", many), ("steadhold_1p", one))
        }
        for name, round_ in run.wanted(systems):
            found = systems[name]()
            run.keep(name, round_, {**found, "requests_per_second": found["wins_per_second"] * REQUESTS})


def _turns(run: Run, served: stand.Served, keys: Path, clients: int) -> Callable[[], dict[str, Any]]:
    seconds = run.seconds(SECONDS)
    return lambda: with_commits(
        served,
        lambda: load.over_http(served.port, clients, seconds, uuid.uuid4().hex, keys, work="effects", receipts=True),
    )
