"""Overview: how the workspace is, at a glance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from steadhold.approvals.glance import glance as approvals
from steadhold.dashboard.page import Outcome, Page, Room, View
from steadhold.effects.glance import glance as effects
from steadhold.events.glance import glance as events
from steadhold.jobs.glance import ACTIVE_COUNTED_MAX, COUNTED_MAX, SPANS, Glance
from steadhold.jobs.glance import glance as jobs
from steadhold.kit.plan import Operation
from steadhold.schedules.glance import glance as schedules
from steadhold.webhooks.glance import glance as webhooks

PARTS: dict[str, Operation[[], Any]] = {
    "jobs": jobs, "approvals": approvals, "effects": effects, "events": events, "schedules": schedules,
    "webhooks": webhooks,
}  # fmt: skip


async def index(view: View) -> Outcome:
    """The whole page."""
    return view.show("overview/index.html", **await _seen(view))


async def live(view: View) -> Outcome:
    """The part of it that is asked for anew."""
    return view.show("overview/_live.html", **await _seen(view))


async def _seen(view: View) -> dict[str, Any]:
    """What the key may see of each room, read at once."""
    names = [name for name in PARTS if view.workspace and view.may(f"{name}:read")]
    asked: list[Awaitable[Any]] = [view.play(PARTS[name].call(view.workspace)) for name in names]
    found = dict.fromkeys(PARTS) | dict(zip(names, await asyncio.gather(*asked), strict=True))
    told = {"counted_max": COUNTED_MAX, "active_max": ACTIVE_COUNTED_MAX}
    return {**told, "failures": _failures(found["jobs"]), **{f"of_{name}": part for name, part in found.items()}}


def _failures(seen: Glance | None) -> dict[str, list[int]]:
    """How many jobs failed in each span, oldest first, by class; the most frequent class first."""
    if seen is None:
        return {}
    total = Counter[str]()
    rows: dict[str, list[int]] = {}
    for ago, failure, count in seen.failed:
        total[failure] += count
        rows.setdefault(failure, [0] * SPANS)[SPANS - 1 - ago] += count
    return {failure: rows[failure] for failure, _ in total.most_common()}


ROOM = Room("overview", "Overview", "", pages=(Page("/", index), Page("/overview/live", live)))
