"""Locks: who holds which, under which fence, and who waits; a grant that was shown can be ended."""

from __future__ import annotations

from steadhold.dashboard.page import Action, Outcome, Page, Refused, Room, View

READ, WRITE = "locks:read", "locks:write"


async def index(view: View) -> Outcome:
    """Locks under a prefix, with who holds them."""
    listed = await view.get(
        "/v1/locks", prefix=view.query.get("prefix") or None, limit=100, cursor=view.query.get("cursor")
    )
    return view.show("locks/index.html", listed=listed)


async def one(view: View) -> Outcome:
    """A lock."""
    return await _one(view, None)


async def live(view: View) -> Outcome:
    """The part of a lock's page that changes."""
    return view.show("locks/_live.html", lock=(await view.get("/v1/locks", view.params["name"])).facts)


async def release(view: View) -> Outcome:
    """End the grant whose fence was shown; where another has begun since, the page says so."""
    name, fence = view.params["name"], view.number("fence") or 0
    try:
        await view.post("/v1/locks", name, "release", body={"fence": fence})
    except Refused as no:
        if no.code != "lock_lost":
            raise
        return await _one(view, no)
    return view.go("/locks", name)


async def _one(view: View, no: Refused | None) -> Outcome:
    found = await view.get("/v1/locks", view.params["name"])
    return view.show("locks/one.html", lock=found.facts, no=no)


ROOM = Room(
    "locks", "Locks", "Time", scope=READ,
    pages=(Page("/locks", index, READ), Page("/locks/{name}", one, READ), Page("/locks/{name}/live", live, READ)),
    actions=(Action("/locks/{name}/release", release, WRITE, done="The grant was ended."),),
)  # fmt: skip
