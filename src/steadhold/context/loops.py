"""context: uploads that nothing comes of are given up; what is past its window goes. Workspace by workspace."""

from __future__ import annotations

from typing import Final

from steadhold.context import plans, uploads
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long a tombstone is kept, unless the server is set otherwise (contracts: retention)."""


def sweep(workspace: str, limit: int) -> Call[int]:
    """Give up uploads whose lease is over."""
    return uploads.sweep.call(workspace, limit)


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where tombstones are kept this long."""

    def bury(workspace: str, limit: int) -> Call[int]:
        return plans.bury.call(workspace, kept_seconds, limit)

    return (
        Duty("context.tombstones", bury, limit=200, every_seconds=60.0),
        Duty("context.uploads", sweep, limit=20, every_seconds=1.0),
    )


DUTIES = duties(KEPT_SECONDS)
