"""Overview: how the workspace is, at a glance."""

from __future__ import annotations

from steadhold.dashboard.page import Outcome, Page, Room, View


async def index(view: View) -> Outcome:
    """The whole page."""
    return view.show("overview/index.html")


ROOM = Room("overview", "Overview", "", pages=(Page("/", index),))
