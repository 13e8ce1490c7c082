"""`steadhold consumer-table`: the one table that applying once needs, in a database that need not be ours."""

from __future__ import annotations

import click


@click.command("consumer-table")
@click.argument("kind", type=click.Choice(["postgresql", "sqlite"]))
def consumer_table(kind: str) -> None:
    """Print the SQL of the table in which a consumer keeps what it has applied, for its own database."""
    from steadhold.inboxes.applied_table import TABLES

    click.echo(TABLES[kind], nl=False)
