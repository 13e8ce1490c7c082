"""The worker: your functions, run for durable jobs. Stages are committed one by one, and never run twice after that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steadhold.jobs.model import Coverage
from steadhold.worker.context import Context, SyncContext
from steadhold.worker.effects import Acted, EffectFailed, NoEffect, OutcomeUnknown
from steadhold.worker.verdicts import (
    Cancel,
    CancelRequested,
    Done,
    Fail,
    LeaseLost,
    Permanent,
    RateLimited,
    Retry,
    Snooze,
    StageFault,
)
from steadhold.worker.worker import Worker

if TYPE_CHECKING:
    from steadhold.worker.on_postgres import wake

__all__ = [
    "Acted",
    "Cancel",
    "CancelRequested",
    "Context",
    "Coverage",
    "Done",
    "EffectFailed",
    "Fail",
    "LeaseLost",
    "NoEffect",
    "OutcomeUnknown",
    "Permanent",
    "RateLimited",
    "Retry",
    "Snooze",
    "StageFault",
    "SyncContext",
    "Worker",
    "wake",
]


def __getattr__(name: str) -> Any:
    """Load what needs the server extra only when it is asked for."""
    if name == "wake":
        from steadhold.worker.on_postgres import wake

        return wake
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
