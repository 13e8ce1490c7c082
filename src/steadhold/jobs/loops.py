"""The duties of jobs: what is due in a workspace is settled in short batches, by whichever server asks first."""

from __future__ import annotations

from typing import Final

from steadhold.jobs import sweeping
from steadhold.kit.duty import Duty

DUTIES: Final = (
    Duty("fences.job", sweeping.lapse.call, touches=(("jobs",),)),
    Duty("jobs.deadlines", sweeping.overdue.call),
    Duty("events.waits", sweeping.wake.call, touches=(("jobs",),)),
    Duty("jobs.retention", sweeping.forget.call, every_seconds=10.0),
)
