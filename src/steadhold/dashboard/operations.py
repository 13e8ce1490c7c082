"""Operations: paste an id, and read what became of it and what to do next."""

from __future__ import annotations

from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View


async def index(view: View) -> Outcome:
    """Ask for an id; one that was given leads to its page."""
    wanted = view.query.get("id", "").strip()
    if wanted:
        return view.go("/operations", wanted)
    listed = await view.maybe("/v1/operations", limit=50, cursor=view.query.get("cursor"))
    return view.show("operations/index.html", listed=listed)


async def one(view: View) -> Outcome:
    """What became of an operation."""
    try:
        found = await view.get("/v1/operations", view.params["id"])
    except Refused as no:
        if no.code not in {"operation_not_committed", "operation_expired", "operation_in_flight", "operation_clock"}:
            raise
        return view.show("operations/unknown.html", key=view.params["id"], no=no, status=200)
    return view.show("operations/one.html", operation=found.facts)


async def abandon(view: View) -> Go:
    """Make sure that it never takes effect."""
    await view.post("/v1/operations", view.params["id"], "abandon")
    return view.go("/operations", view.params["id"])


ROOM = Room(
    "operations", "Operations", "Administration",
    pages=(Page("/operations", index), Page("/operations/{id}", one)),
    actions=(Action("/operations/{id}/abandon", abandon, "", done="If it had not taken effect, it never will."),),
)  # fmt: skip
