"""`steadhold events`, `subscriptions` and `publications`: what happened, and how it gets to whom."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Literal

import click

from steadhold.cli.amounts import Whole, limited
from steadhold.cli.bodies import Verb, body, given
from steadhold.cli.connect import asks, changes, named, stepped
from steadhold.cli.naming import an_id, if_match
from steadhold.cli.show import Out, printed
from steadhold.cli.when import moment

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

State = Literal["pending", "blocked", "parked"]
HAPPENED = ("aggregate_revision", "occurred_at", "type", "event_id")
TYPES = ("aggregate_type", "revision", "states", "edges")
SUBSCRIBED = ("subscription_id", "revision", "types", "target", "ordered_by")
PUBLISHED = ("publication_id", "subscription_id", "aggregate_id", "aggregate_revision", "attempts", "reason")


@click.group()
def events() -> None:
    """Events are written with the change that they tell of, or neither is."""


@events.command(cls=Verb)
@click.argument("aggregate", type=an_id)
@click.argument("type", type=an_id)
@body("DATA", required=False)
@click.option("--create", is_flag=True, help="Make an aggregate that is not there.")
@if_match("At this revision.")
@click.option("--from", "before", metavar="STATE", help="The state that it must be in; with --state.")
@click.option("--state", metavar="STATE", help="The state that it comes to.")
@click.option("--aggregate-type", metavar="TYPE", help="With --create.")
@click.option("--correlation-id", metavar="ID")
@click.option("--causation-id", metavar="ID", help="The event that led to it.")
@named
@printed
@changes
def append(
    client: Client, aggregate: str, type: str, data: str | None, file: str | None, create: bool,  # noqa: FBT001
    if_revision: int | None, before: str | None, state: str | None, aggregate_type: str | None,
    correlation_id: str | None, causation_id: str | None, operation_id: str | None, out: Out,
) -> None:  # fmt: skip
    """Write down that TYPE happened to AGGREGATE, with DATA."""
    from steadhold.sdk.events_shapes import NewEvent

    if create == (if_revision is not None):
        raise click.UsageError("Say --create, or --if-match N with the revision that you have read.")
    if before is not None and state is None:
        raise click.UsageError("--from leads to a --state.")
    raw = given("DATA", data, file)
    event = NewEvent(type=type, raw=raw, correlation_id=correlation_id, causation_id=causation_id)
    transition = None if before is None or state is None else (before, state)
    out.one(
        client.aggregates.append(
            aggregate, [event], if_revision=if_revision, transition=transition, aggregate_type=aggregate_type,
            state=None if transition else state, operation_id=operation_id,
        )
    )  # fmt: skip


@events.command()
@click.argument("aggregate", type=an_id)
@click.option("--after", "after", type=Whole(min=0), default=0, metavar="N", help="Above this revision.")
@limited()
@click.option("--follow", is_flag=True, help="Go on with what happens from now on.")
@printed
@asks
def tail(client: Client, aggregate: str, after: int, limit: int | None, follow: bool, out: Out) -> None:  # noqa: FBT001
    """Print what happened to AGGREGATE, oldest first."""
    read = client.aggregates.tail if follow else client.aggregates.events
    out.many(islice(read(aggregate, after_revision=after), limit), HAPPENED)


@events.command()
@limited()
@printed
@asks
def types(client: Client, limit: int | None, out: Out) -> None:
    """List types of aggregates, with their states and edges."""
    out.many(islice(client.aggregates.types(), limit), TYPES)


@click.group()
def subscriptions() -> None:
    """Which events go where: whatever commits after a subscription was answered is published by it."""


@subscriptions.command("ls")
@limited()
@printed
@asks
def subscriptions_ls(client: Client, limit: int | None, out: Out) -> None:
    """List subscriptions by id."""
    out.many(islice(client.subscriptions.list(), limit), SUBSCRIBED)


@subscriptions.command()
@click.argument("id", type=an_id)
@click.argument("types", nargs=-1, required=True)
@click.option("--inbox", metavar="NAME", help="To this inbox.")
@click.option("--sink", metavar="NAME", help="To this sink, which an operator set up.")
@click.option("--aggregate", "aggregates", multiple=True, metavar="GLOB", help="Only of these; several may be given.")
@click.option("--unordered", is_flag=True, help="Nothing waits behind what cannot be published.")
@click.option("--create", is_flag=True, help="Make a subscription that is not there.")
@if_match("Replace this revision.")
@named
@printed
@changes
def put(
    client: Client, id: str, types: tuple[str, ...], inbox: str | None, sink: str | None, aggregates: tuple[str, ...],
    unordered: bool, create: bool, if_revision: int | None, operation_id: str | None, out: Out,  # noqa: FBT001
) -> None:  # fmt: skip
    """Send events of TYPES somewhere. TYPES are globs such as 'order.*'; one has to match."""
    if (inbox is None) == (sink is None):
        raise click.UsageError("Say one of --inbox and --sink.")
    if create == (if_revision is not None):
        raise click.UsageError("Say --create, or --if-match N with the revision that you have read.")
    target = {"inbox": inbox} if inbox is not None else {"sink": sink or ""}
    out.one(
        client.subscriptions.put(
            id, types, target, aggregates=aggregates, ordered_by="none" if unordered else "aggregate",
            if_revision=if_revision, operation_id=operation_id,
        )
    )  # fmt: skip


@subscriptions.command()
@click.argument("id")
@printed
@asks
def show(client: Client, id: str, out: Out) -> None:
    """Show a subscription."""
    out.one(client.subscriptions.get(id))


@subscriptions.command()
@click.argument("id")
@if_match("This revision.", required=True)
@named
@changes
def delete(client: Client, id: str, if_revision: int, operation_id: str | None) -> None:
    """Delete a subscription; what is on its way is skipped."""
    client.subscriptions.delete(id, if_revision=if_revision, operation_id=operation_id)


@subscriptions.command()
@click.argument("id")
@click.argument("start", metavar="FROM", type=moment)
@click.argument("end", metavar="TO", type=moment)
@stepped
@printed
@changes
def replay(client: Client, id: str, start: datetime, end: datetime, operation_id: str, out: Out) -> None:
    """Publish again what happened between moments. The first counts, the second does not; what is gone stays so."""
    out.one({"events": client.subscriptions.replay(id, start, end, operation_id=operation_id)})


@click.group()
def publications() -> None:
    """What is on its way to subscriptions, and what does not get on."""


@publications.command("ls")
@click.argument("state", type=click.Choice(["pending", "blocked", "parked"]), default="parked")
@limited()
@printed
@asks
def publications_ls(client: Client, state: State, limit: int | None, out: Out) -> None:
    """List publications in a state."""
    out.many(islice(client.publications.list(state), limit), PUBLISHED)


@publications.command()
@click.argument("publication")
@named
@printed
@changes
def retry(client: Client, publication: str, operation_id: str | None, out: Out) -> None:
    """Let a publication be tried now."""
    out.one(client.publications.retry(publication, operation_id=operation_id))


@publications.command("retry-parked")
@click.option("--subscription", metavar="ID", help="Only what is on its way to this one.")
@click.option("--expect-count", type=Whole(min=0), metavar="N", help="Try them again if they are N.")
@named
@printed
@changes
def publications_retry_parked(
    client: Client, subscription: str | None, expect_count: int | None, operation_id: str | None, out: Out
) -> None:
    """Count what is parked, or let it be tried again. A thousand at a time, the oldest first."""
    out.one(client.publications.retry_parked(subscription, expect_count=expect_count, operation_id=operation_id))


@publications.command()
@click.argument("publication")
@named
@printed
@changes
def skip(client: Client, publication: str, operation_id: str | None, out: Out) -> None:
    """Never publish it; what waits behind it goes on."""
    out.one(client.publications.skip(publication, operation_id=operation_id))
