"""state: what is past its window goes, workspace by workspace."""

from __future__ import annotations

from typing import Final

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.state import plans

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long a tombstone is kept, unless the server is set otherwise (contracts: retention)."""


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where tombstones are kept this long."""

    def call(workspace: str, limit: int) -> Call[int]:
        return plans.bury.call(workspace, kept_seconds, limit)

    return (Duty("state.tombstones", call, limit=500, every_seconds=60.0),)


DUTIES = duties(KEPT_SECONDS)
