"""schedules: one logical run per schedule and instant."""

from __future__ import annotations

from steadhold.schedules.instants import tables_version
from steadhold.schedules.model import Span
from steadhold.schedules.outcomes import (
    Backfilled,
    Deleted,
    NeverDue,
    Preview,
    Run,
    RunsPruned,
    Schedule,
    TargetMissing,
    TooManyInstants,
    Triggered,
    Written,
)
from steadhold.schedules.plans import backfill, delete, pause, put, resume, trigger
from steadhold.schedules.reading import get, preview, runs, schedules
from steadhold.schedules.spec import Event, Job, Spec
from steadhold.schedules.ticking import forget, replan, tick

CAPABILITIES = {"schedule_targets": ["job", "inbox"], "zone_tables": tables_version()}
"""What schedules can start in this version, and the zone tables by which they find instants."""

__all__ = [
    "CAPABILITIES",
    "Backfilled",
    "Deleted",
    "Event",
    "Job",
    "NeverDue",
    "Preview",
    "Run",
    "RunsPruned",
    "Schedule",
    "Span",
    "Spec",
    "TargetMissing",
    "TooManyInstants",
    "Triggered",
    "Written",
    "backfill",
    "delete",
    "forget",
    "get",
    "pause",
    "preview",
    "put",
    "replan",
    "resume",
    "runs",
    "schedules",
    "tick",
    "trigger",
]
