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
    who = await view.get("/v1/whoami")
    found = await view.maybe("/v1/entitlements") if view.workspace else None
    return view.show(
        "workspace/index.html", who=who.facts, entitled=None if found is None else found.facts, limits=LIMITS
    )


ROOM = Room("workspace", "Workspace", "Administration", pages=(Page("/workspace", index),))
