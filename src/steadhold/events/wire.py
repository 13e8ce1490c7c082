"""What the doors of events take and give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from steadhold.events.flow import State
from steadhold.events.model import REFERENCE_CHARS_MAX
from steadhold.kit import limits
from steadhold.kit.ids import ID_PATTERN, NO_NUL, UUID_PATTERN, whole
from steadhold.web.reply import Instant

Id: TypeAlias = Annotated[str, Meta(pattern=whole(ID_PATTERN))]
Uuid: TypeAlias = Annotated[str, Meta(pattern=whole(UUID_PATTERN))]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=REFERENCE_CHARS_MAX, pattern=NO_NUL)]
Version: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)] | Annotated[str, Meta(pattern=whole("[1-9][0-9]{0,8}"))]
"""A number; a DomainEvent shows it as text, which is taken as well."""

Glob: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX, pattern=NO_NUL)]


Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken: unknown members are refused."""


class Given(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What is given out: members that say nothing are left out."""


class EventBody(Taken, kw_only=True, frozen=True):
    """An event to be written down; `data` is kept byte for byte, or `data_ref` names it."""

    type: Id
    schema_version: Version = 1
    data: Raw | UnsetType = UNSET
    data_ref: Text | None = None
    event_id: Id | None = None
    correlation_id: Id | None = None
    causation_id: Id | None = None


class TransitionBody(Taken, kw_only=True, frozen=True, rename={"before": "from", "after": "to"}):
    """From which state to which."""

    before: Id
    after: Id


class AppendBody(Taken, kw_only=True, frozen=True):
    """What happened to an aggregate, and the state it comes to. Type and owner are said when it is made."""

    events: Annotated[list[EventBody], Meta(min_length=1, max_length=limits.EVENTS_MAX)]
    state: Id | None = None
    transition: TransitionBody | None = None
    aggregate_type: Id | None = None
    owner: Literal["none", "lock", "job"] | None = None
    job_id: Uuid | None = None


class AppendReply(msgspec.Struct, kw_only=True, frozen=True):
    """Where an append left the aggregate."""

    aggregate_id: str
    revision: int
    event_ids: list[str]


class AggregateReply(Given, kw_only=True, frozen=True):
    """Where an aggregate stands; `owner` is the grant that an append needs."""

    aggregate_id: str
    revision: int
    aggregate_type: str | None = None
    state: str | None = None
    owner: str | None = None


class DomainEvent(Given, kw_only=True, frozen=True):
    """An event. `data` is exact JSON; other bytes are in `data_base64`."""

    event_id: str
    schema_version: str
    aggregate_id: str
    aggregate_revision: int
    occurred_at: Instant
    type: str
    data_ref: str
    data: Raw | UnsetType = UNSET
    data_base64: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None


class CausesReply(msgspec.Struct, kw_only=True, frozen=True):
    """What led to an event, nearest first; `complete`: the last of them has no cause that it names."""

    items: list[DomainEvent]
    complete: bool
    pruned: bool


class EdgeBody(Taken, kw_only=True, frozen=True, rename={"before": "from", "after": "to"}):
    """A change of state that is permitted."""

    before: Id
    after: Id


class TypeBody(Taken, kw_only=True, frozen=True):
    """The states of a type's aggregates, and how they move."""

    states: Annotated[list[Id], Meta(min_length=1, max_length=limits.TRANSITIONS_MAX)]
    edges: Annotated[list[EdgeBody], Meta(max_length=limits.TRANSITIONS_MAX)]


class EdgeReply(msgspec.Struct, kw_only=True, frozen=True, rename={"before": "from", "after": "to"}):
    """A change of state that is permitted."""

    before: str
    after: str


class TypeReply(msgspec.Struct, kw_only=True, frozen=True):
    """What aggregates of a type may do."""

    aggregate_type: str
    revision: int
    states: list[str]
    edges: list[EdgeReply]


class TargetBody(Taken, kw_only=True, frozen=True):
    """Where events go: one of the two."""

    inbox: Id | None = None
    sink: Id | None = None


class SubscriptionBody(Taken, kw_only=True, frozen=True):
    """Which events go where. `types` and `aggregates` are globs: `*` stands for any characters."""

    types: Annotated[list[Glob], Meta(min_length=1, max_length=limits.SUBSCRIPTION_GLOBS_MAX)]
    target: TargetBody
    aggregates: Annotated[list[Glob], Meta(max_length=limits.SUBSCRIPTION_GLOBS_MAX)] = []
    ordered_by: Literal["aggregate", "none"] = "aggregate"


class SubscriptionReply(msgspec.Struct, kw_only=True, frozen=True):
    """A subscription."""

    subscription_id: str
    revision: int
    types: list[str]
    aggregates: list[str]
    target: dict[str, str]
    ordered_by: Literal["aggregate", "none"]
    created_at: Instant
    updated_at: Instant


class PublicationReply(Given, kw_only=True, frozen=True):
    """An event on its way to a subscription's target."""

    publication_id: str
    subscription_id: str
    target: dict[str, str]
    aggregate_id: str
    aggregate_revision: int
    state: State
    attempts: int
    created_at: Instant
    next_attempt_at: Instant | None = None
    settled_at: Instant | None = None
    reason: str | None = None


class ReplayBody(Taken, kw_only=True, frozen=True, rename={"first": "from", "until": "to"}):
    """The span of time in which what is published again happened; `cursor` goes on where an answer ended."""

    first: Moment
    until: Moment
    cursor: str | None = None


class ReplayReply(Given, kw_only=True, frozen=True):
    """How many events are published again; with a `next_cursor` there is more."""

    events: int
    next_cursor: str | None = None


class RetryParkedBody(Taken, kw_only=True, frozen=True):
    """Without `expect_count` what is parked is only counted: of one subscription, or all."""

    subscription_id: Id | None = None
    expect_count: Annotated[int, Meta(ge=0)] | None = None


class RetryParkedReply(Given, kw_only=True, frozen=True):
    """How many were parked, how many of them are tried again now, and how many are left."""

    count: int
    retried: int
    left: int
