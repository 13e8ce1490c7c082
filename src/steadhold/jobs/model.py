"""jobs: the seed's union, the moves that exist, what a worker may say and what a verb can come to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

from steadhold.kit.ids import new_id

State: TypeAlias = Literal["accepted", "running", "waiting", "completed", "failed", "cancelled"]
Class: TypeAlias = Literal["transient", "timeout", "rate_limited", "interrupted", "permanent", "bug"]
Covered: TypeAlias = Literal["complete", "partial", "unknown"]

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

    base_seconds: float = 1.0
    cap_seconds: float = 600.0
    jitter: float = 0.5


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many jobs may run at once: of the whole type (None: any number), and under one concurrency key."""

    type_max: int | None = None
    key_max: int = 1


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a job type is held to. The defaults are revision 0, under which an unregistered type runs."""

    input_schema: bytes | None = None
    lease_seconds: float = 30.0
    attempts_max: int = 10
    timeout_seconds: float | None = None
    retry: Retry = Retry()
    concurrency: Concurrency = Concurrency()
    retention_seconds: float | None = None
    versions: tuple[str, ...] = ()


DEFAULTS: Final = Configuration()


class Submission(msgspec.Struct, frozen=True):
    """A job to be admitted. Its input is exact JSON, or a reference to it.

    Make it once for each job that is meant: its `id` is the job's, so the same submission is the same job.
    """

    type: str
    input: bytes | None = b"null"
    input_ref: str | None = None
    inputs: tuple[str, ...] = ()
    priority: int = 5
    run_at: datetime | None = None
    unique_key: str | None = None
    concurrency_key: str | None = None
    deadline_seconds: float | None = None
    evidence_not_before: datetime | None = None
    tags: tuple[str, ...] = ()
    correlation_id: str | None = None
    trace: str | None = None
    id: str = msgspec.field(default_factory=new_id)


class Coverage(msgspec.Struct, frozen=True):
    """How much of what was asked a result covers."""

    state: Covered
    expected: int | None = None
    covered: int | None = None


class Timer(msgspec.Struct, frozen=True):
    """Waits for a time to pass."""

    seconds: float


class Signal(msgspec.Struct, frozen=True):
    """Waits until somebody signals the job by this name."""

    name: str


class JobEnd(msgspec.Struct, frozen=True):
    """Waits until another job has ended, however."""

    job_id: str


class ApprovalEnd(msgspec.Struct, frozen=True):
    """Waits until an approval has its outcome, which it has when it expires at the latest."""

    approval_id: str


class EffectEnd(msgspec.Struct, frozen=True):
    """Waits until an effect is not open: all of it is decided, and nobody has to look."""

    effect_id: str


class Match(msgspec.Struct, frozen=True, omit_defaults=True):
    """The events that say exactly this of themselves; what is None does not matter."""

    type: str | None = None
    aggregate_id: str | None = None
    correlation_id: str | None = None


class InboxEvent(msgspec.Struct, frozen=True):
    """Waits until an inbox has an event behind a position, one that matches where that is said.

    It ends too where that cannot be told: events in between were removed, another epoch began, the inbox was deleted.
    """

    inbox: str
    epoch: str
    sequence: int
    match: Match | None = None


Awaited: TypeAlias = Timer | Signal | JobEnd | ApprovalEnd | EffectEnd | InboxEvent
BOUNDED: Final = (Timer, ApprovalEnd)
"""What comes to an end by itself, so that a wait for it needs no other."""


class Complete(msgspec.Struct, frozen=True):
    """The computation ended. `evidence_at` is the instant of the oldest evidence used."""

    result: bytes | None = b"null"
    result_ref: str | None = None
    coverage: Coverage | None = None
    evidence_at: datetime | None = None


class Fail(msgspec.Struct, frozen=True):
    """The attempt failed; its class decides whether there is another."""

    error_code: str
    message: str = ""
    klass: Class = "transient"


class ConfirmCancel(msgspec.Struct, frozen=True):
    """The worker stopped, as it was asked."""


class Wait(msgspec.Struct, frozen=True):
    """Hand the job back until a fact holds, or the instant `until` has passed; the answer is committed as `stage`."""

    stage: str
    awaited: Awaited
    until: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse a wait that nothing bounds."""
        if self.until is None and not isinstance(self.awaited, BOUNDED):
            raise ValueError("a wait for a signal, a job or an inbox needs `until`, so that it ends if nothing happens")


class Release(msgspec.Struct, frozen=True):
    """Hand the job back untouched, to be run after some seconds. Costs no attempt."""

    after_seconds: float = 0.0


Said: TypeAlias = Complete | Fail | ConfirmCancel | Wait | Release


class Settlement(msgspec.Struct, frozen=True):
    """What one owner says of one job. `revision`: only if the job still has it."""

    id: str
    fence: int
    said: Said
    revision: int | None = None


def digest(content: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(content).digest()
