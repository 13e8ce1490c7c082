"""jobs: how things stand, at a glance. What is counted is bounded, so that it takes as long however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steadhold.jobs.moving import SQL
from steadhold.kit.plan import Plan, operation, rows

COUNTED_MAX: Final = 500
"""Of a type's queue, and of what ended or failed in one span, at most so many are counted."""

ACTIVE_COUNTED_MAX: Final = 5_000
TYPES_MAX: Final = 20
"""Queues that are told: those whose oldest job waits longest."""

MINUTES: Final = 15
SPANS: Final = 12
"""Spans of five minutes in which failures are told."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Accepted jobs of a type: how many can be claimed now or later, and for how long the oldest could have been."""

    type: str
    ready: int
    later: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Glance:
    """Queues, the one with the oldest job first; what runs and waits; what ended a minute; what failed in spans."""

    queues: Sequence[Queue]
    running: int
    waiting: int
    ended: Sequence[int]
    failed: Sequence[tuple[int, str, int]]
    """Spans ago, class, count."""

    @property
    def ready(self) -> int:
        """Jobs that can be claimed, as far as they were counted."""
        return sum(queue.ready for queue in self.queues)

    @property
    def later(self) -> int:
        """Jobs that can be claimed later, as far as they were counted."""
        return sum(queue.later for queue in self.queues)

    @property
    def more(self) -> bool:
        """Whether there may be more in the queues than was counted."""
        full = any(queue.ready + queue.later >= COUNTED_MAX for queue in self.queues)
        return full or len(self.queues) >= TYPES_MAX


@operation
def glance(workspace: str) -> Plan[Glance]:
    """Read how the jobs of a workspace stand. No count goes beyond `COUNTED_MAX`, or `ACTIVE_COUNTED_MAX`."""
    queues = yield from rows(SQL.glance_queues, workspace=workspace, most=COUNTED_MAX, types=TYPES_MAX)
    active = yield from rows(SQL.glance_active, workspace=workspace, most=ACTIVE_COUNTED_MAX)
    ended = yield from rows(SQL.glance_ended, workspace=workspace, minutes=MINUTES, most=COUNTED_MAX)
    failed = yield from rows(SQL.glance_failed, workspace=workspace, spans=SPANS, most=COUNTED_MAX)
    running, waiting = active[0]
    return Glance(
        [Queue(*row) for row in queues], running, waiting, [n for (n,) in ended],
        [(ago, failure, count) for ago, failure, count in failed],
    )  # fmt: skip
