"""`steadhold migrate`: bring a database's schema up to date."""

from __future__ import annotations

import click

from steadhold.cli.database import at_database
from steadhold.cli.show import Out, printed


@click.command()
@click.option("--plan", is_flag=True, help="Only say what would be applied.")
@printed
@at_database
def migrate(dsn: str, plan: bool, out: Out) -> None:  # noqa: FBT001 - a flag
    """Apply what is pending, each file in one transaction. Any number may run this at once: it happens once."""
    import asyncio

    from steadhold.db.migrate import migrate as apply

    report = asyncio.run(apply(dsn, plan=plan))
    if not (out.json or report.applied):
        click.echo(f"Nothing is pending: all {report.before} migrations are applied.")
        return
    what = "pending" if report.planned else "applied"
    out.one({what: [str(migration) for migration in report.applied], "before": report.before})
