"""Inboxes: what is accepted, what is read, and how far a consumer has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steadhold.inboxes.items import Envelope
from steadhold.kit.limits import FENCE_NUMBER_MAX, INBOX_AGE_SECONDS_DEFAULT
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Id

MOVES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "held": frozenset({"released", "expired"}),
    "released": frozenset(),
    "expired": frozenset(),
})  # fmt: skip
"""What becomes of a consumer's lease."""

KEPT_SECONDS: Final = 35 * 86_400
"""How long a key is known beyond the age to which its inbox keeps events, unless the server is set otherwise."""


Number: TypeAlias = Annotated[int, Meta(ge=0, le=FENCE_NUMBER_MAX)]
Age: TypeAlias = Annotated[float, Meta(ge=1, le=100 * 366 * 86_400)]


@dataclass(frozen=True, slots=True)
class Retention:
    """What an inbox keeps: events of at most this age, so many, of so many bytes. None: without end."""

    max_age_seconds: Age | None = float(INBOX_AGE_SECONDS_DEFAULT)
    max_events: Number | None = None
    max_bytes: Number | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The inbox, or the consumer, has this revision now."""

    revision: int


class Appended(msgspec.Struct, frozen=True, gc=False):
    """The event has this place. `duplicate`: it had before, and this changed nothing."""

    sequence: int
    epoch: str
    event_id: str
    accepted_at: datetime
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The event is on its way once this transaction commits. `again`: it was before, and this changed nothing."""

    event_id: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class Mismatch(Refusal):
    """The key was used for an event of other content, which stands at `sequence` (422)."""

    key: str
    sequence: int
    epoch: str


@dataclass(frozen=True, slots=True)
class NoInbox(Refusal):
    """There is no inbox of this name (404)."""

    inbox: str


@dataclass(frozen=True, slots=True)
class NoConsumer(Refusal):
    """There is no consumer of this name in the inbox (404)."""

    consumer: str


@dataclass(frozen=True, slots=True)
class KeyPruned(Refusal):
    """The key is older than keys are known: nobody can say whether it was accepted (410)."""

    key: str


class Received(msgspec.Struct, frozen=True, gc=False):
    """An event as it is read. The fields are the columns of its row."""

    sequence: int
    event_id: str
    accepted_at: datetime
    content_type: str | None
    head: bytes
    body: bytes | None

    @property
    def envelope(self) -> Envelope:
        """What the event says of itself."""
        return msgspec.json.decode(b"{%b}" % self.head, type=Envelope)

    @property
    def aggregate_id(self) -> str | None:
        """What it happened to, if that is known."""
        return self.envelope.aggregate_id

    @property
    def aggregate_revision(self) -> int | None:
        """Which revision of that it made."""
        return self.envelope.aggregate_revision


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were removed, both ends included."""

    from_sequence: int
    to_sequence: int
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """What follows a position: first what is gone, then what is there. `next_after` is where the next page begins."""

    epoch: str
    events: tuple[Received, ...]
    gaps: tuple[Gap, ...]
    next_after: int
    first_retained: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Restored(Refusal):
    """The position is of another epoch: since then events may have been lost (409)."""

    epoch: str
    last_sequence: int


@dataclass(frozen=True, slots=True)
class BeyondHead(Refusal):
    """No event has this number yet (422)."""

    last_sequence: int


@dataclass(frozen=True, slots=True)
class GapNotAccepted(Refusal):
    """Events in between were removed before the consumer acknowledged them, and it has not said that it knows (409)."""

    from_sequence: int
    to_sequence: int


@dataclass(frozen=True, slots=True)
class Elsewhere(Refusal):
    """The consumer stands at another position than was required (412)."""

    epoch: str
    position: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """How far the consumer has come. `moved`: this acknowledgement took it there."""

    epoch: str
    position: int
    moved: bool


@dataclass(frozen=True, slots=True)
class Inbox:
    """An inbox as it stands."""

    name: str
    revision: int
    retention: Retention
    epoch: str
    first_retained: int
    last_sequence: int
    bytes: int
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer as it stands. `holder` and `fence` are those of the lease that holds now."""

    inbox: str
    name: str
    revision: int
    epoch: str
    position: int
    first_retained: int
    last_sequence: int
    holder: str | None
    fence: int | None
    until: datetime | None

    @property
    def lag(self) -> int:
        """How many numbers lie ahead of it, removed ones included."""
        return self.last_sequence - self.position

    @property
    def gap(self) -> tuple[int, int] | None:
        """What was removed before it was acknowledged."""
        return (self.position + 1, self.first_retained - 1) if self.first_retained - 1 > self.position else None


@dataclass(frozen=True, slots=True)
class Start:
    """Where a new consumer begins: at the first retained event, behind the last one, or behind a position."""

    at: Literal["earliest", "latest", "position"]
    epoch: Id | None = None
    sequence: Number = 0


@dataclass(frozen=True, slots=True)
class Leased:
    """The consumer is the owner's until `until`, unless renewed. `again`: it was already, under the same key."""

    fence: int
    until: datetime
    lease_seconds: float
    again: bool = False


@dataclass(frozen=True, slots=True)
class ConsumerLeased(Refusal):
    """Another holds the consumer (409)."""

    holder: str
    expires_in_seconds: float


AppendOutcome: TypeAlias = Appended | Mismatch | NoInbox
ReadOutcome: TypeAlias = Page | Restored | BeyondHead | NoInbox


def subject_of(inbox: str, consumer: str) -> str:
    """The subject of a consumer's lease."""
    return f"consumer:{inbox}/{consumer}"
