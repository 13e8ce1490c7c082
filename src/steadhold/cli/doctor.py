"""`steadhold doctor`: whether a database can keep steadhold's promises, and what to do where it cannot."""

from __future__ import annotations

from typing import Final

import click

from steadhold.cli import exits
from steadhold.cli.database import at_database
from steadhold.cli.show import Out, printed

CODES: Final = {"ok": exits.OK, "warn": exits.WARNING, "refuse": exits.ERROR}


@click.command()
@printed
@at_database
def doctor(dsn: str, out: Out) -> None:
    """Examine a database: version, migrations, durability, clock, pooler, space and more.

    Exit code 0: all is well; 9: something deserves attention; 1: steadhold's promises do not hold there.
    """
    import asyncio

    from steadhold.db.doctor import examine, worst

    findings = asyncio.run(examine(dsn))
    out.told([{"check": f.check, "level": f.level, "says": f.says} for f in findings], ("level", "check"), "says")
    click.get_current_context().exit(CODES[worst(findings)])
