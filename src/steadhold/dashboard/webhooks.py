"""Webhooks: endpoints and how they fare, deliveries with their attempts, and what is sent again."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View, instant

READ, WRITE = "webhooks:read", "webhooks:write"
DELIVERIES_SHOWN: Final = 50
STATES: Final = ("pending", "delivered", "exhausted", "cancelled", "skipped", "blocked")
GRACES: Final = (("86400", "a day"), ("3600", "an hour"), ("0", "no longer"))
ONLY: Final = (("failed", "what failed"), ("missing", "what was never delivered"), ("all", "everything"))


async def index(view: View) -> Outcome:
    """All endpoints."""
    listed = await view.get("/v1/webhooks", limit=100, cursor=view.query.get("cursor"))
    return view.show("webhooks/index.html", listed=listed)


async def one(view: View) -> Outcome:
    """An endpoint, its secrets as far as they are told, and its deliveries, the newest first."""
    return await _one(view, None)


async def _one(view: View, no: Refused | None) -> Outcome:
    id, state = view.params["id"], view.query.get("state") or None
    found, deliveries = await asyncio.gather(
        view.get("/v1/webhooks", id),
        view.get(
            "/v1/webhooks", id, "deliveries", state=state, limit=DELIVERIES_SHOWN, cursor=view.query.get("cursor")
        ),
    )
    return view.show(
        "webhooks/one.html", hook=found.facts, deliveries=deliveries, states=STATES, graces=GRACES, only=ONLY, no=no,
    )  # fmt: skip


async def new(view: View) -> Outcome:
    """The form for an endpoint."""
    return view.show("webhooks/new.html")


async def make(view: View) -> Outcome:
    """Make an endpoint, which begins disabled, and show its secret."""
    wanted: dict[str, Any] = {
        "url": view.form.get("url", "").strip(),
        "types": view.text("types").split(),
        "ordered": "aggregate" if "ordered" in view.form else False,
        "on_exhausted": "block" if "blocks" in view.form else "skip",
    }
    try:
        made = await view.post("/v1/webhooks", body=wanted)
    except Refused as no:
        return view.show("webhooks/new.html", no=no)
    return view.show("webhooks/made.html", hook=made.facts, status=made.status)


async def rotate(view: View) -> Outcome:
    """Give it a new secret, which is shown once."""
    grace = view.number("grace") or 0
    try:
        made = await view.post("/v1/webhooks", view.params["id"], "rotate", body={"grace_seconds": grace})
    except Refused as no:
        return await _one(view, no)
    return view.show("webhooks/made.html", hook=made.facts)


async def enable(view: View) -> Outcome:
    """Let deliveries begin."""
    return await view.act("/webhooks", "enable", _one)


async def disable(view: View) -> Outcome:
    """Begin no more attempts."""
    return await view.act("/webhooks", "disable", _one)


async def ping(view: View) -> Outcome:
    """Send a test event, and go to its delivery."""
    try:
        placed = await view.post("/v1/webhooks", view.params["id"], "ping", body={})
    except Refused as no:
        return await _one(view, no)
    return view.go("/deliveries", placed.facts["delivery_id"])


async def replay_many(view: View) -> Outcome:
    """Deliver again what has come since a moment, and go to where its progress is shown."""
    wanted = {"since": instant(view.form.get("since", "").strip()), "only": view.form.get("only")}
    try:
        begun = await view.post("/v1/webhooks", view.params["id"], "replay", body=wanted)
    except Refused as no:
        return await _one(view, no)
    return view.go("/webhook-replays", begun.facts["replay_id"])


async def delete(view: View) -> Outcome:
    """Remove it as it was shown."""
    seen = view.number("revision")
    try:
        await view.send("DELETE", "/v1/webhooks", view.params["id"], revision=seen)
    except Refused as no:
        return await _one(view, no)
    return view.go("/webhooks")


async def delivery(view: View) -> Outcome:
    """A delivery with its attempts."""
    return view.show("webhooks/delivery.html", delivery=(await view.get("/v1/deliveries", view.params["id"])).facts)


async def attempts(view: View) -> Outcome:
    """The part of a delivery that changes."""
    return view.show("webhooks/_delivery.html", delivery=(await view.get("/v1/deliveries", view.params["id"])).facts)


async def again(view: View) -> Go:
    """Deliver an event again, as a delivery of its own."""
    placed = await view.post("/v1/deliveries", view.params["id"], "replay")
    return view.go("/deliveries", placed.facts["delivery_id"])


async def cancel(view: View) -> Go:
    """Attempt a delivery no more."""
    await view.post("/v1/deliveries", view.params["id"], "cancel")
    return view.go("/deliveries", view.params["id"])


async def replay(view: View) -> Outcome:
    """How far a replay is."""
    return view.show("webhooks/replay.html", replay=(await view.get("/v1/webhook-replays", view.params["id"])).facts)


async def progress(view: View) -> Outcome:
    """The part of it that changes."""
    return view.show("webhooks/_replay.html", replay=(await view.get("/v1/webhook-replays", view.params["id"])).facts)


async def cancel_replay(view: View) -> Go:
    """Carry a replay on no further."""
    await view.post("/v1/webhook-replays", view.params["id"], "cancel")
    return view.go("/webhook-replays", view.params["id"])


ROOM = Room(
    "webhooks", "Webhooks", "Messages", scope=READ,
    pages=(
        Page("/webhooks", index, READ),
        Page("/webhooks:new", new, WRITE),
        Page("/webhooks/{id:uuid}", one, READ),
        Page("/deliveries/{id:uuid}", delivery, READ),
        Page("/deliveries/{id:uuid}/live", attempts, READ),
        Page("/webhook-replays/{id:uuid}", replay, READ),
        Page("/webhook-replays/{id:uuid}/live", progress, READ),
    ),
    actions=(
        Action("/webhooks:new", make, WRITE),
        Action("/webhooks/{id:uuid}/rotate", rotate, WRITE),
        Action("/webhooks/{id:uuid}/enable", enable, WRITE, done="Deliveries begin."),
        Action("/webhooks/{id:uuid}/disable", disable, WRITE, done="No more attempts begin."),
        Action("/webhooks/{id:uuid}/ping", ping, WRITE, done="A test event is on its way."),
        Action("/webhooks/{id:uuid}/replay", replay_many, WRITE, done="What was asked for is delivered again."),
        Action("/webhooks/{id:uuid}/delete", delete, WRITE, done="The webhook was removed."),
        Action("/deliveries/{id:uuid}/replay", again, WRITE, done="Delivered again: this is the new delivery."),
        Action("/deliveries/{id:uuid}/cancel", cancel, WRITE, done="It is attempted no more."),
        Action("/webhook-replays/{id:uuid}/cancel", cancel_replay, WRITE, done="It goes on no further."),
    ),
)  # fmt: skip
