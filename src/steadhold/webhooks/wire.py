"""webhooks: the shapes of its requests and replies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from steadhold.kit.page import Key
from steadhold.web.reply import Instant, instant, maybe_instant
from steadhold.webhooks.model import (
    KINDS,
    Attempt,
    Concurrency,
    Delivered,
    Delivery,
    Endpoint,
    Grace,
    Rate,
    Replay,
    Secret,
    Shown,
    Type,
    Types,
    Waits,
)

Ordered: TypeAlias = Literal["aggregate"] | bool
OnExhausted: TypeAlias = Literal["skip", "block"]


class EndpointBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An endpoint to make. `ordered`: false, or "aggregate". `asymmetric`: it signs by `v1a` too."""

    url: str
    types: Types
    ordered: Ordered = False
    on_exhausted: OnExhausted = "skip"
    rate: Rate | None = None
    concurrency: Concurrency = 4
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    retry_seconds: Waits | UnsetType = UNSET
    asymmetric: bool = False


class ChangeBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is to be otherwise; what is left out stays. `headers` replaces all of them."""

    url: str | UnsetType = UNSET
    types: Types | UnsetType = UNSET
    ordered: Ordered | UnsetType = UNSET
    on_exhausted: OnExhausted | UnsetType = UNSET
    rate: Rate | UnsetType | None = UNSET
    concurrency: Concurrency | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    retry_seconds: Waits | UnsetType = UNSET


class EndpointRotateBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """For how long the secret before the new one signs too. `asymmetric`: the key of `v1a` is meant."""

    grace_seconds: Grace = 86_400.0
    asymmetric: bool = False


class PingBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The type that the test event has."""

    type: Type = "webhook.ping"


class WebhookReplayBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is to be delivered again: since when, until when (null: all that came), and which of it."""

    since: str
    until: str | None = None
    only: Literal["failed", "missing", "all"] = "failed"


class SecretItem(msgspec.Struct, kw_only=True, frozen=True):
    """A secret that signs, without itself. `until` null: it is current."""

    scheme: Literal["v1", "v1a"]
    public_key: str | None
    until: Instant | None


class EndpointItem(msgspec.Struct, kw_only=True, frozen=True):
    """An endpoint. `disabled_why`: `new`, `asked`, `failing` or `gone`. Of its own header fields it tells the names."""

    webhook_id: str
    revision: int
    url: str
    types: tuple[str, ...]
    ordered: Ordered
    on_exhausted: OnExhausted
    rate: float | None
    concurrency: int
    header_names: tuple[str, ...]
    retry_seconds: tuple[float, ...]
    enabled: bool
    disabled_why: Literal["new", "asked", "failing", "gone"] | None
    failures: int
    failing_since: Instant | None
    paused_until: Instant | None
    last_success_at: Instant | None
    created_at: Instant
    changed_at: Instant


class EndpointReply(EndpointItem, kw_only=True, frozen=True):
    """An endpoint with what is known of its secrets. `guide` is to be read before it is enabled."""

    secrets: tuple[SecretItem, ...]
    guide: str = "/docs/webhooks"


class EndpointSecretReply(EndpointReply, kw_only=True, frozen=True):
    """An endpoint with its new secret, which is shown once: a replay says `secret_shown` in its place."""

    secret: str | UnsetType = UNSET
    secret_shown: bool | UnsetType = UNSET


class DeliveryItem(msgspec.Struct, kw_only=True, frozen=True):
    """A delivery. `attempts` were written down, `tries` of them were made."""

    delivery_id: str
    webhook_id: str
    event_id: str
    kind: Literal["event", "replay", "ping"]
    state: Literal["pending", "delivered", "exhausted", "cancelled", "skipped", "blocked"]
    attempts: int
    tries: int
    next_at: Instant | None
    skipped: int
    replay_of: str | None
    created_at: Instant
    ended_at: Instant | None


class AttemptItem(msgspec.Struct, kw_only=True, frozen=True):
    """An attempt, with the heads of request and answer as they are kept. `response_body`: with `payloads:read`."""

    attempt: int
    state: Literal["started", "delivered", "refused", "unknown"]
    started_at: Instant
    ended_at: Instant | None
    status: int | None
    why: str | None
    address: str | None
    request: str | None
    response: str | None
    response_body: str | UnsetType = UNSET


class DeliveryReply(DeliveryItem, kw_only=True, frozen=True):
    """A delivery with its attempts."""

    attempted: tuple[AttemptItem, ...]


class CancelReply(DeliveryItem, kw_only=True, frozen=True):
    """A delivery that is attempted no more. `outcome` is `unknown` where an attempt began whose end nobody knows."""

    outcome: Literal["unknown", "not_delivered"]


class PlacedReply(msgspec.Struct, kw_only=True, frozen=True):
    """A delivery was made, and is to be sent."""

    delivery_id: str
    webhook_id: str


class WebhookReplayReply(msgspec.Struct, kw_only=True, frozen=True):
    """A replay of many: how many events it has looked at, and how many deliveries it has made."""

    replay_id: str
    webhook_id: str
    state: Literal["running", "done", "cancelled"]
    only: Literal["failed", "missing", "all"]
    since: Instant
    until: Instant
    looked: int
    made: int
    created_at: Instant
    ended_at: Instant | None


def _fields(at: Endpoint) -> dict[str, Any]:
    spec, fares = at.spec, at.health
    return {
        "webhook_id": at.id,
        "revision": at.revision,
        "url": spec.url,
        "types": spec.types,
        "ordered": "aggregate" if spec.ordered else False,
        "on_exhausted": "block" if spec.blocks else "skip",
        "rate": spec.rate,
        "concurrency": spec.concurrency,
        "header_names": spec.header_names,
        "retry_seconds": spec.retry_seconds,
        "enabled": at.enabled,
        "disabled_why": at.why,
        "failures": fares.failures,
        "failing_since": maybe_instant(fares.failing_since),
        "paused_until": maybe_instant(fares.paused_until),
        "last_success_at": maybe_instant(at.last_success_at),
        "created_at": instant(at.made_at),
        "changed_at": instant(at.changed_at),
    }


def endpoint_item(at: Endpoint) -> EndpointItem:
    """An endpoint in a list."""
    return EndpointItem(**_fields(at))


def _secrets(found: Sequence[Secret]) -> tuple[SecretItem, ...]:
    return tuple(
        SecretItem(scheme="v1a" if s.public else "v1", public_key=s.public, until=maybe_instant(s.until)) for s in found
    )


def endpoint_reply(shown: Shown) -> EndpointReply:
    """An endpoint on its own."""
    return EndpointReply(**_fields(shown.endpoint), secrets=_secrets(shown.secrets))


def secret_reply(shown: Shown, secret: str | None) -> EndpointSecretReply:
    """An endpoint with its new secret; None: it was shown."""
    told: dict[str, Any] = {"secret_shown": True} if secret is None else {"secret": secret}
    return EndpointSecretReply(**_fields(shown.endpoint), secrets=_secrets(shown.secrets), **told)


def delivery_fields(found: Delivery) -> dict[str, Any]:
    """What all shapes of a delivery tell."""
    return {
        "delivery_id": found.id,
        "webhook_id": found.webhook,
        "event_id": found.event_id,
        "kind": KINDS[found.kind],
        "state": found.state,
        "attempts": found.attempts,
        "tries": found.tries,
        "next_at": maybe_instant(found.next_at),
        "skipped": found.skipped,
        "replay_of": found.replay_of,
        "created_at": instant(found.made_at),
        "ended_at": maybe_instant(found.ended_at),
    }


def delivery_item(found: Delivery) -> DeliveryItem:
    """A delivery in a list."""
    return DeliveryItem(**delivery_fields(found))


def delivery_reply(found: Delivered, *, bodies: bool) -> DeliveryReply:
    """A delivery on its own; with what receivers answered where that may be seen."""
    attempts = tuple(_attempt(attempt, bodies=bodies) for attempt in found.attempts)
    return DeliveryReply(**delivery_fields(found.delivery), attempted=attempts)


def _attempt(at: Attempt, *, bodies: bool) -> AttemptItem:
    body = at.response_body.decode("utf-8", "replace") if bodies and at.response_body is not None else UNSET
    return AttemptItem(
        attempt=at.n, state=at.state, started_at=instant(at.started_at), ended_at=maybe_instant(at.ended_at),
        status=at.status, why=at.why, address=at.address, request=at.request, response=at.response, response_body=body,
    )  # fmt: skip


def replay_reply(at: Replay) -> WebhookReplayReply:
    """How far a replay is."""
    return WebhookReplayReply(
        replay_id=at.id, webhook_id=at.webhook, state=at.state, only=at.only, since=instant(at.since),
        until=instant(at.until), looked=at.looked, made=at.made, created_at=instant(at.made_at),
        ended_at=maybe_instant(at.ended_at),
    )  # fmt: skip


def key_of(found: Delivery) -> tuple[Key, ...]:
    """Where a page of deliveries ends."""
    return found.made_at.isoformat(), found.id


def before(cursor: Sequence[Any] | None) -> tuple[datetime, str]:
    """From where a page of deliveries goes back; without a cursor from the newest."""
    if cursor is None:
        return datetime.max.replace(tzinfo=UTC), "ffffffff-ffff-ffff-ffff-ffffffffffff"
    return datetime.fromisoformat(cursor[0]), cursor[1]
