"""`steadhold inbox`: events in one order; whatever is gone is told in its place."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from steadhold.cli.amounts import Measure, Whole, a_fence, limited
from steadhold.cli.bodies import Verb, body, needed
from steadhold.cli.connect import asks, changes, named, relying
from steadhold.cli.exits import all_taken
from steadhold.cli.naming import a_grant, an_id, if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.kit.fields import FenceRef
    from steadhold.sdk.client import Client
    from steadhold.sdk.inboxes_shapes import Event, Gap, New

COLUMNS: Final = ("sequence", "type", "aggregate_id", "accepted_at", "data")
LINES_MAX: Final = 1_000


@click.group()
def inbox() -> None:
    """Events in one order without a hole, deduplicated by key. Reading acknowledges nothing."""


@inbox.command()
@limited()
@printed
@asks
def ls(client: Client, limit: int | None, out: Out) -> None:
    """List inboxes."""
    out.many(islice(client.inboxes.list(), limit), ("name", "first_retained", "last_sequence", "bytes", "epoch"))


@inbox.command()
@click.argument("name")
@printed
@asks
def show(client: Client, name: str, out: Out) -> None:
    """Show how NAME stands."""
    out.one(client.inboxes[name].get())


@inbox.command()
@click.argument("name")
@click.option("--max-age", type=Measure(min=0), metavar="SECONDS", help="Keep events so long; 0: without end.")
@click.option("--max-events", type=Whole(min=0), metavar="N", help="Keep at most so many.")
@click.option("--max-bytes", type=Whole(min=0), metavar="N", help="Keep at most so much.")
@named
@printed
@changes
def create(
    client: Client, name: str, max_age: float | None, max_events: int | None, max_bytes: int | None,
    operation_id: str | None, out: Out,
) -> None:  # fmt: skip
    """Make NAME. It keeps events of thirty days, unless told otherwise."""
    keeps: dict[str, Any] = {"max_events": max_events, "max_bytes": max_bytes, "operation_id": operation_id}
    if max_age is not None:
        keeps["max_age_seconds"] = max_age or None
    out.one(client.inboxes[name].create(**keeps))


@inbox.command()
@click.argument("name")
@if_match("Delete this revision.", required=True)
@named
@changes
def delete(client: Client, name: str, if_revision: int, operation_id: str | None) -> None:
    """Delete NAME with its events and consumers."""
    client.inboxes[name].delete(if_revision=if_revision, operation_id=operation_id)


@inbox.command(cls=Verb)
@click.argument("name")
@click.argument("type", required=False)
@body("DATA", required=False)
@click.option("--key", type=an_id, metavar="ID", help="Under one key an event is accepted once.")
@click.option("--aggregate", "aggregate_id", metavar="ID", help="What the event is about.")
@click.option("--batch", type=click.Path(exists=True, dir_okay=False), help="A file of events, a line each, with keys.")
@printed
@changes
def send(
    client: Client, name: str, type: str | None, data: str | None, file: str | None, key: str | None,
    aggregate_id: str | None, batch: str | None, out: Out,
) -> None:  # fmt: skip
    """Append an event of TYPE; DATA is its JSON, as it is. `-` reads standard input.

    With --batch the exit code is 1 where a line was refused; the others are in the inbox.
    """
    if batch is not None:
        if any(one is not None for one in (type, data, file, key, aggregate_id)):
            raise click.UsageError("--batch FILE says all of it: leave out TYPE, DATA, --file, --key and --aggregate.")
        _send_lines(client, name, Path(batch).read_bytes(), out)
        return
    if type is None:
        raise click.UsageError("Give the TYPE of the event, or --batch FILE.")
    raw = needed("DATA", data, file)
    out.one(client.inboxes[name].append(type, raw=raw, key=key, aggregate_id=aggregate_id))


def _send_lines(client: Client, name: str, text: bytes, out: Out) -> None:
    try:
        events = [_line(line) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError) as error:
        raise click.UsageError(f"A line of the file is no event: {error}.") from error
    codes: list[str | None] = []
    for at in range(0, len(events), LINES_MAX):
        came = client.inboxes[name].append_many(events[at : at + LINES_MAX])
        out.many(came, ("key", "status", "sequence", "code"))
        codes += [one.code for one in came]
    all_taken(codes, "events")


def _line(text: bytes) -> New:
    from steadhold.sdk.inboxes_shapes import New

    if "key" not in msgspec.json.decode(text, type=dict[str, msgspec.Raw]):
        raise click.UsageError("A line of the file has no key: without one, each sending would be another event.")
    return msgspec.json.decode(text, type=New)


def _told(item: Event | Gap) -> Any:
    """An event as it is, on one line; a gap under its name."""
    event = getattr(item, "lined", None)
    return {"gap": msgspec.to_builtins(item)} if event is None else event


@inbox.command()
@click.argument("name")
@click.option("--epoch", metavar="EPOCH", help="Of the position.")
@click.option("--after", type=Whole(min=0), metavar="N", help="Read what follows this number.")
@click.option("--limit", type=Whole(min=1, max=1_000), metavar="N", help="At most so many.")
@printed
@asks
def read(client: Client, name: str, epoch: str | None, after: int | None, limit: int | None, out: Out) -> None:
    """Read a page of NAME. It begins with the first event that is retained unless a position is given."""
    found = client.inboxes[name].read(epoch=epoch, after=after, limit=limit)
    out.many([_told(item) for item in (*found.gaps, *found.events)], COLUMNS)


@inbox.command()
@click.argument("name")
@click.option("--epoch", metavar="EPOCH", help="Of the position.")
@click.option("--after", type=Whole(min=0), metavar="N", help="Begin behind this number.")
@printed
@asks
def tail(client: Client, name: str, epoch: str | None, after: int | None, out: Out) -> None:
    """Print what NAME retains, then each new event. That ends when it is interrupted."""
    for item in client.inboxes[name].follow(epoch=epoch, after=after):
        out.each(_told(item), COLUMNS)


@inbox.command()
@click.argument("name")
@click.option("--epoch", metavar="EPOCH", help="Of the position.")
@click.option("--after", type=Whole(min=0), metavar="N", help="Begin behind this number.")
@printed
@asks
def export(client: Client, name: str, epoch: str | None, after: int | None, out: Out) -> None:
    """Print every event of NAME, a line each. A gap is a line of its own."""
    out.many((_told(item) for item in client.inboxes[name].export(epoch=epoch, after=after)), COLUMNS)


def _lease(text: str) -> int | FenceRef:
    return a_fence(text) if text.isdecimal() else a_grant(text)


@inbox.command()
@click.argument("name")
@click.argument("consumer")
@click.argument("epoch")
@click.argument("sequence", type=Whole(min=0))
@click.option(
    "--fence", "fences", type=_lease, multiple=True, metavar="N|GRANT=N",
    help="Of the consumer's lease, if it is held alone; or another grant to rely on, as in lock:deploy=3.",
)  # fmt: skip
@click.option(
    "--accept-gap-through", type=Whole(min=1), metavar="N", help="Events up to this one are gone, and dealt with."
)
@printed
@asks
def ack(
    client: Client, name: str, consumer: str, epoch: str, sequence: int, fences: tuple[int | FenceRef, ...],
    accept_gap_through: int | None, out: Out,
) -> None:  # fmt: skip
    """Say up to where CONSUMER is done. That is everything of NAME up to SEQUENCE of EPOCH."""
    leases = [one for one in fences if isinstance(one, int)]
    if len(leases) > 1:
        raise click.UsageError("Only one --fence is a number alone: that of the consumer's lease.")
    server = relying(client, [one for one in fences if not isinstance(one, int)])
    room = server.inboxes[name].consumer(consumer, fence=leases[0] if leases else None)
    out.one(room.acknowledge(epoch, sequence, accept_gap_through=accept_gap_through))
