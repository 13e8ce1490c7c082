"""(d) 64 clients over 64 workspaces, one request each at a time: no two of them can share a commit.

By a server of as many processes as there are cores.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import driver, load, stand
from bench.run import Run
from bench.state import SECONDS, fresh, with_commits
from steadhold.db.embedded import Embedded

CLIENTS = 64


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Over as many workspaces as clients, and over one, which is what it is to be compared with."""
    dsn = await driver.new_database(postgres.dsn, "workspaces")
    with stand.server(dsn, processes=str(stand.CORES)) as served:
        many, one = at / "keys-many", at / "keys-one"
        made = [stand.workspace(served, f"w-{n}-{uuid.uuid4().hex[:8]}") for n in range(CLIENTS)]
        many.write_text("\n".join(made) + "\n")
        one.write_text(made[0] + "\n")
        seconds = run.seconds(SECONDS)

        def over(keys: Path, *, receipts: bool) -> Callable[[], dict[str, Any]]:
            return lambda: with_commits(
                served,
                lambda: load.over_http(served.port, CLIENTS, seconds, fresh(), keys, receipts=receipts),
            )

        systems = {
            "one_workspace": over(one, receipts=False),
            "many_workspaces": over(many, receipts=False),
            "one_workspace_receipts": over(one, receipts=True),
            "many_workspaces_receipts": over(many, receipts=True),
        }
        for name, round_ in run.wanted(systems):
            run.keep(name, round_, systems[name]())
