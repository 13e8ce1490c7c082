"""What the verbs of schedules can come to, and what is told of a schedule and of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import msgspec

from steadhold.context import Unresolved
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.schedules.instants import Instant, Skipped
from steadhold.schedules.model import Kind, Outcome, Span
from steadhold.schedules.spec import Spec


class Schedule(msgspec.Struct, frozen=True):
    """A schedule. Every instant up to `cursor` is settled for ever; `next_at` is the first one behind it that will be.

    `since`: when it was told its present spec. `tables`: the zone tables that found `next_at`.
    """

    id: str
    revision: int
    spec: Spec
    since: datetime
    cursor: datetime
    next_at: datetime | None
    tables: str
    made_at: datetime
    changed_at: datetime


class Written(msgspec.Struct, frozen=True):
    """The schedule as it is now. `changed` is false where it was so already.

    `made_again`: an earlier one of this id was deleted, and nothing up to `schedule.cursor` will run.
    """

    schedule: Schedule
    changed: bool = True
    created: bool = False
    made_again: bool = False


class Deleted(msgspec.Struct, frozen=True):
    """The schedule is gone, but for its cursor and its runs; this is its last revision."""

    revision: int


class Run(msgspec.Struct, frozen=True):
    """What became of an instant, or of `count` of them up to `last_at`. It answers for [window_start, scheduled_at).

    It has a job, or (`inbox`, `event_id`) is an event on its way to an inbox.

    `reason` is why instants were skipped, or the code with which admission refused. `local_time` is that of the first.
    """

    schedule_id: str
    kind: Kind
    scheduled_at: datetime
    last_at: datetime
    count: int
    local_time: str
    window_start: datetime
    covers: tuple[Span, ...]
    trigger_id: str
    operation_id: str | None
    spec_revision: int
    outcome: Outcome
    reason: str | None
    job_id: str | None
    recorded_at: datetime
    inbox: str | None = None
    event_id: str | None = None


class Triggered(msgspec.Struct, frozen=True):
    """The run that was asked for, whatever came of it."""

    run: Run


class Backfilled(msgspec.Struct, frozen=True):
    """What became of the instants from one moment on and before another: `runs` are new, `existing` were there."""

    runs: tuple[Run, ...]
    existing: tuple[Run, ...]


class Preview(msgspec.Struct, frozen=True):
    """The instants to come, with those that a change of the clock moves or drops."""

    schedule: Schedule
    instants: tuple[Instant | Skipped, ...]


@dataclass(frozen=True, slots=True)
class NeverDue(Refusal):
    """The spec has no instant that is still to come (422)."""


@dataclass(frozen=True, slots=True)
class TargetMissing(Refusal):
    """There is no such inbox to send to (422)."""

    inbox: str


@dataclass(frozen=True, slots=True)
class TooManyInstants(Refusal):
    """The span has more instants than one backfill takes (422)."""

    count: int
    allowed: int


@dataclass(frozen=True, slots=True)
class RunsPruned(Refusal):
    """What became of instants so early is not kept any more (410); they are known behind `after`."""

    after: datetime


PutOutcome: TypeAlias = Written | NeverDue | TargetMissing | Unresolved | RevisionConflict | Missing | StaleFence
DeleteOutcome: TypeAlias = Deleted | RevisionConflict | Missing | StaleFence
PauseOutcome: TypeAlias = Written | RevisionConflict | Missing | StaleFence
TriggerOutcome: TypeAlias = Triggered | RevisionConflict | Missing | StaleFence
BackfillOutcome: TypeAlias = Backfilled | TooManyInstants | RunsPruned | RevisionConflict | Missing | StaleFence
