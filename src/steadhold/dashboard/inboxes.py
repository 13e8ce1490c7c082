"""Inboxes: what each keeps, its events from a position on, its consumers with their lag and gaps, and its doors."""

from __future__ import annotations

import asyncio
from typing import Final

from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View, whole

READ, CONFIGURE = "inboxes:read", "inboxes:configure"
EVENTS_SHOWN: Final = 50


async def index(view: View) -> Outcome:
    """All inboxes, in the order of their names."""
    listed = await view.get("/v1/inboxes", limit=100, cursor=view.query.get("cursor"))
    return view.show("inboxes/index.html", listed=listed)


async def one(view: View) -> Outcome:
    """An inbox with its consumers and doors, and events after a position: the newest where none is said."""
    name = view.params["name"]
    found, consumers, doors = await asyncio.gather(
        view.get("/v1/inboxes", name),
        view.get("/v1/inboxes", name, "consumers", limit=100),
        view.maybe("/v1/inboxes", name, "doors", limit=100),
    )
    after = _after(view, found.facts["last_sequence"])
    page, no = None, None
    try:
        page = (
            await view.get("/v1/inboxes", name, "events", after=after, epoch=found.facts["epoch"], limit=EVENTS_SHOWN)
        ).facts
    except Refused as refused:
        no = refused
    return view.show(
        "inboxes/one.html", inbox=found.facts, consumers=consumers.items, doors=doors.items if doors else [],
        page=page, after=after, shown=EVENTS_SHOWN, no=no, status=200,
    )  # fmt: skip


def _after(view: View, last: int) -> int:
    said = whole(view.query.get("after", "").strip())
    return max(0, last - EVENTS_SHOWN) if said is None else said


async def consumers(view: View) -> Outcome:
    """The part of an inbox's page that changes: how far each consumer is."""
    name = view.params["name"]
    found, listed = await asyncio.gather(
        view.get("/v1/inboxes", name), view.get("/v1/inboxes", name, "consumers", limit=100)
    )
    return view.show("inboxes/_consumers.html", inbox=found.facts, consumers=listed.items)


async def forget(view: View) -> Go:
    """Delete a consumer as it was shown."""
    name, seen = view.params["name"], view.number("revision")
    await view.send("DELETE", "/v1/inboxes", name, "consumers", view.params["consumer"], revision=seen)
    return view.go("/inboxes", name)


ROOM = Room(
    "inboxes", "Inboxes", "Messages", scope=READ,
    pages=(
        Page("/inboxes", index, READ),
        Page("/inboxes/{name}", one, READ),
        Page("/inboxes/{name}/consumers", consumers, READ),
    ),
    actions=(
        Action("/inboxes/{name}/consumers/{consumer}/delete", forget, CONFIGURE, done="The consumer was deleted."),
    ),
)  # fmt: skip
