"""Receipts leave when their window is over."""

from __future__ import annotations

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.operations.model import KEPT_SECONDS
from steadhold.operations.plans import purge


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where receipts are kept this long."""

    def call(workspace: str, limit: int) -> Call[int]:
        return purge.call(workspace, limit, kept_seconds=kept_seconds)

    return (Duty("operations.purge", call, limit=500),)


DUTIES = duties(KEPT_SECONDS)
