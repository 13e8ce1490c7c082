"""Events leave when their window is over. What waits is moved on by jobs' own loop."""

from __future__ import annotations

from steadhold.events.model import KEPT_SECONDS
from steadhold.events.plans import purge
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where events are kept this long."""

    def call(workspace: str, limit: int) -> Call[int]:
        return purge.call(workspace, limit, kept_seconds=kept_seconds)

    return (Duty("events.purge", call, limit=500),)


DUTIES = duties(KEPT_SECONDS)
