"""state: what is past its window goes, workspace by workspace."""

from __future__ import annotations

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.state import plans

TOMBSTONE_SECONDS = 30 * 86_400.0


def _bury(workspace: str, limit: int) -> Call[int]:
    return plans.bury.call(workspace, TOMBSTONE_SECONDS, limit)


DUTIES = (Duty("state.tombstones", _bury, limit=500, every_seconds=60.0),)
