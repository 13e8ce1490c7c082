"""`steadhold doors`: addresses at which third parties' signed webhooks come into an inbox."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Measure, limited
from steadhold.cli.bodies import text_in
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.inboxes_doors import Scheme

SCHEMES: Final = ("standard", "github", "stripe", "slack", "hmac")
COLUMNS: Final = ("door_id", "scheme", "id_from", "old_secret_until", "created_at")

secret_file = click.option(
    "--secret-file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path), metavar="FILE",
    help="Holds the sender's secret; - reads it from the input. Without, one is made and shown.",
)  # fmt: skip


@click.group()
def doors() -> None:
    """Where third parties' webhooks come into an inbox: nothing but what they signed, once."""


@doors.command()
@click.argument("inbox")
@limited()
@printed
@asks
def ls(client: Client, inbox: str, limit: int | None, out: Out) -> None:
    """List the doors of INBOX."""
    out.many(islice(client.inboxes[inbox].doors.list(), limit), COLUMNS)


@doors.command()
@click.argument("inbox")
@click.argument("door_id")
@printed
@asks
def show(client: Client, inbox: str, door_id: str, out: Out) -> None:
    """Show a door of INBOX; never its secrets."""
    out.one(client.inboxes[inbox].doors.get(door_id))


@doors.command()
@click.argument("inbox")
@click.argument("scheme", type=click.Choice(SCHEMES), metavar="SCHEME")
@secret_file
@click.option("--id-from", metavar="WHERE", help="Where the id of an event is: header:NAME or body:MEMBER.")
@named
@printed
@changes
def create(client: Client, inbox: str, scheme: Scheme, secret_file: Path | None, out: Out, **said: Any) -> None:
    """Make a door of INBOX for what a sender signs by SCHEME. Its address is shown this once.

    SCHEME is standard, github, stripe, slack or hmac.
    """
    out.one(client.inboxes[inbox].doors.create(scheme, secret=_secret(secret_file), **said))


@doors.command()
@click.argument("inbox")
@click.argument("door_id")
@secret_file
@click.option("--grace-seconds", type=Measure(min=0), default=86_400.0, show_default=True, metavar="N",
              help="For so long the secret before it is valid too.")  # fmt: skip
@named
@printed
@changes
def rotate(client: Client, inbox: str, door_id: str, secret_file: Path | None, out: Out, **said: Any) -> None:
    """Give a door another secret."""
    out.one(client.inboxes[inbox].doors.rotate(door_id, secret=_secret(secret_file), **said))


@doors.command()
@click.argument("inbox")
@click.argument("door_id")
@if_match("Only at this revision.", required=True)
@named
@changes
def delete(client: Client, inbox: str, door_id: str, **said: Any) -> None:
    """Close a door for ever."""
    client.inboxes[inbox].doors.delete(door_id, **said)


def _secret(file: Path | None) -> str | None:
    return None if file is None else text_in(str(file)).strip("\r\n")
