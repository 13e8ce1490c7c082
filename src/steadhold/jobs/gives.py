"""jobs: the shapes of its replies."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from steadhold.jobs.model import State
from steadhold.web.reply import Instant

Bytes: TypeAlias = Raw | UnsetType


class Given(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What is given out: members that say nothing are left out."""


class JobReply(Given, kw_only=True, frozen=True):
    """Where a verb left a job."""

    job_id: str
    state: State
    revision: int
    run_at: Instant | None = None
    configuration_revision: int | None = None
    retry_of: str | None = None
    root_job_id: str | None = None
    woke: Bytes = UNSET


class CancelReply(msgspec.Struct, kw_only=True, frozen=True):
    """Where a request to cancel stands."""

    outcome: Literal["requested", "cancelled", "too_late"]
    job_id: str
    state: State
    revision: int


class SignalReply(msgspec.Struct, kw_only=True, frozen=True):
    """The signal is kept."""

    job_id: str
    revision: int


class BeatReply(msgspec.Struct, kw_only=True, frozen=True):
    """The lease after a heartbeat."""

    job_id: str
    lease_expires_at: Instant
    server_time: Instant
    cancel_requested: bool


class ItemReply(Given, kw_only=True, frozen=True):
    """What one of many came to: the status and the code that its own route would have answered."""

    status: int
    job_id: str | None = None
    state: State | None = None
    revision: int | None = None
    run_at: Instant | None = None
    configuration_revision: int | None = None
    woke: Bytes = UNSET
    lease_expires_at: Instant | None = None
    server_time: Instant | None = None
    cancel_requested: bool | None = None
    outcome: str | None = None
    retry_of: str | None = None
    root_job_id: str | None = None
    code: str | None = None
    detail: str | None = None


class BatchReply(msgspec.Struct, kw_only=True, frozen=True):
    """An outcome each, in the order asked."""

    outcomes: list[ItemReply]


class BulkReply(Given, kw_only=True, frozen=True):
    """How many jobs the filter means, and what became of each where it was asked."""

    count: int
    outcomes: list[ItemReply] | None = None


class StageName(msgspec.Struct, kw_only=True, frozen=True):
    """A committed stage in the index of a claim."""

    stage: str
    digest: str


class ClaimedJob(Given, kw_only=True, frozen=True):
    """A claimed job, and all that its run needs but the stages' results."""

    job_id: str
    type: str
    fence: int
    revision: int
    attempt: int
    lease_seconds: float
    lease_expires_at: Instant
    root_job_id: str
    configuration_revision: int
    priority: int
    input_digest: str
    stages: list[StageName]
    input: Bytes = UNSET
    input_ref: str | None = None
    inputs: Bytes = UNSET
    configuration: Bytes = UNSET
    run_at: Instant | None = None
    deadline_at: Instant | None = None
    timeout_at: Instant | None = None
    evidence_not_before: Instant | None = None
    correlation_id: str | None = None
    trace: str | None = None


class ClaimReply(msgspec.Struct, kw_only=True, frozen=True):
    """The jobs that are the claimer's now."""

    jobs: list[ClaimedJob]


class CheckpointReply(msgspec.Struct, kw_only=True, frozen=True):
    """A stage is committed."""

    stage: str
    digest: str
    result_ref: str
    revision: int


class CheckpointItem(Given, kw_only=True, frozen=True):
    """A committed stage."""

    stage: str
    digest: str
    result_ref: str
    fence: int
    job_id: str
    committed_at: Instant
    input_digest: str | None = None
    result: Bytes = UNSET


class CancelRequest(Given, kw_only=True, frozen=True):
    """Who asked to cancel."""

    at: Instant
    by: str
    reason: str | None = None


class Failure(Given, kw_only=True, frozen=True):
    """The last failure of a job that lives on, or the one it ended with."""

    error_code: str
    klass: str | None = msgspec.field(default=None, name="class")
    message: str | None = None


class EffectOf(msgspec.Struct, kw_only=True, frozen=True):
    """An effect of a job's line: where it stands, and whether something of it is not decided."""

    effect_id: str
    execution: str
    open: bool


class _Job(Given, kw_only=True, frozen=True, tag_field="state"):
    job_id: str
    type: str
    revision: int
    configuration_revision: int
    root_job_id: str
    priority: int
    attempt: int
    attempts_max: int
    stages: int
    created_at: Instant
    run_at: Instant
    input_digest: str
    tags: list[str]
    effects: list[EffectOf]
    failure: Failure | None = None
    cancel_requested: CancelRequest | None = None
    coverage: Bytes = UNSET
    waiting: Bytes = UNSET
    progress: Bytes = UNSET
    inputs: Bytes = UNSET
    fence: int | None = None
    worker: str | None = None
    retry_of: str | None = None
    claimed_at: Instant | None = None
    timeout_at: Instant | None = None
    deadline_at: Instant | None = None
    ended_at: Instant | None = None
    evidence_not_before: Instant | None = None
    evidence_at: Instant | None = None
    unique_key: str | None = None
    concurrency_key: str | None = None
    correlation_id: str | None = None
    trace: str | None = None
    input_ref: str | None = None


class AcceptedJob(_Job, kw_only=True, frozen=True, tag="accepted"):
    """It is stored, and waits for a worker."""


class RunningJob(_Job, kw_only=True, frozen=True, tag="running"):
    """A worker holds its current fence."""


class WaitingJob(_Job, kw_only=True, frozen=True, tag="waiting"):
    """It waits for a named fact."""


class CompletedJob(_Job, kw_only=True, frozen=True, tag="completed"):
    """Its computation ended; `result_ref` names what came of it."""

    result_ref: str


class FailedJob(_Job, kw_only=True, frozen=True, tag="failed"):
    """It ended without a result; `error_code` says why."""

    error_code: str


class CancelledJob(_Job, kw_only=True, frozen=True, tag="cancelled"):
    """It ended because somebody asked."""


Job: TypeAlias = Annotated[
    AcceptedJob | RunningJob | WaitingJob | CompletedJob | FailedJob | CancelledJob,
    Meta(title="Job", description="A job, without the bytes of its input and result: `state` says which."),
]


class TypeItem(msgspec.Struct, kw_only=True, frozen=True):
    """A job type's current configuration."""

    type: str
    revision: int
    changed_at: Instant
    configuration: Raw
