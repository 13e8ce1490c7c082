"""webhooks: where events are delivered to, what was delivered, and what is to be delivered again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.webhooks_shapes import (
    Cancelled,
    Delivery,
    DeliveryState,
    Endpoint,
    ListedDelivery,
    ListedEndpoint,
    Placed,
    Replay,
    Shown,
)
from steadhold.sdk.words import (
    UNSET,
    Unset,
    at,
    change,
    guarded,
    if_match,
    instant,
    members,
    pages,
    read,
    removed,
)

__all__ = ["Cancelled", "Delivery", "Endpoint", "Placed", "Replay", "Shown", "WebhooksRoom"]


class WebhooksRoom(Room[Mode]):
    """`client.webhooks`."""

    @verb
    def create(
        self,
        url: str,
        types: Sequence[str],
        *,
        ordered: Literal["aggregate"] | None = None,
        on_exhausted: Literal["skip", "block"] | None = None,
        rate: float | None = None,
        concurrency: int | None = None,
        headers: Mapping[str, str] | None = None,
        retry_seconds: Sequence[float] | None = None,
        asymmetric: bool | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Shown]:
        """Make a webhook, disabled. Its `secret` is shown in this answer alone; None where the answer is a replay.

        Raises:
            Problem "bad_url", "bad_webhook_header", "no_sealing_key". StorageExhausted: there are as many as may be.
        """
        body = members(
            url=url, types=list(types), ordered=ordered, on_exhausted=on_exhausted, rate=rate, concurrency=concurrency,
            headers=None if headers is None else dict(headers), asymmetric=asymmetric,
            retry_seconds=None if retry_seconds is None else list(retry_seconds),
        )  # fmt: skip
        return (yield from guarded(at("webhooks"), body, Shown, fences, operation_id))

    @verb
    def get(self, webhook_id: str) -> Script[Endpoint]:
        """Read a webhook.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("webhooks", webhook_id))), Endpoint)

    @flow
    def list(self) -> Stream[ListedEndpoint]:
        """Webhooks in the order in which they were made."""
        yield from pages(lambda cursor: at("webhooks", cursor=cursor), ListedEndpoint)

    @verb
    def change(
        self,
        webhook_id: str,
        *,
        if_revision: int,
        url: str | None = None,
        types: Sequence[str] | None = None,
        ordered: Literal["aggregate", False] | None = None,
        on_exhausted: Literal["skip", "block"] | None = None,
        rate: float | Unset | None = UNSET,
        concurrency: int | None = None,
        headers: Mapping[str, str] | None = None,
        retry_seconds: Sequence[float] | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Endpoint]:
        """Change what is given; `headers` replaces all of them, `rate` None takes the bound away.

        Raises:
            RevisionConflict, NotFound. Problem "bad_url", "bad_webhook_header".
        """
        body: dict[str, Any] = members(
            url=url, types=None if types is None else list(types), ordered=ordered, on_exhausted=on_exhausted,
            concurrency=concurrency, headers=None if headers is None else dict(headers),
            retry_seconds=None if retry_seconds is None else list(retry_seconds),
        )  # fmt: skip
        if not isinstance(rate, Unset):
            body["rate"] = rate
        send = change(
            "PATCH",
            at("webhooks", webhook_id),
            body,
            headers=if_match(if_revision),
            fences=fences,
            operation_id=operation_id,
        )
        return read((yield send), Endpoint)

    @verb
    def delete(
        self, webhook_id: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[None]:
        """Remove a webhook and its secrets.

        Raises:
            RevisionConflict, NotFound.
        """
        yield from removed(at("webhooks", webhook_id), if_revision, fences, operation_id)

    @verb
    def enable(
        self, webhook_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Endpoint]:
        """Let deliveries begin. Read the webhook guide before.

        Raises:
            NotFound. Problem "writers_open".
        """
        return (yield from guarded(at("webhooks", webhook_id, "enable"), None, Endpoint, fences, operation_id))

    @verb
    def disable(
        self, webhook_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Endpoint]:
        """Begin no more attempts; those that have begun may still arrive.

        Raises:
            NotFound.
        """
        return (yield from guarded(at("webhooks", webhook_id, "disable"), None, Endpoint, fences, operation_id))

    @verb
    def rotate(
        self, webhook_id: str, *, grace_seconds: float = 86_400.0, asymmetric: bool = False,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Shown]:  # fmt: skip
        """Sign with a new secret; the one before it signs too for the grace.

        Raises:
            NotFound. Problem "too_many_secrets".
        """
        body = {"grace_seconds": grace_seconds, "asymmetric": asymmetric}
        return (yield from guarded(at("webhooks", webhook_id, "rotate"), body, Shown, fences, operation_id))

    @verb
    def ping(
        self,
        webhook_id: str,
        *,
        type: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Placed]:
        """Send a test event, also while the webhook is disabled.

        Raises:
            NotFound.
        """
        body = members(type=type)
        return (yield from guarded(at("webhooks", webhook_id, "ping"), body, Placed, fences, operation_id))

    @flow
    def deliveries(self, webhook_id: str, *, state: DeliveryState | None = None) -> Stream[ListedDelivery]:
        """Deliveries in a state, or all, the newest first.

        Raises:
            NotFound.
        """
        yield from pages(
            lambda cursor: at("webhooks", webhook_id, "deliveries", state=state, cursor=cursor), ListedDelivery
        )

    @verb
    def delivery(self, delivery_id: str) -> Script[Delivery]:
        """Read a delivery with its attempts.

        Raises:
            NotFound. Problem "deliveries_pruned": it is older than what is kept.
        """
        return read((yield Send("GET", at("deliveries", delivery_id))), Delivery)

    @verb
    def resend(
        self, delivery_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Placed]:
        """Deliver an event again, by a delivery of its own.

        Raises:
            NotFound. Problem "webhook_disabled", "deliveries_pruned".
        """
        return (yield from guarded(at("deliveries", delivery_id, "replay"), None, Placed, fences, operation_id))

    @verb
    def cancel(
        self, delivery_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Cancelled]:
        """Attempt a delivery no more. `outcome` "unknown": an attempt began whose end nobody knows.

        Raises:
            NotFound. Problem "delivery_ended", "deliveries_pruned".
        """
        return (yield from guarded(at("deliveries", delivery_id, "cancel"), None, Cancelled, fences, operation_id))

    @verb
    def replay(
        self, webhook_id: str, *, since: datetime, until: datetime | None = None,
        only: Literal["failed", "missing", "all"] = "failed", fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Replay]:  # fmt: skip
        """Deliver again what came between two moments, or to now. It goes on by itself: `replayed` tells how far it is.

        Raises:
            NotFound. Problem "webhook_disabled", "deliveries_pruned".
        """
        body = members(since=instant(since), until=None if until is None else instant(until), only=only)
        return (yield from guarded(at("webhooks", webhook_id, "replay"), body, Replay, fences, operation_id))

    @verb
    def cancel_replay(
        self, replay_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Replay]:
        """Carry a replay on no further. What it has placed by now is delivered all the same.

        Raises:
            NotFound. Problem "replay_ended", "deliveries_pruned".
        """
        target = at("webhook-replays", replay_id, "cancel")
        return (yield from guarded(target, None, Replay, fences, operation_id))

    @verb
    def replayed(self, replay_id: str) -> Script[Replay]:
        """Read how far a replay is.

        Raises:
            NotFound. Problem "deliveries_pruned": it is older than what is kept.
        """
        return read((yield Send("GET", at("webhook-replays", replay_id))), Replay)
