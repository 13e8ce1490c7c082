"""The rooms of the dashboard, in the order of its menu. Each is one file beside this one, and a folder of templates."""

from __future__ import annotations

from typing import Final

from steadhold.dashboard import (
    approvals,
    audit,
    context,
    effects,
    events,
    inboxes,
    jobs,
    keys,
    locks,
    operations,
    overview,
    schedules,
    state,
    webhooks,
    workspace,
)
from steadhold.dashboard.page import Room

GROUPS: Final = ("", "Work", "Data", "Messages", "Time", "Administration")
"""The groups of the menu."""

ROOMS: Final[tuple[Room, ...]] = (
    overview.ROOM, jobs.ROOM, approvals.ROOM, effects.ROOM, state.ROOM, context.ROOM, inboxes.ROOM, events.ROOM,
    webhooks.ROOM, schedules.ROOM, locks.ROOM, operations.ROOM, keys.ROOM, audit.ROOM, workspace.ROOM,
)  # fmt: skip
