"""webhooks over HTTP: deliveries and their attempts, pings and replays; and all doors of the room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from steadhold.kit.ids import UUID
from steadhold.kit.page import page
from steadhold.kit.plan import Call
from steadhold.kit.seal import UNSEALED, Sealing
from steadhold.web import decode, query, reply
from steadhold.web.ask import Answer, Ask, Reply, Request, Route
from steadhold.webhooks import doors, guard, model, replaying, wire
from steadhold.webhooks.doors import Doors, rendered
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.model import Delivered, Delivery, Placed
from steadhold.webhooks.replaying import KEPT_SECONDS

READ: Final = "webhooks:read"
WRITE: Final = "webhooks:write"


def _accepted(placed: Placed) -> Reply:
    told = wire.PlacedReply(delivery_id=placed.id, webhook_id=placed.webhook)
    return reply.json(told, 202, resource=f"delivery:{placed.id}")


def ping(ask: Request) -> Ask[Any]:
    """Send a test event."""
    body, id, new = decode.body(ask, wire.PingBody), ask.params["id"], ask.fresh
    call = replaying.ping.call(ask.workspace, id, new, replaying.ping_body(new, id, body.type), body.type)
    return Ask(call, rendered(_accepted))


def deliveries(ask: Request) -> Ask[Any]:
    """An endpoint's deliveries, the newest first."""
    most, cursor = query.limit(ask), query.dated_cursor(ask, "deliveries", UUID)
    state = query.one_of(ask, "state", *model.STATES)
    before = wire.before(cursor)

    def render(found: list[Delivery]) -> Answer:
        return reply.listing(ask, page(found, most, "deliveries", wire.key_of), wire.delivery_item)

    number = None if state is None else model.STATES.index(state)
    return Ask(
        replaying.deliveries.call(ask.workspace, ask.params["id"], number, before, most + 1), rendered(render)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kept:
    """The doors to what is kept for so long: what may have been removed is answered otherwise than what never was."""

    kept_seconds: float

    def delivery(self, ask: Request) -> Ask[Any]:
        """A delivery with its attempts."""
        bodies = ask.permits("payloads:read", None)

        def render(found: Delivered) -> Answer:
            return reply.json(wire.delivery_reply(found, bodies=bodies))

        return self._ask(replaying.delivery.call, ask, rendered(render))

    def replay(self, ask: Request) -> Ask[Any]:
        """Deliver an event again."""
        return self._ask(replaying.replay.call, ask, rendered(_accepted), ask.fresh)

    def cancel(self, ask: Request) -> Ask[Any]:
        """Attempt a delivery no more."""

        def render(outcome: model.Cancelled) -> Answer:
            fields = wire.delivery_fields(outcome.delivery)
            told = wire.CancelReply(**fields, outcome="unknown" if outcome.unknown else "not_delivered")
            return reply.json(told, resource=f"delivery:{outcome.delivery.id}")

        return self._ask(replaying.cancel.call, ask, rendered(render))

    def cancel_replay(self, ask: Request) -> Ask[Any]:
        """Carry a replay on no further."""
        told = rendered(lambda at: reply.json(wire.replay_reply(at), resource=f"replay:{at.id}"))
        return self._ask(replaying.cancel_replay.call, ask, told)

    def look_replay(self, ask: Request) -> Ask[Any]:
        """How far a replay is."""
        return self._ask(replaying.look_replay.call, ask, rendered(lambda at: reply.json(wire.replay_reply(at))))

    def _ask(
        self, call: Callable[..., Call[Any]], ask: Request, render: Callable[[Any], Answer], *more: Any
    ) -> Ask[Any]:
        return Ask(call(ask.workspace, ask.params["id"], *more, kept_seconds=self.kept_seconds), render)


HOOK: Final = "/v1/webhooks/{id:uuid}"
DELIVERY: Final = "/v1/deliveries/{id:uuid}"
REPLAYED: Final = "/v1/webhook-replays/{id:uuid}"


def _post(path: str, handle: Any, summary: str, gives: Any, takes: Any = None, **more: Any) -> Route:
    """What is done to one of them, under an operation id where that makes something new."""
    given: dict[str, Any] = {"receipt": "required" if more.get("status") == 202 else "optional", **more}
    if takes is not None:
        given |= {"body": "json", "takes": takes}
    return Route("POST", path, handle, WRITE, summary, gives=gives, scoped=_scoped(path), **given)


def _get(path: str, handle: Any, summary: str, gives: Any, **more: Any) -> Route:
    return Route("GET", path, handle, READ, summary, gives=gives, scoped=_scoped(path), **more)


def _scoped(path: str) -> str | None:
    """Scopes are narrowed by endpoints; a delivery, or a replay, is no name that a scope could have."""
    return "id" if path.startswith(HOOK) else None


PRUNED: Final = ("deliveries_pruned",)
GUARDED: Final = ("condition_required", "condition_inexact", "condition_false")
SPEC: Final = ("bad_url", "bad_webhook_header", "no_sealing_key")


def routes(
    kept_seconds: float, sealing: Sealing = UNSEALED, rules: tuple[Allowed, ...] = (guard.ALWAYS,)
) -> tuple[Route, ...]:
    """The doors of a server that keeps deliveries this long, seals by these keys and has these rules."""
    at, kept = Doors(sealing, rules, kept_seconds), Kept(kept_seconds)
    return (
        Route(
            "POST", "/v1/webhooks", at.create, WRITE, "Make a webhook, disabled, and show its secret",
            receipt="required", body="json", takes=wire.EndpointBody, gives=wire.EndpointSecretReply, status=201,
            problems=("storage_exhausted", *SPEC),
        ),
        Route(
            "GET", "/v1/webhooks", doors.listing, READ, "List webhooks",
            query=("limit", "cursor"), gives=wire.EndpointItem,
        ),
        _get(HOOK, doors.get, "Read a webhook", wire.EndpointReply, headers=("if-none-match",)),
        Route(
            "PATCH", HOOK, at.change, WRITE, "Change a webhook", scoped="id", headers=("if-match",), receipt="optional",
            body="json", takes=wire.ChangeBody, gives=wire.EndpointReply, problems=(*GUARDED, *SPEC),
        ),
        Route(
            "DELETE", HOOK, doors.delete, WRITE, "Remove a webhook", scoped="id", headers=("if-match",),
            receipt="optional", status=204, problems=GUARDED,
        ),
        _post(f"{HOOK}/rotate", at.rotate, "Give a webhook a new secret", wire.EndpointSecretReply,
              wire.EndpointRotateBody, receipt="required", problems=("too_many_secrets", "no_sealing_key")),
        _post(f"{HOOK}/ping", ping, "Send a test event", wire.PlacedReply, wire.PingBody, status=202),
        _post(f"{HOOK}/enable", doors.enable, "Let deliveries begin", wire.EndpointReply, problems=("writers_open",)),
        _post(f"{HOOK}/disable", doors.disable, "Begin no more attempts", wire.EndpointReply),
        _post(f"{HOOK}/replay", at.replay_many, "Deliver again what has come since a moment", wire.WebhookReplayReply,
              wire.WebhookReplayBody, status=202, problems=("webhook_disabled", *PRUNED)),
        _get(f"{HOOK}/deliveries", deliveries, "List deliveries, the newest first", wire.DeliveryItem,
             query=("state", "limit", "cursor")),
        _get(DELIVERY, kept.delivery, "Read a delivery with its attempts", wire.DeliveryReply, problems=PRUNED),
        _post(f"{DELIVERY}/replay", kept.replay, "Deliver an event again", wire.PlacedReply, status=202,
              problems=("webhook_disabled", *PRUNED)),
        _post(f"{DELIVERY}/cancel", kept.cancel, "Attempt a delivery no more", wire.CancelReply,
              problems=("delivery_ended", *PRUNED)),
        _get(REPLAYED, kept.look_replay, "Read how far a replay is", wire.WebhookReplayReply, problems=PRUNED),
        _post(f"{REPLAYED}/cancel", kept.cancel_replay, "Carry a replay on no further", wire.WebhookReplayReply,
              problems=("replay_ended", *PRUNED)),
    )  # fmt: skip


ROUTES: Final = routes(KEPT_SECONDS)
