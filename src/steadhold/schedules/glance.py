"""schedules: whether any is late, at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steadhold.kit.plan import Plan, one, operation
from steadhold.schedules.recording import SQL

COUNTED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Punctual:
    """How many schedules have a next instant, how many are behind it, and the largest delay in seconds."""

    planned: int
    late: int
    late_seconds: float | None


@operation
def glance(workspace: str) -> Plan[Punctual]:
    """Read how the schedules of a workspace stand. No count goes beyond `COUNTED_MAX`."""
    return (yield from one(SQL.glance, Punctual, workspace=workspace, most=COUNTED_MAX))
