"""State: names by prefix, and the exact bytes of each revision that is kept."""

from __future__ import annotations

import asyncio

from steadhold.dashboard.browsing import level, trail
from steadhold.dashboard.page import Download, Outcome, Page, Room, View
from steadhold.kit.paths import under

READ = "state:read"


async def index(view: View) -> Outcome:
    """Names under a prefix."""
    return view.show("state/index.html", level=await level(view, "state", "name"))


async def one(view: View) -> Outcome:
    """A name: what it holds, or held at a revision, and which revisions are kept."""
    name, wanted = view.params["name"], view.query.get("revision") or None
    kept = await view.get("/v1/state", name, view="revisions", limit=100, cursor=view.query.get("cursor"))
    found, private = await asyncio.gather(
        view.maybe("/v1/state", name, revision=wanted), view.maybe("/v1/private-prefixes/state", limit=1000)
    )
    return view.show(
        "state/one.html", name=name, kept=kept, found=found, wanted=wanted, trail=trail(name)[:-1],
        private=private is not None and any(under(name, item["prefix"]) for item in private.items),
    )  # fmt: skip


async def download(view: View) -> Download:
    """The bytes of a revision, as they are, in a file."""
    name = view.params["name"]
    named = name.rpartition("/")[2]
    file = named if "." in named else f"{named}.json"
    return view.download("/v1/state", name, name=file, revision=view.query.get("revision") or None)


ROOM = Room(
    "state", "State", "Data", scope=READ,
    pages=(
        Page("/state", index, READ),
        Page("/state/{name:path}", one, READ),
        Page("/state:raw/{name:path}", download, READ),
    ),
)  # fmt: skip
