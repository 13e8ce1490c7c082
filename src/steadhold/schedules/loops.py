"""The duties of schedules: whichever server asks first does what is due, and no server is special."""

from __future__ import annotations

from typing import Final

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.schedules import ticking


def instants(workspace: str, limit: int) -> Call[int]:
    """Record what has come due: runs with their jobs, and what is skipped."""
    return ticking.tick.call(workspace, limit)


def tables(workspace: str, limit: int) -> Call[int]:
    """Plan anew what older zone tables planned."""
    return ticking.replan.call(workspace, limit)


def duties(kept_seconds: float = ticking.KEPT_SECONDS) -> tuple[Duty, ...]:
    """The duties of schedules, where runs are kept for this long."""

    def retention(workspace: str, limit: int) -> Call[int]:
        return ticking.forget.call(workspace, limit, kept_seconds=kept_seconds)

    return (
        Duty("schedules.tick", instants, limit=250, touches=(("jobs",),)),
        Duty("schedules.retention", retention, every_seconds=10.0),
        Duty("schedules.tables", tables),
    )


DUTIES: Final = duties()
