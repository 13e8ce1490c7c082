"""Audit: who did what to what."""

from __future__ import annotations

from steadhold.dashboard.page import Outcome, Page, Room, View


async def index(view: View) -> Outcome:
    """The record, newest first."""
    asked = {name: view.query.get(name) or None for name in ("subject", "kind", "resource", "cursor")}
    listed = await view.get("/v1/audit", limit=100, **asked)
    return view.show("audit/index.html", listed=listed, asked=asked)


ROOM = Room(
    "audit", "Audit", "Administration", scope="audit:read", pages=(Page("/audit", index, "audit:read"),)
)  # fmt: skip
