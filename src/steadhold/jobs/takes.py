"""jobs: the shapes of its requests."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from steadhold.jobs.model import Attempts, Class, Count, Covered, Kind, Priority, Runtime, Several, Share, State
from steadhold.kit import limits
from steadhold.kit.ids import whole
from steadhold.kit.rules import Comment, Delay, Fence, Id, Length, Moment, Reference, Seconds, Uuid

Digest: TypeAlias = Annotated[str, Meta(pattern=whole("[0-9a-f]{64}"))]
Bytes: TypeAlias = Raw | UnsetType


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken in: members that are not known are refused."""


class SubmitBody(Taken, kw_only=True, frozen=True):
    """A job to be admitted. Exactly one of `input` and `input_ref`; without either the input is null."""

    type: Id
    input: Bytes = UNSET
    input_ref: Reference | None = None
    inputs: Annotated[list[Reference], Meta(max_length=limits.JOB_INPUTS_MAX)] = []
    priority: Priority = 5
    run_at: Moment | None = None
    unique_key: Id | None = None
    concurrency_key: Id | None = None
    deadline_seconds: Seconds | None = None
    evidence_not_before: Moment | None = None
    tags: Annotated[list[Id], Meta(max_length=limits.JOB_TAGS_MAX)] = []
    correlation_id: Id | None = None
    trace: Id | None = None


class SubmitBatch(Taken, kw_only=True, frozen=True):
    """Up to `batch_items_max` jobs to be admitted."""

    items: Annotated[list[SubmitBody], Meta(min_length=1, max_length=limits.BATCH_ITEMS_MAX)]


class RetryBody(Taken, kw_only=True, frozen=True):
    """How failures are spaced."""

    base_seconds: Seconds = 1.0
    cap_seconds: Seconds = 600.0
    jitter: Share = 0.5


class ConcurrencyBody(Taken, kw_only=True, frozen=True):
    """How many may run at once."""

    type_max: Several | None = None
    key_max: Several = 1


class ConfigurationBody(Taken, kw_only=True, frozen=True):
    """What a job type is held to; what is left out has its default."""

    input_schema: Bytes = UNSET
    lease_seconds: Length = 30.0
    attempts_max: Attempts = 10
    timeout_seconds: Runtime | None = None
    retry: RetryBody = RetryBody()
    concurrency: ConcurrencyBody = ConcurrencyBody()
    retention_seconds: Seconds | None = None
    versions: Annotated[list[Id], Meta(max_length=limits.JOB_TAGS_MAX)] = []


class ClaimBody(Taken, kw_only=True, frozen=True):
    """Who claims what. `lease_seconds` may only shorten a lease."""

    worker: Id
    types: Annotated[list[Id], Meta(min_length=1, max_length=limits.CLAIM_TYPES_MAX)]
    versions: Annotated[list[Id], Meta(max_length=limits.JOB_TAGS_MAX)] = []
    limit: Annotated[int, Meta(ge=1, le=limits.CLAIM_ITEMS_MAX)] = 1
    lease_seconds: Length | None = None
    wait_seconds: Annotated[float, Meta(ge=0, le=limits.WAIT_SECONDS_MAX)] = 0.0


class BeatBody(Taken, kw_only=True, frozen=True):
    """A heartbeat."""

    fence: Fence
    progress: Bytes = UNSET


class BeatItem(BeatBody, kw_only=True, frozen=True):
    """One of many."""

    job_id: Uuid


class BeatBatch(Taken, kw_only=True, frozen=True):
    """Up to `batch_items_max` heartbeats."""

    items: Annotated[list[BeatItem], Meta(min_length=1, max_length=limits.BATCH_ITEMS_MAX)]


class CheckpointBody(Taken, kw_only=True, frozen=True):
    """A stage to be committed: `result` or `result_ref`, and the digest of what it was computed from."""

    fence: Fence
    result: Bytes = UNSET
    result_ref: Reference | None = None
    input_digest: Digest | None = None


class CoverageBody(Taken, kw_only=True, frozen=True):
    """How much of what was asked a result covers."""

    state: Covered
    expected: Count | None = None
    covered: Count | None = None


class CompletedSaid(Taken, kw_only=True, frozen=True, tag="completed", tag_field="state"):
    """The computation ended."""

    result: Bytes = UNSET
    result_ref: Reference | None = None
    coverage: CoverageBody | None = None
    evidence_at: Moment | None = None


class FailedSaid(Taken, kw_only=True, frozen=True, tag="failed", tag_field="state"):
    """The attempt failed."""

    error_code: Id
    message: Comment = ""
    klass: Class = msgspec.field(default="transient", name="class")


class CancelledSaid(Taken, kw_only=True, frozen=True, tag="cancelled", tag_field="state"):
    """The worker stopped, as it was asked."""


class PlaceBody(Taken, kw_only=True, frozen=True):
    """A position in an inbox."""

    epoch: Id
    sequence: Count


class MatchBody(Taken, kw_only=True, frozen=True):
    """The events that say exactly this of themselves."""

    type: Kind | None = None
    aggregate_id: Id | None = None
    correlation_id: Id | None = None


class ForBody(Taken, kw_only=True, frozen=True):
    """What is waited for: exactly one of these; `after` and `match` belong to an inbox."""

    timer: Delay | None = None
    signal: Id | None = None
    job: Uuid | None = None
    approval: Uuid | None = None
    effect: Id | None = None
    inbox: Id | None = None
    after: PlaceBody | None = None
    match: MatchBody | None = None


class WaitingSaid(Taken, kw_only=True, frozen=True, tag="waiting", tag_field="state"):
    """Hand the job back until a fact holds; `until` is required except for a timer and an approval."""

    stage: Id
    awaited: ForBody = msgspec.field(name="for")
    until: Moment | None = None


class AcceptedSaid(Taken, kw_only=True, frozen=True, tag="accepted", tag_field="state"):
    """Hand the job back untouched."""

    after_seconds: Delay = 0.0


Outcome: TypeAlias = CompletedSaid | FailedSaid | CancelledSaid | WaitingSaid | AcceptedSaid


class SettleBody(Taken, kw_only=True, frozen=True):
    """What became of a job."""

    fence: Fence
    outcome: Outcome


class SettleItem(SettleBody, kw_only=True, frozen=True):
    """One of many."""

    job_id: Uuid


class SettleBatch(Taken, kw_only=True, frozen=True):
    """Up to `batch_items_max` settlements."""

    items: Annotated[list[SettleItem], Meta(min_length=1, max_length=limits.BATCH_ITEMS_MAX)]


class CancelBody(Taken, kw_only=True, frozen=True):
    """Why."""

    reason: Comment | None = None


class AgainBody(Taken, kw_only=True, frozen=True):
    """Nothing has to be said about a retry."""


class SignalBody(Taken, kw_only=True, frozen=True):
    """Something to tell a job."""

    name: Id
    data: Bytes = UNSET


class FilterBody(Taken, kw_only=True, frozen=True):
    """Which jobs are meant; what is left out does not matter."""

    state: State | None = None
    type: Id | None = None
    unique_key: Id | None = None
    tag: Id | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None


class BulkBody(Taken, kw_only=True, frozen=True):
    """Without `expect_count` the jobs that the filter means are only counted."""

    filter: FilterBody
    expect_count: Count | None = None
    reason: Comment | None = None
