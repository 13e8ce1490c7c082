"""jobs: what its verbs take and answer. Members of newer servers are passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.words import NOTHING, UNSET, Unset, said_value

State: TypeAlias = Literal["accepted", "running", "waiting", "completed", "failed", "cancelled"]
Class: TypeAlias = Literal["transient", "timeout", "rate_limited", "interrupted", "permanent", "bug"]
ENDED: Final = frozenset({"completed", "failed", "cancelled"})


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A job to be admitted. Its input is a value, its JSON as `raw` bytes, or a reference to it."""

    type: str
    input: JsonValue | Unset = UNSET
    raw: bytes | None = None
    input_ref: str | None = None
    inputs: Sequence[str] = ()
    priority: int | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    concurrency_key: str | None = None
    deadline_seconds: float | None = None
    evidence_not_before: datetime | None = None
    tags: Sequence[str] = ()
    correlation_id: str | None = None
    trace: str | None = None


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was admitted (`created`), or the live one that holds its `unique_key` with the same input.

    `root_job_id` is the first job of its line: its own id, but for a retry; None of a live one, which `get` tells.
    """

    job_id: str
    state: State = "accepted"
    revision: int = 0
    configuration_revision: int | None = None
    root_job_id: str | None = None
    retry_of: str | None = None
    run_at: datetime | None = None
    created: bool = True


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What one item of a batch came to: `status` and `code` are what its own verb would have been answered."""

    status: int
    job_id: str | None = None
    code: str | None = None
    detail: str | None = None
    state: State | None = None
    revision: int | None = None
    run_at: datetime | None = None
    lease_expires_at: datetime | None = None
    server_time: datetime | None = None
    cancel_requested: bool | None = None
    outcome: str | None = None
    retry_of: str | None = None
    root_job_id: str | None = None
    raw: msgspec.Raw = msgspec.field(name="woke", default=NOTHING)

    @property
    def woke(self) -> Any:
        """What a wait is answered when its fact held already: the job is still running. None otherwise."""
        return said_value(self.raw)

    @property
    def ok(self) -> bool:
        """Whether it took effect, or had before."""
        return self.status < 300


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's wish that a job be cancelled."""

    at: datetime
    by: str | None = None
    reason: str | None = None


class EffectOf(msgspec.Struct, frozen=True, kw_only=True):
    """An effect of a job, its retries included: where it stands, and whether something of it is not decided."""

    effect_id: str
    execution: str
    open: bool


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The last failure of a job that lives on, or the one that it ended with."""

    error_code: str
    klass: str | None = msgspec.field(name="class", default=None)
    message: str | None = None


class Coverage(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of what was asked a result covers."""

    state: Literal["complete", "partial", "unknown"]
    expected: int | None = None
    covered: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it was read: everything but its input and its result."""

    job_id: str
    type: str
    state: State
    revision: int
    root_job_id: str | None = None
    retry_of: str | None = None
    configuration_revision: int = 0
    priority: int = 5
    attempt: int = 0
    attempts_max: int | None = None
    fence: int | None = None
    worker: str | None = None
    stages: int = 0
    created_at: datetime | None = None
    run_at: datetime | None = None
    claimed_at: datetime | None = None
    timeout_at: datetime | None = None
    deadline_at: datetime | None = None
    ended_at: datetime | None = None
    evidence_not_before: datetime | None = None
    evidence_at: datetime | None = None
    unique_key: str | None = None
    concurrency_key: str | None = None
    tags: Sequence[str] | None = None
    correlation_id: str | None = None
    trace: str | None = None
    input_digest: str | None = None
    input_ref: str | None = None
    inputs: Any = None
    waiting: Any = None
    result_ref: str | None = None
    coverage: Coverage | None = None
    error_code: str | None = None
    failure: Failure | None = None
    cancel_requested: Request | None = None
    effects: Sequence[EffectOf] = ()
    progress_raw: msgspec.Raw = msgspec.field(name="progress", default=NOTHING)

    @property
    def ended(self) -> bool:
        """Whether its state never changes again."""
        return self.state in ENDED

    @property
    def progress(self) -> Any:
        """What its worker last told of it; None before."""
        return said_value(self.progress_raw)


class Stage(msgspec.Struct, frozen=True):
    """A committed stage in the index of a claim: its digest is in hexadecimal."""

    stage: str
    digest: str


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is the claimer's, under `fence`, until `lease_expires_at` on the server's clock.

    `stages` are the committed ones, in the order they were committed.
    """

    job_id: str
    type: str
    fence: int
    revision: int
    attempt: int
    lease_seconds: float
    lease_expires_at: datetime
    root_job_id: str
    configuration_revision: int = 0
    priority: int = 5
    input_ref: str | None = None
    input_digest: str | None = None
    inputs: Any = None
    stages: Sequence[Stage] = ()
    run_at: datetime | None = None
    deadline_at: datetime | None = None
    timeout_at: datetime | None = None
    evidence_not_before: datetime | None = None
    correlation_id: str | None = None
    trace: str | None = None
    configuration: Any = None
    input_raw: msgspec.Raw = msgspec.field(name="input", default=NOTHING)

    @property
    def input(self) -> Any:
        """The input: integers as int, fractions as Decimal. None where only `input_ref` names it."""
        return said_value(self.input_raw)

    @property
    def grant(self) -> FenceRef:
        """What a write that relies on this claim names in its `fences`."""
        return FenceRef(f"job:{self.job_id}", self.fence)


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """The lease runs until `lease_expires_at`, on the clock that said `server_time`."""

    lease_expires_at: datetime
    server_time: datetime
    cancel_requested: bool = False


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A committed stage. Its result is exact JSON, or named by `result_ref`; digests are in hexadecimal."""

    stage: str
    digest: str
    input_digest: str | None = None
    result_ref: str | None = None
    fence: int | None = None
    job_id: str | None = None
    revision: int | None = None
    committed_at: datetime | None = None
    raw: msgspec.Raw = msgspec.field(name="result", default=NOTHING)

    @property
    def result(self) -> Any:
        """The stage's result; None where only `result_ref` names it."""
        return said_value(self.raw)


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What a settlement resulted in. `run_at` where it is due again; `woke` answers a wait that held already."""

    job_id: str
    state: State
    revision: int
    run_at: datetime | None = None
    raw: msgspec.Raw = msgspec.field(name="woke", default=NOTHING)

    @property
    def woke(self) -> Any:
        """What a wait is answered when its fact held already: the job is still running. None otherwise."""
        return said_value(self.raw)


class Cancelling(msgspec.Struct, frozen=True, kw_only=True):
    """What a request to cancel came to: its worker was asked, it is cancelled, or it had ended."""

    outcome: Literal["requested", "cancelled", "too_late"]
    job_id: str | None = None
    state: State | None = None
    revision: int | None = None


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs a filter matches, and what each came to, if they were steered."""

    count: int = 0
    outcomes: Sequence[Item] = ()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a job, as its history tells it."""

    event_id: str
    type: str
    aggregate_id: str
    aggregate_revision: int
    occurred_at: datetime
    data_ref: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    raw: msgspec.Raw = msgspec.field(name="data", default=NOTHING)

    @property
    def data(self) -> Any:
        """What it tells; None where there is nothing."""
        return said_value(self.raw)


class JobType(msgspec.Struct, frozen=True, kw_only=True):
    """What a job type is held to, and since which revision of it."""

    type: str
    revision: int
    changed_at: datetime
    configuration: Mapping[str, Any]
