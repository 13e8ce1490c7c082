"""Events, the heads that others wait for, and the waits."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, TypeAlias

import msgspec

from steadhold.kit.ids import id_fault
from steadhold.kit.limits import EVENT_DATA_BYTES_MAX, FENCE_NUMBER_MAX, ID_CHARS_MAX
from steadhold.kit.paths import in_reference
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Rule

KEPT_SECONDS: Final = 3 * 86_400
"""How long an event is kept, unless the server is set otherwise (contracts: retention)."""

OURS: Final = (
    "job:", "approval:", "effect:", "schedule:", "inbox:", "webhook:", "lock:", "subscription:", "key:",
    "entitlements:",
)  # fmt: skip
"""Aggregates whose ids begin so take events from their own room alone."""

REFERENCE_CHARS_MAX: Final = 1_000
"""Of a `data_ref`, at every door and in the library."""

_REVISION: Final = re.compile(r"[1-9][0-9]{0,14}")
_IDS: Final = uuid.UUID("0d1a7c9e-52c4-5a36-9f0e-6a6b3f8f5e11")


class Happened(msgspec.Struct, frozen=True, gc=False):
    """An event to be written down. `data` are exact bytes (at most `event_data_bytes_max`), or `data_ref` names them.

    `event_id` None: it is `<aggregate_id>@<revision>`. `causation_id` is the event that led to it. `trace` is a
    traceparent (W3C), under which its delivery is told of; it is no part of the event.
    """

    type: str
    data: bytes | None = None
    data_ref: str | None = None
    schema_version: int = 1
    correlation_id: str | None = None
    causation_id: str | None = None
    event_id: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it is kept; it never changes. `trace` is read where it is passed on, and shown to nobody."""

    aggregate_id: str
    aggregate_revision: int
    event_id: str
    schema_version: int
    occurred_at: datetime
    type: str
    data_ref: str
    data: bytes | None
    correlation_id: str | None
    causation_id: str | None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Events of an aggregate in the order of their revisions; `cut`: it ends by its bytes, and more follow."""

    events: tuple[Event, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class EventsPruned(Refusal):
    """What was asked for is past its window (410). None: so is everything else."""

    first_retained_revision: int | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Where an aggregate stands. `owner` is the grant that an append needs, or None."""

    aggregate_id: str
    aggregate_type: str | None
    revision: int
    state: str | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class Appended:
    """The aggregate stands at `revision`, that of the last event; `event_ids` in order."""

    revision: int
    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReservedId(Refusal):
    """Only a room of the house appends to an aggregate of this name (422)."""

    aggregate_id: str


@dataclass(frozen=True, slots=True)
class EventTaken(Refusal):
    """Another event has this id (409)."""

    event_id: str


@dataclass(frozen=True, slots=True)
class ReferenceUnknown(Refusal):
    """It refers to what context does not keep, and nobody pins (422)."""

    data_ref: str


@dataclass(frozen=True, slots=True)
class TransitionConflict(Refusal):
    """The aggregate is not in the state that the transition leaves (409)."""

    state: str | None


@dataclass(frozen=True, slots=True)
class TransitionNotPermitted(Refusal):
    """The aggregate's type does not let it go from one state to the other (409). None: it is being made."""

    from_state: str | None
    state: str


@dataclass(frozen=True, slots=True)
class AggregateType:
    """What states aggregates of a type have, and from which to which they may go."""

    aggregate_type: str
    revision: int
    states: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    def permits(self, before: str | None, after: str) -> bool:
        """Whether an aggregate may come to a state; one that is made, or has none yet, may begin in any."""
        return after in self.states and (before is None or before == after or (before, after) in self.edges)


@dataclass(frozen=True, slots=True)
class TypeWritten:
    """The type is so now."""

    aggregate_type: AggregateType
    created: bool


@dataclass(frozen=True, slots=True)
class Causes:
    """What led to an event, nearest first. `more`: it goes on behind the last; `lost`: that is not kept any more."""

    events: tuple[Event, ...]
    more: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """Where a subject stands: its room's revision and state, whether it can still change, and whose it is.

    The fields are the columns of its row.
    """

    subject: str
    revision: int
    state: str
    open: bool
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a job waits for: `subject` (None: only for time), at most `until`. `what` comes back as it was given."""

    job_id: str
    stage: str
    subject: str | None
    until: datetime | None
    what: bytes = b""


@dataclass(frozen=True, slots=True)
class Due:
    """A wait that is over: its subject changed (`happened`), or its time is up. The fields are columns of its row."""

    job_id: str
    stage: str
    happened: bool
    what: bytes


def event_id(aggregate_id: str, revision: int) -> str:
    """Name the event of an aggregate's revision: the same in every process, and no other's in the workspace."""
    name = f"{aggregate_id}@{revision}"
    return name if len(name) <= ID_CHARS_MAX else str(uuid.uuid5(_IDS, name))


def place_of(name: str) -> tuple[str, int] | None:
    """Read the aggregate and the revision out of an event's id; None where it was named otherwise."""
    aggregate_id, _, revision = name.rpartition("@")
    return (aggregate_id, int(revision)) if aggregate_id and _REVISION.fullmatch(revision) else None


def happened_fault(told: Happened) -> str | None:
    """Why an event cannot be so, as a sentence; None where it can. The doors refuse the same."""
    named = (("type", told.type), ("event_id", told.event_id), ("correlation_id", told.correlation_id),
             ("causation_id", told.causation_id))  # fmt: skip
    if wrong := next((f"{name}: {why}" for name, id in named if id is not None and (why := id_fault(id))), None):
        return wrong
    if told.event_id is not None and place_of(told.event_id):
        return "An event_id does not end in @ and a number: so events are named by their revision."
    if told.data is not None and (len(told.data) > EVENT_DATA_BYTES_MAX or told.data_ref is not None):
        return f"An event has at most {EVENT_DATA_BYTES_MAX} bytes of data, or a data_ref."
    if told.data_ref is not None and not (1 <= len(told.data_ref) <= REFERENCE_CHARS_MAX and "\0" not in told.data_ref):
        return f"A data_ref has 1 to {REFERENCE_CHARS_MAX} characters, and no NUL."
    return None if 1 <= told.schema_version < 2**31 else "A schema_version is 1 or more."


Told: TypeAlias = Annotated[Happened, Rule(happened_fault)]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=FENCE_NUMBER_MAX)]
"""A revision, or 0 before the first."""


def event(
    aggregate_id: str,
    revision: int,
    name: str | None,
    schema_version: int,
    occurred_at: datetime,
    kind: str,
    ref: str | None,
    data: bytes | None,
    *causes: str | None,
) -> Event:
    """Make an event of its row, which leaves out what follows from the rest."""
    name = name or event_id(aggregate_id, revision)
    ref = ref or data_ref(name, data or b"")
    return Event(aggregate_id, revision, name, schema_version, occurred_at, kind, ref, data, *causes)


def data_ref(name: str, data: bytes) -> str:
    """Refer to the inline data of an event."""
    return f"event:{name}#sha256:{hashlib.sha256(data).hexdigest()}"


def in_context(reference: str) -> bool:
    """Whether a reference is of bytes in context, well written or not: they are pinned while the event is kept."""
    return reference.startswith("context:")


def path_in_context(reference: str) -> str | None:
    """The path of the file that a reference to context is about, well written or not; None of any other."""
    return in_reference(reference[len("context:") :].partition("@")[0]) if in_context(reference) else None


def is_ours(aggregate_id: str) -> bool:
    """Whether only a room of the house may append to this aggregate."""
    return aggregate_id.startswith(OURS)
