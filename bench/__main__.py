"""`python -m bench`: take the figures, or those of some parts, and write them into bench/results."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import (
    commits,
    context,
    dashboard,
    effects,
    inboxes,
    jobs,
    locks,
    rest,
    revocation,
    schedules,
    snapshot,
    stand,
    state,
    table,
    webhooks,
    workspaces,
)
from bench.floors import Raw
from bench.run import Run
from steadhold.db.embedded import Embedded

RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, Callable[[Run, Embedded, Path], Any]] = {
    "state": state.take,
    "workspaces": workspaces.take,
    "jobs": lambda run, postgres, _at: jobs.take(run, postgres),
    "locks": locks.take,
    "inboxes": inboxes.take,
    "webhooks": webhooks.take,
    "schedules": schedules.take,
    "commits": commits.take,
    "effects": effects.take,
    "context": context.take,
    "dashboard": dashboard.take,
    "rest": lambda run, postgres, _at: rest.take(run, postgres),
    "revocation": lambda run, postgres, _at: revocation.take(run, postgres),
    "snapshot": snapshot.take,
}


def main() -> None:
    """Read what is wanted, and take it. A part that breaks is told, and the run goes on with the next."""
    asked = _arguments()
    folder = Path(asked.out)
    folder.mkdir(parents=True, exist_ok=True)
    broke: list[str] = []
    until = time.monotonic() + asked.budget * 60
    with stand.home() as at, stand.postgres(at) as postgres:
        for part in asked.only or PARTS:
            run = Run(
                part, folder, rounds=asked.rounds, scale=asked.scale, only=asked.system or (), go_on=asked.go_on,
                until=until,
            )  # fmt: skip
            run.about["versions"]["postgresql"] = postgres.version
            try:
                asyncio.run(PARTS[part](run, postgres, at))
            except Exception as error:  # noqa: BLE001 - it is told, and the others' figures are taken all the same
                broke.append(f"{part} broke: {type(error).__name__}: {error}")
                print(broke[-1], file=sys.stderr, flush=True)
            else:
                print(table.told(figures(folder), part), flush=True)
            finally:  # whoever stops the run has the page of what was taken
                write_page(folder)
    sys.exit("\n".join(broke) or 0)


def write_page(folder: Path) -> None:
    """Write the page of all parts that there are figures of."""
    abouts = {part: kept["about"] for part, kept in _kept(folder).items()}
    (folder / "README.md").write_text(table.page(figures(folder), abouts))


def figures(folder: Path) -> Raw:
    """Those of all parts that there are figures of."""
    return {part: kept["raw"] for part, kept in _kept(folder).items()}


def _kept(folder: Path) -> dict[str, dict[str, Any]]:
    return {part: json.loads(path.read_text()) for part in PARTS if (path := folder / f"{part}.json").exists()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PARTS), help="a part; may be given again")
    parser.add_argument("--system", action="append", help="one of what a part measures; may be given again")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured [3]")
    parser.add_argument("--budget", type=float, default=math.inf, help="minutes after which nothing is begun [none]")
    parser.add_argument("--scale", type=float, default=1.0, help="of lengths and numbers [1]")
    parser.add_argument("--go-on", action="store_true", help="keep the rounds that are there, take the others")
    parser.add_argument("--out", default=str(RESULTS), help="a folder for the figures [bench/results]")
    return parser.parse_args()


if __name__ == "__main__":
    main()
