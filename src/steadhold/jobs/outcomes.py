"""What the verbs of jobs can come to. A `Refusal` has changed nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec

from steadhold.access import NotEntitled, QueueFull
from steadhold.jobs.model import State
from steadhold.kit.limits import PROGRESS_BYTES_MAX
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Fence, Uuid, json_of

Progress: TypeAlias = Annotated[bytes, json_of(PROGRESS_BYTES_MAX)]


class Submitted(msgspec.Struct, frozen=True):
    """Admitted now: 202."""

    id: str
    revision: int
    configuration_revision: int
    run_at: datetime


class Existing(msgspec.Struct, frozen=True):
    """A live job holds the `unique_key`, with the same type and input: it is the one that was meant."""

    id: str
    revision: int
    state: State


@dataclass(frozen=True, slots=True)
class KeyConflict(Refusal):
    """A live job holds the `unique_key`, and was given something else."""

    id: str


@dataclass(frozen=True, slots=True)
class InvalidInput(Refusal):
    """The input does not fit the type's schema: JSON pointers with what is wrong there."""

    faults: tuple[tuple[str, str], ...]


class Settled(msgspec.Struct, frozen=True, gc=False):
    """What resulted. `run_at` where the job is due again; `woke` is the checkpoint that answered a wait at once."""

    id: str
    state: State
    revision: int
    run_at: datetime | None = None
    woke: bytes | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class JobEnded(Refusal):
    """It has ended already, otherwise."""

    id: str
    state: State


@dataclass(frozen=True, slots=True)
class CancelStands(Refusal):
    """Somebody asked to cancel this job: it may not begin to wait."""

    id: str


@dataclass(frozen=True, slots=True)
class CancelNotRequested(Refusal):
    """There is no request to confirm."""

    id: str


@dataclass(frozen=True, slots=True)
class EvidenceRequired(Refusal):
    """The job says how old its evidence may be, and the worker did not say how old it is."""

    not_before: datetime


@dataclass(frozen=True, slots=True)
class StaleEvidence(Refusal):
    """The oldest evidence used is older than the job allows."""

    not_before: datetime


@dataclass(frozen=True, slots=True)
class NothingToAwait(Refusal):
    """What was to be waited for does not exist."""

    subject: str


@dataclass(frozen=True, slots=True)
class StagesFull(Refusal):
    """The job has as many checkpoints as one may have."""

    id: str


@dataclass(frozen=True, slots=True)
class CheckpointConflict(Refusal):
    """The stage is committed with other content, under this digest."""

    stage: str
    digest: bytes


class Checkpoint(msgspec.Struct, frozen=True):
    """A committed stage. `result` is None where only `result_ref` names it."""

    stage: str
    digest: bytes
    input_digest: bytes | None
    result: bytes | None
    result_ref: str
    fence: int
    job_id: str
    committed_at: datetime


class Checkpointed(msgspec.Struct, frozen=True):
    """The stage is committed; `again`: it was before, with the same content."""

    stage: str
    digest: bytes
    result_ref: str
    revision: int
    again: bool = False


class Beat(msgspec.Struct, frozen=True):
    """One owner's heartbeat. `progress` is exact JSON."""

    id: Uuid
    fence: Fence
    progress: Progress | None = None


class Beaten(msgspec.Struct, frozen=True):
    """The lease runs until `lease_expires_at`, on the database's clock, which said `server_time`."""

    id: str
    lease_expires_at: datetime
    server_time: datetime
    cancel_requested: bool


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A job that is the claimer's until `lease_expires_at`, `lease_seconds` from when it was granted.

    `configuration` is its pinned one, None being revision 0; `stages` are the committed ones with their digests,
    in the order they were committed.
    """

    id: str
    fence: int
    lease_seconds: float
    lease_expires_at: datetime
    revision: int
    root_job_id: str
    type: str
    configuration_revision: int
    attempt: int
    priority: int
    stage_count: int
    input: bytes | None
    input_ref: str | None
    input_digest: bytes
    inputs: bytes | None
    run_at: datetime
    deadline_at: datetime | None
    timeout_at: datetime | None
    evidence_not_before: datetime | None
    correlation_id: str | None
    trace: str | None
    configuration: bytes | None = None
    stages: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Cancelling:
    """Where a request to cancel stands: noted, done, or come too late. `state` is the job's."""

    id: str
    outcome: Literal["requested", "cancelled", "too_late"]
    state: State
    revision: int


@dataclass(frozen=True, slots=True)
class Retried:
    """A new job with what the old one was given; its stages are those of all jobs of its root."""

    id: str
    retry_of: str
    root_job_id: str
    revision: int
    configuration_revision: int
    run_at: datetime


@dataclass(frozen=True, slots=True)
class JobNotEnded(Refusal):
    """Only a job that has ended can be retried."""

    id: str
    state: State


@dataclass(frozen=True, slots=True)
class Signalled:
    """The signal is kept until the job takes it."""

    id: str
    revision: int


@dataclass(frozen=True, slots=True)
class SignalsFull(Refusal):
    """The job keeps as many signals as it may, none of which it has taken."""

    id: str
    kept: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many jobs a filter means now. Nothing was done."""

    count: int


@dataclass(frozen=True, slots=True)
class CountChanged(Refusal):
    """The filter means another number of jobs than was expected."""

    count: int


@dataclass(frozen=True, slots=True)
class TooMany(Refusal):
    """The filter means more jobs than one verb takes."""

    allowed: int


NotReadmitted: TypeAlias = KeyConflict | NotEntitled | QueueFull


@dataclass(frozen=True, slots=True)
class Steered:
    """What became of each job that was meant."""

    outcomes: tuple[Cancelling | Retried | NotReadmitted, ...]
