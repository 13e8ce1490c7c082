"""`steadhold consumers`: who has come how far."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from steadhold.cli.amounts import Whole, limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


def _start(said: str) -> Any:
    epoch, _, sequence = said.rpartition(":")
    if said in {"earliest", "latest"}:
        return said
    if not (epoch and sequence):
        raise click.BadParameter(f"{said!r:.80} is none of earliest, latest and EPOCH:SEQUENCE.")
    return epoch, Whole(min=0).convert(sequence, None, None)


@click.group()
def consumers() -> None:
    """Consumers of an inbox: each acknowledges for itself, and never back."""


@consumers.command()
@click.argument("inbox")
@limited()
@printed
@asks
def ls(client: Client, inbox: str, limit: int | None, out: Out) -> None:
    """List the consumers of INBOX."""
    out.many(islice(client.inboxes[inbox].consumers(), limit), ("name", "position", "lag", "holder", "epoch"))


@consumers.command()
@click.argument("inbox")
@click.argument("name")
@printed
@asks
def show(client: Client, inbox: str, name: str, out: Out) -> None:
    """Show how far NAME has come in INBOX."""
    out.one(client.inboxes[inbox].consumer(name).get())


@consumers.command()
@click.argument("inbox")
@click.argument("name")
@click.option(
    "--start",
    type=_start,
    default="earliest",
    show_default=True,
    metavar="WHERE",
    help="earliest, latest, or EPOCH:SEQUENCE.",
)
@named
@printed
@changes
def create(client: Client, inbox: str, name: str, start: Any, operation_id: str | None, out: Out) -> None:
    """Make the consumer NAME of INBOX."""
    out.one(client.inboxes[inbox].consumer(name).create(start, operation_id=operation_id))


@consumers.command()
@click.argument("inbox")
@click.argument("name")
@if_match("Delete this revision.", required=True)
@named
@changes
def delete(client: Client, inbox: str, name: str, if_revision: int, operation_id: str | None) -> None:
    """Delete the consumer NAME of INBOX."""
    client.inboxes[inbox].consumer(name).delete(if_revision=if_revision, operation_id=operation_id)
