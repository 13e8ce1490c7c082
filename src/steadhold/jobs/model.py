"""jobs: the seed's union, the moves that exist, what a worker may say and what a verb can come to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.kit.rules import Comment, Delay, Fence, Id, Length, Moment, Reference, Rule, Seconds, Uuid, json_of

State: TypeAlias = Literal["accepted", "running", "waiting", "completed", "failed", "cancelled"]
Class: TypeAlias = Literal["transient", "timeout", "rate_limited", "interrupted", "permanent", "bug"]
Covered: TypeAlias = Literal["complete", "partial", "unknown"]

Priority: TypeAlias = Annotated[int, Meta(ge=0, le=limits.PRIORITY_MAX)]
Several: TypeAlias = Annotated[int, Meta(ge=1, le=limits.JOBS_AT_ONCE_MAX)]
Attempts: TypeAlias = Annotated[int, Meta(ge=1, le=limits.ATTEMPTS_MAX)]
Runtime: TypeAlias = Annotated[float, Meta(gt=0, le=limits.RUN_SECONDS_MAX)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=limits.FENCE_NUMBER_MAX)]
Tags: TypeAlias = Annotated[tuple[Id, ...], Meta(max_length=limits.JOB_TAGS_MAX)]
Inputs: TypeAlias = Annotated[tuple[Reference, ...], Meta(max_length=limits.JOB_INPUTS_MAX)]
Kind: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
Input: TypeAlias = Annotated[bytes, json_of(limits.JOB_INPUT_BYTES_MAX)]
Result: TypeAlias = Annotated[bytes, json_of(limits.JOB_RESULT_BYTES_MAX)]

STATES: Final[tuple[State, ...]] = ("accepted", "running", "waiting", "completed", "failed", "cancelled")
ACCEPTED, RUNNING, WAITING, COMPLETED, FAILED, CANCELLED = range(6)
LIVE: Final = (ACCEPTED, RUNNING, WAITING)

MOVES: Final[Mapping[tuple[State, State], tuple[str, ...]]] = MappingProxyType(
    {
        ("accepted", "running"): ("claim",),
        ("accepted", "cancelled"): ("cancel",),
        ("accepted", "failed"): ("deadline",),
        ("running", "accepted"): ("release", "snooze", "retry", "lapse"),
        ("running", "waiting"): ("wait",),
        ("running", "completed"): ("complete",),
        ("running", "failed"): ("error", "deadline", "poison"),
        ("running", "cancelled"): ("confirm", "release", "lapse", "retry"),
        ("waiting", "accepted"): ("woken", "timed_out"),
        ("waiting", "cancelled"): ("cancel",),
        ("waiting", "failed"): ("deadline",),
    }
)
"""Every move there is, with what causes it. Terminal states are left by none."""


class Accepted(msgspec.Struct, frozen=True, tag="accepted", tag_field="state"):
    """It is stored, and waits for a worker."""

    job_id: str


class Running(msgspec.Struct, frozen=True, tag="running", tag_field="state"):
    """A worker holds its current fence."""

    job_id: str


class Waiting(msgspec.Struct, frozen=True, tag="waiting", tag_field="state"):
    """It waits for a named fact, without lease or slot."""

    job_id: str


class Completed(msgspec.Struct, frozen=True, tag="completed", tag_field="state"):
    """Its computation ended; `result_ref` names what came of it."""

    job_id: str
    result_ref: str


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="state"):
    """It ended without a result."""

    job_id: str
    error_code: str


class Cancelled(msgspec.Struct, frozen=True, tag="cancelled", tag_field="state"):
    """It ended because somebody asked."""

    job_id: str


Job: TypeAlias = Accepted | Running | Waiting | Completed | Failed | Cancelled


@dataclass(frozen=True, slots=True)
class Retry:
    """How failures are spaced: `base_seconds` doubles with each attempt up to `cap_seconds`; `jitter` (0 to 1)
    is the share of it that chance may take away.
    """

    base_seconds: Seconds = 1.0
    cap_seconds: Seconds = 600.0
    jitter: Share = 0.5


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many jobs may run at once: of the whole type (None: any number), and under one concurrency key."""

    type_max: Several | None = None
    key_max: Several = 1


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a job type is held to. The defaults are revision 0, under which an unregistered type runs."""

    input_schema: bytes | None = None
    lease_seconds: Length = 30.0
    attempts_max: Attempts = 10
    timeout_seconds: Runtime | None = None
    retry: Retry = Retry()
    concurrency: Concurrency = Concurrency()
    retention_seconds: Seconds | None = None
    versions: Tags = ()


DEFAULTS: Final = Configuration()


class Submission(msgspec.Struct, frozen=True):
    """A job to be admitted. Its input is exact JSON, or a reference to it.

    Make it once for each job that is meant: its `id` is the job's, so the same submission is the same job.
    """

    type: Id
    input: Input | None = b"null"
    input_ref: Reference | None = None
    inputs: Inputs = ()
    priority: Priority = 5
    run_at: Moment | None = None
    unique_key: Id | None = None
    concurrency_key: Id | None = None
    deadline_seconds: Seconds | None = None
    evidence_not_before: Moment | None = None
    tags: Tags = ()
    correlation_id: Id | None = None
    trace: Id | None = None
    id: Uuid = msgspec.field(default_factory=new_id)


OURS: Final = "schedule:"
"""Concurrency keys that begin so are of schedules."""


def submission_fault(job: Submission) -> str | None:
    """Why a job cannot be so, as a sentence, where each of its members can."""
    if job.input_ref is not None and job.input not in (None, b"null"):
        return "There is input or an input_ref, and not both."
    if job.concurrency_key is not None and job.concurrency_key.startswith(OURS):
        return f"concurrency_key: Those that begin with {OURS} belong to schedules."
    return None


Submittable: TypeAlias = Annotated[Submission, Rule(submission_fault)]
"""A job that can be submitted."""


class Coverage(msgspec.Struct, frozen=True):
    """How much of what was asked a result covers."""

    state: Covered
    expected: Count | None = None
    covered: Count | None = None


class Timer(msgspec.Struct, frozen=True):
    """Waits for a time to pass."""

    seconds: Delay


class Signal(msgspec.Struct, frozen=True):
    """Waits until somebody signals the job by this name."""

    name: Id


class JobEnd(msgspec.Struct, frozen=True):
    """Waits until another job has ended, however."""

    job_id: Uuid


class ApprovalEnd(msgspec.Struct, frozen=True):
    """Waits until an approval has its outcome, which it has when it expires at the latest."""

    approval_id: Uuid


class EffectEnd(msgspec.Struct, frozen=True):
    """Waits until an effect is not open: all of it is decided, and nobody has to look."""

    effect_id: Id


class Match(msgspec.Struct, frozen=True, omit_defaults=True):
    """The events that say exactly this of themselves; what is None does not matter."""

    type: Kind | None = None
    aggregate_id: Id | None = None
    correlation_id: Id | None = None


class InboxEvent(msgspec.Struct, frozen=True):
    """Waits until an inbox has an event behind a position, one that matches where that is said.

    It ends too where that cannot be told: events in between were removed, another epoch began, the inbox was deleted.
    """

    inbox: Id
    epoch: Id
    sequence: Count
    match: Match | None = None


Awaited: TypeAlias = Timer | Signal | JobEnd | ApprovalEnd | EffectEnd | InboxEvent
BOUNDED: Final = (Timer, ApprovalEnd)
"""What comes to an end by itself, so that a wait for it needs no other."""


class Complete(msgspec.Struct, frozen=True):
    """The computation ended. `evidence_at` is the instant of the oldest evidence used."""

    result: Result | None = b"null"
    result_ref: Reference | None = None
    coverage: Coverage | None = None
    evidence_at: Moment | None = None


class Fail(msgspec.Struct, frozen=True):
    """The attempt failed; its class decides whether there is another."""

    error_code: Id
    message: Comment = ""
    klass: Class = "transient"


class ConfirmCancel(msgspec.Struct, frozen=True):
    """The worker stopped, as it was asked."""


class Wait(msgspec.Struct, frozen=True):
    """Hand the job back until a fact holds, or the instant `until` has passed; the answer is committed as `stage`."""

    stage: Id
    awaited: Awaited
    until: Moment | None = None

    def __post_init__(self) -> None:
        """Refuse a wait that nothing bounds."""
        if self.until is None and not isinstance(self.awaited, BOUNDED):
            raise ValueError("a wait for a signal, a job or an inbox needs `until`, so that it ends if nothing happens")


class Release(msgspec.Struct, frozen=True):
    """Hand the job back untouched, to be run after some seconds. Costs no attempt."""

    after_seconds: Delay = 0.0


def result_fault(said: Complete) -> str | None:
    """Why nothing can have come of it so, as a sentence, where each of its members can."""
    both = said.result_ref is not None and said.result not in (None, b"null")
    return "There is result or a result_ref, and not both." if both else None


Said: TypeAlias = Annotated[Complete, Rule(result_fault)] | Fail | ConfirmCancel | Wait | Release


class Settlement(msgspec.Struct, frozen=True):
    """What one owner says of one job. `revision`: only if the job still has it."""

    id: Uuid
    fence: Fence
    said: Said
    revision: Count | None = None


def digest(content: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(content).digest()
