"""webhooks: what a client is told."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

DeliveryState: TypeAlias = Literal["pending", "delivered", "exhausted", "cancelled", "skipped", "blocked"]


class ListedEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. `disabled_why`: `new`, `asked`, `failing` or `gone`."""

    webhook_id: str
    revision: int
    url: str
    types: tuple[str, ...]
    ordered: bool | str
    on_exhausted: str
    rate: float | None
    concurrency: int
    header_names: tuple[str, ...]
    retry_seconds: tuple[float, ...]
    enabled: bool
    disabled_why: str | None
    failures: int
    failing_since: datetime | None
    paused_until: datetime | None
    last_success_at: datetime | None
    created_at: datetime
    changed_at: datetime


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """What signs, without the secret itself. `until` None: it is current."""

    scheme: str
    public_key: str | None
    until: datetime | None


class Endpoint(ListedEndpoint, frozen=True, kw_only=True):
    """A webhook, with what signs its deliveries."""

    secrets: tuple[SigningKey, ...]
    guide: str


class Shown(Endpoint, frozen=True, kw_only=True):
    """A webhook with its new secret; None where the answer is a replay, which says that it was shown."""

    secret: str | None = None


class ListedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery. `attempts` were written down, `tries` of them were made."""

    delivery_id: str
    webhook_id: str
    event_id: str
    kind: str
    state: DeliveryState
    attempts: int
    tries: int
    next_at: datetime | None
    skipped: int
    replay_of: str | None
    created_at: datetime
    ended_at: datetime | None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt. `response_body` needs the scope `payloads:read`."""

    attempt: int
    state: Literal["started", "delivered", "refused", "unknown"]
    started_at: datetime
    ended_at: datetime | None
    status: int | None
    why: str | None
    address: str | None
    request: str | None
    response: str | None
    response_body: str | None = None


class Delivery(ListedDelivery, frozen=True, kw_only=True):
    """A delivery with its attempts."""

    attempted: tuple[Attempt, ...]


class Cancelled(ListedDelivery, frozen=True, kw_only=True):
    """A delivery that is attempted no more."""

    outcome: Literal["unknown", "not_delivered"]


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that is to be sent."""

    delivery_id: str
    webhook_id: str


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """How far a replay is."""

    replay_id: str
    webhook_id: str
    state: Literal["running", "done", "cancelled"]
    only: str
    since: datetime
    until: datetime
    looked: int
    made: int
    created_at: datetime
    ended_at: datetime | None
