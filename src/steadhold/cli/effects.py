"""`steadhold effects`: actions outside, above all those at which somebody has to look."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

COLUMNS: Final = ("effect_id", "execution", "settlement", "reconciliation", "amount", "currency", "needed_for")
LINES: Final = ("revision", "at", "machine", "from", "to", "actor", "because", "said", "evidence_ref")


@click.group()
def effects() -> None:
    """What left the building, and whether somebody has to look."""


@effects.command()
@click.option("--reconciliation", type=click.Choice(("not_needed", "needed", "reconciled")),
              help="Only these: `needed` are those at which somebody has to look.")  # fmt: skip
@limited(100)
@printed
@asks
def ls(client: Client, limit: int, out: Out, **which: Any) -> None:
    """List effects, the newest first. Of those that need reconciliation, the longest waiting is first."""
    out.many(islice(client.effects.list(**which), limit), COLUMNS)


@effects.command()
@click.argument("effect_id")
@click.option("--history", is_flag=True, help="Everything that it became, and every fact that was kept.")
@printed
@asks
def show(client: Client, effect_id: str, history: bool, out: Out) -> None:  # noqa: FBT001
    """Show an effect: its three states, and what it was planned as."""
    if history:
        out.many(client.effects.history(effect_id), LINES)
    else:
        out.one(client.effects.get(effect_id))


@effects.command()
@click.argument("effect_id")
@click.argument("outcome", type=click.Choice(("succeeded", "failed", "abandoned")), metavar="OUTCOME")
@click.option("--evidence-ref", required=True, metavar="TEXT", help="At what you have looked.")
@click.option("--evidence-id", metavar="ID", help="Under this it is taken once.")
@if_match("Only at this revision.")
@named
@printed
@changes
def reconcile(client: Client, effect_id: str, outcome: Any, out: Out, **said: Any) -> None:
    """Decide what came of an effect, after looking. It `succeeded`, it `failed`, or it stays `abandoned`."""
    out.one(client.effects.reconcile(effect_id, outcome, **said))
