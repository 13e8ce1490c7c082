"""Workspace: what it may have, what it uses of that, and who you are in it."""

from __future__ import annotations

from steadhold.dashboard.page import Outcome, Page, Room, View

LIMITS = (
    ("jobs_queued", "Accepted jobs"),
    ("jobs_running", "Running jobs"),
    ("names", "Names in state and context"),
    ("bytes", "Bytes in state and context"),
    ("endpoints", "Webhook endpoints"),
)


async def index(view: View) -> Outcome:
    """The entitlements in brief."""
    found = await view.maybe("/v1/entitlements") if view.workspace else None
    operator = view.session.who.workspace is None
    all_of_them = await view.get("/v1/workspaces", limit=100, cursor=view.query.get("cursor")) if operator else None
    return view.show(
        "workspace/index.html", workspaces=all_of_them, entitled=None if found is None else found.facts, limits=LIMITS
    )


ROOM = Room("workspace", "Workspace", "Administration", pages=(Page("/workspace", index),))
