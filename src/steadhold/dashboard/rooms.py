"""The rooms of the dashboard, in the order of its menu. Each is one file beside this one, and a folder of templates."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Final

from steadhold.dashboard.page import Room

GROUPS: Final = ("", "Work", "Data", "Messages", "Time", "Administration")
"""The groups of the menu."""

ORDER: Final = (
    "overview", "jobs", "approvals", "effects", "state", "context", "inboxes", "events", "webhooks", "schedules",
    "locks", "operations", "keys", "audit", "workspace",
)  # fmt: skip


@functools.cache
def rooms() -> tuple[Room, ...]:
    """All rooms that are there."""
    names = [f"steadhold.dashboard.{name}" for name in ORDER]
    return tuple(importlib.import_module(name).ROOM for name in names if importlib.util.find_spec(name))
