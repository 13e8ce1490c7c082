"""Events: what happened to aggregates, what led to it, which events go where, and what is on its way there."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View, instant, whole
from steadhold.events import retrying
from steadhold.events.glance import glance
from steadhold.kit.limits import PUBLICATIONS_RETRIED_MAX

READ, OPERATE = "events:read", "events:operate"
EVENTS_SHOWN: Final = 100
STATES: Final = ("pending", "blocked", "parked")


async def index(view: View) -> Outcome:
    """How events flow, who gets which, and a way to an event or an aggregate by its id."""
    for name, path in (("id", "/events"), ("aggregate", "/aggregates")):
        if wanted := view.query.get(name, "").strip():
            return view.go(path, wanted)
    flow, subscriptions = await asyncio.gather(
        view.play(glance.call(view.workspace)),
        view.get("/v1/subscriptions", limit=100, cursor=view.query.get("cursor")),
    )
    return view.show("events/index.html", flow=flow, subscriptions=subscriptions)


async def flow(view: View) -> Outcome:
    """The part of it that changes."""
    return view.show("events/_flow.html", flow=await view.play(glance.call(view.workspace)))


async def event(view: View) -> Outcome:
    """An event, its data, and what led to it."""
    id = view.params["id"]
    found, causes = await asyncio.gather(view.get("/v1/events", id), view.maybe("/v1/events", id, "causes"))
    return view.show("events/event.html", event=found.facts, causes=None if causes is None else causes.facts)


async def data(view: View) -> Outcome:
    """The data of an event, as a file."""
    return view.download("/v1/events", view.params["id"], "data", name=view.params["id"])


async def aggregates(view: View) -> Outcome:
    """Aggregates that users made."""
    listed = await view.get("/v1/aggregates", limit=100, cursor=view.query.get("cursor"))
    return view.show("events/aggregates.html", listed=listed)


async def aggregate(view: View) -> Outcome:
    """Where an aggregate stands, and what happened to it; of the house's own there are events alone."""
    id, after = view.params["id"], view.query.get("after", "").strip()
    events, no = None, None
    stands = await view.maybe("/v1/aggregates", id)
    try:
        events = await view.get(
            "/v1/aggregates", id, "events", after_revision=whole(after),
            limit=EVENTS_SHOWN, cursor=view.query.get("cursor"),
        )  # fmt: skip
    except Refused as refused:
        if refused.code != "events_pruned":
            raise
        no = refused
    known = None if stands is None else stands.facts
    return view.show("events/aggregate.html", id=id, stands=known, events=events, after=after, no=no, status=200)


async def publications(view: View) -> Outcome:
    """What is on its way, or waits for somebody."""
    return await _publications(view, None)


async def _publications(view: View, no: Refused | None) -> Outcome:
    state = view.query.get("state") or "parked"
    listed, parked = await asyncio.gather(
        view.get("/v1/publications", state=state, limit=100, cursor=view.query.get("cursor")),
        view.play(retrying.retry_parked.call(view.workspace)),
    )
    return view.show(
        "events/publications.html", listed=listed, state=state, states=STATES, parked=parked.count,
        most=PUBLICATIONS_RETRIED_MAX, no=no,
    )  # fmt: skip


async def retry_parked(view: View) -> Outcome:
    """Publish now what is parked, if it is as many as was shown."""
    try:
        await view.post("/v1/publications:retry", body={"expect_count": view.number("count") or 0})
    except Refused as no:
        if no.code != "count_changed":
            raise
        return await _publications(view, no)
    return view.go("/publications", state="parked")


async def retry(view: View) -> Go:
    """Publish now."""
    await view.post("/v1/publications", view.params["id"], "retry")
    return _back(view)


async def skip(view: View) -> Go:
    """Never publish."""
    await view.post("/v1/publications", view.params["id"], "skip")
    return _back(view)


def _back(view: View) -> Go:
    state = view.form.get("state", "")
    return view.go("/publications", state=state if state in STATES else None)


async def subscription(view: View) -> Outcome:
    """A subscription."""
    return await _subscription(view, None)


async def _subscription(view: View, no: Refused | None) -> Outcome:
    found = await view.get("/v1/subscriptions", view.params["id"])
    return view.show("events/subscription.html", subscription=found.facts, no=no)


async def new(view: View) -> Outcome:
    """The form for a subscription."""
    return view.show("events/new.html")


async def put(view: View) -> Outcome:
    """Say which events go where."""
    id = view.form.get("name", "").strip()
    wanted: dict[str, Any] = {
        "types": view.text("types").split(),
        "aggregates": view.text("aggregates").split(),
        "target": {"sink" if view.form.get("kind") == "sink" else "inbox": view.form.get("target", "").strip()},
        "ordered_by": "aggregate" if "ordered" in view.form else "none",
    }
    try:
        await view.send("PUT", "/v1/subscriptions", id, body=wanted, revision=0)
    except Refused as no:
        return view.show("events/new.html", no=no)
    return view.go("/subscriptions", id)


async def replay(view: View) -> Outcome:
    """Publish again what happened between two days, or go on where an answer ended."""
    wanted = {name: instant(view.form.get(name, "").strip()) for name in ("from", "to")}
    if cursor := view.form.get("cursor"):
        wanted["cursor"] = cursor
    try:
        told = await view.post("/v1/subscriptions", view.params["id"], "replay", body=wanted)
    except Refused as no:
        return await _subscription(view, no)
    return view.show("events/replayed.html", id=view.params["id"], replay=told.facts, wanted=wanted)


async def delete(view: View) -> Outcome:
    """Delete it as it was shown."""
    seen = view.number("revision")
    try:
        await view.send("DELETE", "/v1/subscriptions", view.params["id"], revision=seen)
    except Refused as no:
        return await _subscription(view, no)
    return view.go("/events")


ROOM = Room(
    "events", "Events", "Messages", scope=READ,
    pages=(
        Page("/events", index, READ),
        Page("/events:live", flow, READ),
        Page("/events/{id}", event, READ),
        Page("/events/{id}/data", data, READ),
        Page("/aggregates", aggregates, READ),
        Page("/aggregates/{id}", aggregate, READ),
        Page("/publications", publications, OPERATE),
        Page("/subscriptions:new", new, OPERATE),
        Page("/subscriptions/{id}", subscription, READ),
    ),
    actions=(
        Action("/publications:retry", retry_parked, OPERATE, done="They are published now; what is left stands below."),
        Action("/publications/{id:uuid}/retry", retry, OPERATE, done="It is published now."),
        Action("/publications/{id:uuid}/skip", skip, OPERATE, done="It is never published."),
        Action("/subscriptions:new", put, OPERATE, done="From now on these events go there."),
        Action("/subscriptions/{id}/replay", replay, OPERATE),
        Action("/subscriptions/{id}/delete", delete, OPERATE, done="The subscription was deleted."),
    ),
)  # fmt: skip
