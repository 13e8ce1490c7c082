"""The rooms of the dashboard, in the order of its menu. Each is one file beside this one, and a folder of templates."""

from __future__ import annotations

import functools

from steadhold.dashboard import audit, keys, operations, overview, workspace
from steadhold.dashboard.page import Room

GROUPS = ("", "Work", "Data", "Messages", "Time", "Administration")
"""The groups of the menu."""


@functools.cache
def rooms() -> tuple[Room, ...]:
    """All rooms."""
    return (overview.ROOM, operations.ROOM, keys.ROOM, audit.ROOM, workspace.ROOM)
