"""`steadhold webhooks`: where events are delivered to, and what was delivered; `resend` and `trigger` beside it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Measure, Whole, limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.exits import USAGE, Said
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed
from steadhold.cli.when import moment

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

COLUMNS: Final = ("webhook_id", "enabled", "disabled_why", "url", "types", "failures")
DELIVERIES: Final = ("delivery_id", "state", "event_id", "kind", "tries", "next_at")
STATES: Final = ("pending", "delivered", "exhausted", "cancelled", "skipped", "blocked")


@click.group()
def webhooks() -> None:
    """Events sent to an address: signed, tried again, and sent again when you ask.

    While you develop, `steadhold listen` sends them to an address of yours, and `steadhold trigger` sends test events.
    """


@webhooks.command()
@click.argument("address", metavar="URL")
@click.argument("types", nargs=-1, required=True)
@click.option("--ordered", is_flag=True, help="Those of one aggregate in the order of its revisions.")
@click.option("--on-exhausted", type=click.Choice(("skip", "block")), help="What then becomes of those behind.")
@click.option("--rate", type=Measure(min=0, min_open=True), metavar="N", help="Deliveries a second, at most.")
@click.option("--concurrency", type=Whole(min=1), metavar="N", help="Deliveries at once, at most.")
@click.option("--header", "fields", multiple=True, metavar="NAME:VALUE", help="Sent too; kept sealed. May be repeated.")
@click.option("--asymmetric", is_flag=True, help="Sign by v1a too.")
@named
@printed
@changes
def create(
    client: Client, address: str, types: tuple[str, ...], ordered: bool, fields: tuple[str, ...], asymmetric: bool,  # noqa: FBT001
    out: Out, **said: Any,
) -> None:  # fmt: skip
    """Make a webhook that gets events of TYPES. Globs, as 'job.*'. It is disabled; its secret is shown this once."""
    made = client.webhooks.create(
        address, types, ordered="aggregate" if ordered else None, headers=_headers(fields),
        asymmetric=asymmetric or None, **said,
    )  # fmt: skip
    out.one(made)


def _headers(fields: tuple[str, ...]) -> dict[str, str] | None:
    pairs = [field.partition(":") for field in fields]
    if not all(colon for _, colon, _ in pairs):
        raise Said("A header is NAME:VALUE.", USAGE)
    return {name.strip(): value.strip() for name, _, value in pairs} or None


@webhooks.command()
@limited(100)
@printed
@asks
def ls(client: Client, limit: int, out: Out) -> None:
    """List webhooks."""
    out.many(islice(client.webhooks.list(), limit), COLUMNS)


@webhooks.command()
@click.argument("webhook_id")
@printed
@asks
def show(client: Client, webhook_id: str, out: Out) -> None:
    """Show a webhook and how it fares; never its secrets."""
    out.one(client.webhooks.get(webhook_id))


@webhooks.command()
@click.argument("webhook_id")
@named
@printed
@changes
def enable(client: Client, webhook_id: str, out: Out, **said: Any) -> None:
    """Let deliveries begin; of one that is paused, at once."""
    out.one(client.webhooks.enable(webhook_id, **said))


@webhooks.command()
@click.argument("webhook_id")
@named
@printed
@changes
def disable(client: Client, webhook_id: str, out: Out, **said: Any) -> None:
    """Begin no more attempts."""
    out.one(client.webhooks.disable(webhook_id, **said))


@webhooks.command()
@click.argument("webhook_id")
@if_match("Only at this revision.", required=True)
@named
@changes
def delete(client: Client, webhook_id: str, **said: Any) -> None:
    """Remove a webhook and its secrets."""
    client.webhooks.delete(webhook_id, **said)


@webhooks.command()
@click.argument("webhook_id")
@click.option("--grace-seconds", type=Measure(min=0), default=86_400.0, show_default=True, metavar="N",
              help="For so long the secret before it signs too.")  # fmt: skip
@named
@printed
@changes
def rotate(client: Client, webhook_id: str, out: Out, **said: Any) -> None:
    """Sign with a new secret, which is shown this once."""
    out.one(client.webhooks.rotate(webhook_id, **said))


@webhooks.command()
@click.argument("webhook_id")
@click.option("--type", metavar="TYPE", help="Of the test event. [default: webhook.ping]")
@named
@printed
@changes
def ping(client: Client, webhook_id: str, out: Out, **said: Any) -> None:
    """Send a test event, also to a webhook that is disabled."""
    out.one(client.webhooks.ping(webhook_id, **said))


@webhooks.command()
@click.argument("webhook_id")
@click.option("--state", type=click.Choice(STATES))
@limited(100)
@printed
@asks
def deliveries(client: Client, webhook_id: str, limit: int, out: Out, **which: Any) -> None:
    """List deliveries, the newest first."""
    out.many(islice(client.webhooks.deliveries(webhook_id, **which), limit), DELIVERIES)


@webhooks.command()
@click.argument("delivery_id")
@printed
@asks
def delivery(client: Client, delivery_id: str, out: Out) -> None:
    """Show a delivery with its attempts."""
    out.one(client.webhooks.delivery(delivery_id))


@webhooks.command()
@click.argument("delivery_id")
@named
@printed
@changes
def cancel(client: Client, delivery_id: str, out: Out, **said: Any) -> None:
    """Attempt a delivery no more. Its outcome is `unknown` where it may have arrived."""
    out.one(client.webhooks.cancel(delivery_id, **said))


@webhooks.command()
@click.argument("webhook_id")
@click.option("--since", required=True, type=moment, metavar="TIME", help="From when on, as in 2026-11-29T16:00:00Z.")
@click.option("--until", type=moment, metavar="TIME", help="Until when. [default: now]")
@click.option("--only", type=click.Choice(("failed", "missing", "all")), default="failed", show_default=True)
@named
@printed
@changes
def replay(client: Client, webhook_id: str, out: Out, **said: Any) -> None:
    """Send again what came between two moments. `replayed` tells how far that is."""
    out.one(client.webhooks.replay(webhook_id, **said))


@webhooks.command()
@click.argument("replay_id")
@printed
@asks
def replayed(client: Client, replay_id: str, out: Out) -> None:
    """Show how far a replay is."""
    out.one(client.webhooks.replayed(replay_id))


@webhooks.command("cancel-replay")
@click.argument("replay_id")
@named
@printed
@changes
def cancel_replay(client: Client, replay_id: str, out: Out, **said: Any) -> None:
    """Carry a replay on no further. What it has placed is sent all the same."""
    out.one(client.webhooks.cancel_replay(replay_id, **said))


@click.command()
@click.argument("delivery_id")
@named
@printed
@changes
def resend(client: Client, delivery_id: str, out: Out, **said: Any) -> None:
    """Send the event of a delivery again, by a delivery of its own."""
    out.one(client.webhooks.resend(delivery_id, **said))


@click.command()
@click.argument("type")
@click.option("--webhook", "webhook_id", metavar="ID", help="Only to this one. [default: to all whose types match]")
@printed
@changes
def trigger(client: Client, type: str, webhook_id: str | None, out: Out) -> None:
    """Send a test event of TYPE to webhooks, also to those that are disabled."""
    from steadhold.events import matches

    found = [webhook_id] if webhook_id else [
        each.webhook_id for each in client.webhooks.list() if matches(each.types, type)
    ]  # fmt: skip
    if not found:
        raise Said(f"No webhook takes events of the type {type}.", next="See `steadhold webhooks ls`.")
    out.many((client.webhooks.ping(id, type=type) for id in found), ("webhook_id", "delivery_id"))
