"""`steadhold doctor`: whether a database can keep steadhold's promises, and what to do where it cannot."""

from __future__ import annotations

from typing import Any, Final

import click

from steadhold.cli import exits
from steadhold.cli.database import databased, reached, reaching, settings
from steadhold.cli.show import Out, printed

CONNECTIONS_BESIDE: Final = 2
"""Of each process beside its pool: one listens for hints, one answers `/readyz`."""

CODES: Final = {"ok": exits.OK, "warn": exits.WARNING, "refuse": exits.ERROR}


@click.command()
@printed
@databased
@click.option("--prepared-statements", metavar="INT", help="What servers and workers are told. [default: 1000]")
def doctor(out: Out, config: str | None, **flags: Any) -> None:
    """Examine a database: version, migrations, durability, clock, pooler, space, connections and more.

    Exit code 0: all is well; 9: something deserves attention; 1: steadhold's promises do not hold there.
    """
    import asyncio

    from steadhold.db.doctor import examine, worst

    told = settings(flags, config)
    with reaching(), reached(told) as dsn:
        connections = told.processes * (told.pool_size + CONNECTIONS_BESIDE)
        findings = asyncio.run(examine(dsn, connections=connections, statements=told.prepared_statements))
    out.told([{"check": f.check, "level": f.level, "says": f.says} for f in findings], ("level", "check"), "says")
    click.get_current_context().exit(CODES[worst(findings)])
