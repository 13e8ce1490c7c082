"""The duties of jobs: what is due in a workspace is settled in short batches, by whichever server asks first."""

from __future__ import annotations

from typing import Final

from steadhold.jobs import sweeping
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call


def leases(workspace: str, limit: int) -> Call[int]:
    """Settle running jobs whose lease ran out, for whatever reason."""
    return sweeping.lapse.call(workspace, limit)


def deadlines(workspace: str, limit: int) -> Call[int]:
    """Fail accepted jobs that nobody took in time."""
    return sweeping.overdue.call(workspace, limit)


def waits(workspace: str, limit: int) -> Call[int]:
    """Wake waiting jobs whose fact holds, or whose time is up."""
    return sweeping.wake.call(workspace, limit)


def inboxes(workspace: str, limit: int) -> Call[int]:
    """Wake waiting jobs whose inbox has what they wait for."""
    return sweeping.attend.call(workspace, limit)


def duties(kept_seconds: float = sweeping.KEPT_SECONDS) -> tuple[Duty, ...]:
    """The duties of jobs, where finished jobs are kept for this long unless their type says otherwise."""

    def retention(workspace: str, limit: int) -> Call[int]:
        return sweeping.forget.call(workspace, limit, kept_seconds=kept_seconds)

    return (
        Duty("fences.job", leases, touches=(("jobs",),)),
        Duty("jobs.deadlines", deadlines),
        Duty("events.waits", waits, touches=(("jobs",),)),
        Duty("jobs.inboxes", inboxes, limit=250, touches=(("jobs",),)),
        Duty("jobs.retention", retention, every_seconds=10.0),
    )


DUTIES: Final = duties()
