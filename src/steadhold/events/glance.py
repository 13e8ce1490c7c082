"""events: how their flow stands, at a glance. What is counted is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steadhold.events.plans import SQL
from steadhold.kit.plan import Plan, operation, rows

COUNTED_MAX: Final = 1_000
MINUTES: Final = 15


@dataclass(frozen=True, slots=True)
class Flow:
    """Seconds for which the oldest waits (None: nothing does), open publications by state, events matched a minute."""

    unmatched_seconds: float | None
    pending_seconds: float | None
    pending: int
    blocked: int
    parked: int
    matched: Sequence[int]


@operation
def glance(workspace: str) -> Plan[Flow]:
    """Read how the events of a workspace flow. No count goes beyond `COUNTED_MAX`."""
    flow = yield from rows(SQL.glance, workspace=workspace, most=COUNTED_MAX)
    matched = yield from rows(SQL.glance_matched, workspace=workspace, minutes=MINUTES, most=COUNTED_MAX)
    return Flow(*flow[0], matched=[n for (n,) in matched])
