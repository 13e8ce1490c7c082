"""`steadhold listen`: events of a workspace sent to an address of this machine, as a webhook would send them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Whole
from steadhold.cli.bodies import text_in
from steadhold.cli.connect import asks
from steadhold.cli.exits import USAGE, Said
from steadhold.cli.show import Out, printed
from steadhold.cli.signals import ended_by_signals

if TYPE_CHECKING:
    import httpx2

    from steadhold.sdk.client import Client
    from steadhold.sdk.inboxes_shapes import Event
    from steadhold.webhooks.sign import Signing

COLUMNS: Final = ("event_id", "type", "attempt", "status", "seconds")
ATTEMPT_SECONDS: Final = 15.0


@click.command()
@click.argument("types", nargs=-1)
@click.option("--forward-to", "address", metavar="URL", required=True, help="Where they are sent, by POST.")
@click.option("--inbox", "name", metavar="NAME", help="What comes to this inbox from now on, in its order.")
@click.option("--webhook", "webhook_id", metavar="ID", help="Of the types of this webhook.")
@click.option(
    "--secret-file", type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Signs by this secret. [default: a new one, which is told]",
)  # fmt: skip
@click.option("--tries", type=Whole(1, 10), default=3, show_default=True, help="Attempts, a second apart.")
@click.option("--limit", type=Whole(min=1), metavar="N", help="Stop after so many events.")
@printed
@asks
def listen(
    client: Client, types: tuple[str, ...], address: str, name: str | None, webhook_id: str | None,
    secret_file: str | None, tries: int, limit: int | None, out: Out,
) -> None:  # fmt: skip
    """Send events of TYPES (globs; all, if none) to an address of your own while you develop, until interrupted.

    They are signed and look as a webhook's; each attempt is told. Nothing of it is durable: what is not sent by the end
    is not sent.
    """
    if bool(types) + (name is not None) + (webhook_id is not None) > 1:
        raise click.UsageError("Name types, or --inbox, or --webhook.")
    from steadhold.sdk.inboxes_shapes import Gap

    signing, secret = _secret(secret_file)
    with ended_by_signals(), _inbox(client, types, name, webhook_id) as (inbox, at):
        out.one({"listening": inbox, "forward_to": address, "secret": secret})
        with _sender() as http:
            sent = 0
            for event in client.inboxes[inbox].follow(epoch=at[0], after=at[1]):
                if isinstance(event, Gap):
                    continue  # what is gone is not sent
                _deliver(http, address, signing, event, tries, out)
                sent += 1
                if sent == limit:
                    return


def _secret(file: str | None) -> tuple[Signing, str]:
    from steadhold.kit.ids import new_secret
    from steadhold.webhooks import sign

    text = text_in(file).strip() if file else sign.secret_text(new_secret())
    try:
        return sign.read_secret(text), "of the file" if file else text
    except sign.SecretFault as error:
        raise Said(str(error), USAGE) from error


@contextmanager
def _inbox(
    client: Client, types: tuple[str, ...], name: str | None, webhook_id: str | None
) -> Iterator[tuple[str, tuple[str, int]]]:
    """The inbox to read and from where on; one of this command's own, gone afterwards, where none was named."""
    from steadhold.kit.ids import new_id

    if name is not None:
        found = client.inboxes[name].get()
        yield name, (found.epoch, found.last_sequence)
        return
    types = types or (client.webhooks.get(webhook_id).types if webhook_id else ("*",))
    own = f"listen-{new_id()}"
    made = client.inboxes[own].create(max_age_seconds=3_600)
    try:
        subscribed = client.subscriptions.put(own, types, {"inbox": own})
        try:
            found = client.inboxes[own].get()
            yield own, (found.epoch, 0)
        finally:
            client.subscriptions.delete(own, if_revision=subscribed.revision)
    finally:
        client.inboxes[own].delete(if_revision=made.revision)


def _sender() -> httpx2.Client:
    import httpx2

    return httpx2.Client(timeout=ATTEMPT_SECONDS, follow_redirects=False, trust_env=False)


def _deliver(http: httpx2.Client, address: str, signing: Signing, event: Event, tries: int, out: Out) -> None:
    """Send an event until it is taken, or the tries are used up; each is told."""
    body = _body(event)
    for attempt in range(1, tries + 1):
        status, seconds = _attempt(http, address, _fields(signing, event, attempt, body), body)
        told = {"event_id": event.event_id, "type": event.type, "attempt": attempt, "status": status}
        out.each({**told, "seconds": round(seconds, 3)}, COLUMNS)
        if isinstance(status, int) and 200 <= status < 300:
            return
        if attempt < tries:
            time.sleep(1.0)


def _attempt(http: httpx2.Client, address: str, fields: dict[str, str], body: bytes) -> tuple[int | str, float]:
    import httpx2

    began = time.monotonic()
    try:
        with http.stream("POST", address, content=body, headers=fields) as answer:
            return answer.status_code, time.monotonic() - began
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return str(error) or type(error).__name__, time.monotonic() - began


def _fields(signing: Signing, event: Event, attempt: int, body: bytes) -> dict[str, str]:
    from steadhold.webhooks import sign

    return {
        "content-type": "application/json",
        "user-agent": "steadhold",
        **sign.headers([signing], sign.wire_id(event.event_id), int(time.time()), body),
        "x-steadhold-attempt": str(attempt),
        "x-steadhold-hops": "1",
    }


def _body(event: Event) -> bytes:
    """The bytes that a webhook would send of an event."""
    import msgspec

    names = ("event_id", "schema_version", "aggregate_id", "aggregate_revision", "occurred_at", "type", "data_ref")
    fields: dict[str, Any] = {name: getattr(event, name) for name in names}
    causes = {"correlation_id": event.correlation_id, "causation_id": event.causation_id}
    fields |= {name: value for name, value in causes.items() if value is not None}
    if event.content_type is None and event.raw:
        fields["data"] = msgspec.Raw(event.raw)
    return msgspec.json.encode(fields)
