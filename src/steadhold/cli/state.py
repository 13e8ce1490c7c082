"""`steadhold state`: exact bytes in, exact bytes out, and no write without saying what it replaces."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steadhold.cli.amounts import Whole, limited
from steadhold.cli.bodies import Verb, body, needed
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed, raw

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


@click.group()
def state() -> None:
    """Exact JSON under compare-and-swap: every write names the revision it replaces, and one writer wins."""


@state.command()
@click.argument("name")
@click.option("--revision", type=Whole(min=1), metavar="N", help="An older revision that is still kept.")
@click.option("--meta", is_flag=True, help="Print revision, size and digest instead of the bytes.")
@printed
@asks
def get(client: Client, name: str, revision: int | None, meta: bool, out: Out) -> None:  # noqa: FBT001 - a flag
    """Write the bytes of NAME to standard output. They are exactly those that were stored."""
    found = client.state.get(name, revision=revision)
    if meta:
        out.one(
            {"name": name, "revision": found.revision, "bytes": len(found.raw), "digest": found.digest.hex()}
        )  # fmt: skip
    else:
        raw([found.raw])


@state.command(cls=Verb)
@click.argument("name")
@body("VALUE", required=True)
@if_match("Replace this revision.")
@click.option("--create", is_flag=True, help="Write a name that holds nothing.")
@named
@printed
@changes
def put(
    client: Client, name: str, value: str | None, file: str | None, if_revision: int | None, create: bool,  # noqa: FBT001
    operation_id: str | None, out: Out,
) -> None:  # fmt: skip
    """Store VALUE, a JSON text, as the bytes it is. `-` reads standard input.

    Either --create or --if-match says what is replaced; exit code 3 tells that somebody else wrote first.
    """
    data = needed("VALUE", value, file)
    if create == (if_revision is not None):
        raise click.UsageError("Say what is replaced: --create where NAME holds nothing, or --if-match REVISION.")
    if if_revision is None:
        out.one(client.state.create(name, raw=data, operation_id=operation_id))
    else:
        out.one(client.state.put(name, raw=data, if_revision=if_revision, operation_id=operation_id))


@state.command()
@click.argument("name")
@if_match("Delete this revision.", required=True)
@named
@printed
@changes
def delete(client: Client, name: str, if_revision: int, operation_id: str | None, out: Out) -> None:
    """Delete NAME. The revision that is printed is the deletion's own."""
    out.one(client.state.delete(name, if_revision=if_revision, operation_id=operation_id))


@state.command(cls=Verb)
@click.argument("name")
@click.option("--exec", "command", required=True, metavar="CMD", help="Gets the value, writes the new one.")
@click.option("--create", metavar="VALUE", help="What CMD gets where NAME holds nothing.")
@click.option("--tries", type=Whole(min=1), default=16, show_default=True, help="How often to decide anew.")
@named
@printed
@changes
def update(
    client: Client, name: str, command: str, create: str | None, tries: int, operation_id: str | None, out: Out
) -> None:
    """Replace the value of NAME by what CMD makes of it.

    CMD is run by the shell, with the value on standard input; its standard output is stored as it is. While others
    write first it is run again on what they wrote, so it should only compute. If it fails, nothing is written.
    """
    from steadhold.cli.rewriting import Rewriting

    out.one(Rewriting(client, name, command, create, operation_id).within(tries))


@state.command()
@click.argument("name")
@click.option("--since", type=Whole(min=0), metavar="N", help="A revision you have already: it is not printed again.")
@click.option("--count", type=Whole(min=1), metavar="N", help="Stop after so many.")
@printed
@asks
def watch(client: Client, name: str, since: int | None, count: int | None, out: Out) -> None:
    """Print what NAME holds, and then each time that it changed.

    Revisions that follow each other quickly may be passed over; the last one never is.
    """
    for found in islice(client.state.watch(name, since=since), count):
        out.each(_seen(found), ("revision", "value"))


@state.command()
@click.argument("prefix", default="")
@limited()
@printed
@asks
def ls(client: Client, prefix: str, limit: int | None, out: Out) -> None:
    """List names under PREFIX. It is made of whole segments; the order is that of the names' bytes."""
    out.many(islice(client.state.names(prefix), limit), ("name", "revision", "bytes", "changed_at"))


@state.command()
@click.argument("name")
@printed
@asks
def revisions(client: Client, name: str, out: Out) -> None:
    """List the revisions of NAME that are kept, the newest first."""
    out.many(client.state.revisions(name), ("revision", "bytes", "written_at", "deleted", "digest"))


def _seen(found: Any) -> dict[str, Any]:
    from steadhold.sdk.state import State

    if isinstance(found, State):
        value = msgspec.Raw(found.raw)
        return {"name": found.name, "revision": found.revision, "digest": found.digest.hex(), "value": value}
    return {"name": found.name, "revision": None, "last_revision": found.last_revision}
