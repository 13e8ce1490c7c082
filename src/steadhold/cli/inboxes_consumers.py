"""`steadhold consumers`: who has come how far."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from steadhold.cli.connect import asks, named
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


@click.group()
def consumers() -> None:
    """Consumers of an inbox: each acknowledges for itself, and never back."""


@consumers.command()
@click.argument("inbox")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after so many.")
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
    "--start", default="earliest", show_default=True, metavar="WHERE", help="earliest, latest, or EPOCH:SEQUENCE."
)
@named
@printed
@asks
def create(client: Client, inbox: str, name: str, start: str, operation_id: str | None, out: Out) -> None:
    """Make the consumer NAME of INBOX."""
    out.one(client.inboxes[inbox].consumer(name).create(_start(start), operation_id=operation_id))


def _start(said: str) -> Any:
    epoch, colon, sequence = said.rpartition(":")
    if not colon and said in {"earliest", "latest"}:
        return said
    if not epoch or not sequence.isdecimal():
        raise click.UsageError("--start is earliest, latest, or EPOCH:SEQUENCE.")
    return epoch, int(sequence)


@consumers.command()
@click.argument("inbox")
@click.argument("name")
@click.option("--if-match", type=int, required=True, metavar="N", help="Delete this revision.")
@named
@asks
def delete(client: Client, inbox: str, name: str, if_match: int, operation_id: str | None) -> None:
    """Delete the consumer NAME of INBOX."""
    client.inboxes[inbox].consumer(name).delete(if_revision=if_match, operation_id=operation_id)
