"""inboxes: what they do not keep goes, and leases that ran out are written down."""

from __future__ import annotations

from typing import Final

from steadhold.inboxes import consuming, plans
from steadhold.inboxes.model import KEPT_SECONDS
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call


def expire(workspace: str, limit: int) -> Call[int]:
    """Write down which leases the clock has ended."""
    return consuming.expire.call(workspace, limit)


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where keys are kept this long."""

    def sweep(workspace: str, limit: int) -> Call[int]:
        return plans.sweep.call(workspace, limit, kept_seconds)

    return (Duty("inboxes.retention", sweep, limit=1), Duty("fences.consumer", expire, limit=500))


DUTIES: Final = duties(float(KEPT_SECONDS))
