"""`steadhold operations`: what became of a change whose answer was lost."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from steadhold.cli.amounts import Measure, limited
from steadhold.cli.connect import asks, changes
from steadhold.cli.naming import an_id
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


@click.group()
def operations() -> None:
    """Receipts: each change commits together with what is told of it here."""


@operations.command()
@click.argument("operation_id", type=an_id)
@click.option("--wait", type=Measure(0, 30), default=0.0, metavar="SECONDS", help="Wait for it to commit.")
@printed
@asks
def show(client: Client, operation_id: str, wait: float, out: Out) -> None:
    """Show a receipt. Exit code 4: nothing has committed under this id, though it may still be on its way."""
    out.one(client.operations.get(operation_id, wait_seconds=wait))


@operations.command()
@click.argument("operation_id", type=an_id)
@printed
@changes
def abandon(client: Client, operation_id: str, out: Out) -> None:
    """End an operation's uncertainty. It never takes effect, unless it has already: the receipt says which.

    That holds for changes that keep a receipt. An event that is sent to an inbox, an acknowledgement, an import, and a
    lock that is taken, renewed or released keep none: abandoning says nothing of them. Run such a command again.
    """
    out.one(client.operations.abandon(operation_id))


@operations.command()
@limited()
@printed
@asks
def ls(client: Client, limit: int | None, out: Out) -> None:
    """List the receipts that are kept."""
    columns = ("operation_id", "state", "kind", "status", "resource", "revision", "committed_at")
    out.many(islice(client.operations.list(), limit), columns)
