"""schedules: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from steadhold.jobs.model import Priority
from steadhold.jobs.takes import Bytes
from steadhold.kit import limits
from steadhold.kit.rules import Id, Moment, Reference, Seconds
from steadhold.schedules.fitting import Jitter, Runs, Span, Version
from steadhold.schedules.fitting import Kind as EventType
from steadhold.schedules.instants import Fold, Gap
from steadhold.schedules.model import Kind, Outcome
from steadhold.schedules.spec import Overlap, Policy
from steadhold.web.reply import Instant


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken in: members that are not known are refused."""


class JobTarget(Taken, kw_only=True, frozen=True):
    """The job that each run submits. At most one of `input` and `input_ref`; without either the input is null."""

    type: Id
    input: Bytes = UNSET
    input_ref: Reference | None = None
    inputs: Annotated[list[Reference], Meta(max_length=limits.JOB_INPUTS_MAX - 1)] = []
    priority: Priority = 5
    deadline_seconds: Seconds | None = None
    tags: Annotated[list[Id], Meta(max_length=limits.JOB_TAGS_MAX)] = []


class InboxTarget(Taken, kw_only=True, frozen=True):
    """The event that each run sends; the bytes of `data` are kept as they are, as a member of the event's."""

    inbox: Id
    type: EventType
    schema_version: Version = 1
    data: Bytes = UNSET


class Target(Taken, kw_only=True, frozen=True):
    """What a run starts: a job, or an event on its way to an inbox."""

    job: JobTarget | None = None
    inbox: InboxTarget | None = None


class Dst(Taken, kw_only=True, frozen=True):
    """What a fixed expression does where a clock jumps over its time, and where it comes twice."""

    gap: Gap = "run_after"
    fold: Fold = "first"


class Missed(Taken, kw_only=True, frozen=True):
    """What becomes of instants that nobody recorded in time."""

    policy: Policy = "latest"
    window_seconds: Span = 3_600
    max_runs: Runs = limits.MISSED_RUNS_MAX


class SpecBody(Taken, kw_only=True, frozen=True):
    """When and what. Exactly one of `cron` (with `time_zone`), `every_seconds` and `at`."""

    target: Target
    cron: str | None = None
    every_seconds: Span | None = None
    at: Moment | None = None
    time_zone: str | None = None
    dst: Dst | None = None
    missed: Missed = Missed()
    overlap: Overlap | None = None
    sequential: bool = False
    jitter_seconds: Jitter = 0
    starts_at: Moment | None = None
    ends_at: Moment | None = None
    paused: bool = False
    freshness_seconds: Span | None = None


class BackfillBody(Taken, kw_only=True, frozen=True, rename={"first": "from", "until": "to"}):
    """The instants from one moment on and before another."""

    first: Moment
    until: Moment


class ScheduleReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A schedule. `spec` is what a PUT sends; every instant up to `cursor` is settled for ever."""

    id: str
    revision: int
    spec: dict[str, Any]
    paused: bool
    next_at: Instant | None
    cursor: Instant
    zone_tables: str
    made_at: Instant
    changed_at: Instant
    made_again: bool = False


class Window(msgspec.Struct, kw_only=True, frozen=True):
    """The interval that a run answers for: `start` is in it, `end` is not."""

    start: Instant
    end: Instant


class Covered(msgspec.Struct, kw_only=True, frozen=True):
    """Consecutive instants that a run stands for."""

    first: Instant
    last: Instant
    count: int


class RunReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What became of an instant, or of `count` of them up to `last_at`."""

    schedule_id: str
    kind: Kind
    scheduled_at: Instant
    local_time: str
    window: Window
    trigger_id: str
    spec_revision: int
    outcome: Outcome
    recorded_at: Instant
    reason: str | None = None
    code: str | None = None
    job_id: str | None = None
    inbox: str | None = None
    event_id: str | None = None
    operation_id: str | None = None
    last_at: Instant | None = None
    count: int = 1
    covers: list[Covered] = []


class BackfillReply(msgspec.Struct, kw_only=True, frozen=True):
    """Runs that are new, and those that were there."""

    runs: list[RunReply]
    existing: list[RunReply]


class PreviewItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An instant to come; or (`skipped`) local times, the first to the last, that have none."""

    local_time: str
    scheduled_at: Instant | None = None
    offset_seconds: int | None = None
    moved: Literal["gap", "fold"] | None = None
    asked: str | None = None
    skipped: Literal["gap", "first_pass", "second_pass"] | None = None
    last_local_time: str | None = None


class PreviewReply(msgspec.Struct, kw_only=True, frozen=True):
    """The instants to come. They run only if the schedule is not paused."""

    paused: bool
    zone_tables: str
    items: list[PreviewItem]
