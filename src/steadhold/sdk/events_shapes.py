"""events: what is sent, and what the answers say."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from steadhold.kit.exact import JsonValue
from steadhold.sdk.words import UNSET, Unset, members, raw_json, said_value

NOTHING = msgspec.Raw(b"")


class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event to be written down: its data as a value, as the bytes of its JSON (`raw`), or by reference."""

    type: str
    data: Any = UNSET
    raw: bytes | None = None
    data_ref: str | None = None
    schema_version: int | str = 1
    event_id: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None

    def body(self) -> dict[str, Any]:
        """The members that are sent. Raises TypeError and ValueError as `raw_json` does."""
        said: JsonValue | Unset = self.data
        silent = self.raw is None and isinstance(said, Unset)
        return members(
            type=self.type,
            data=None if silent else msgspec.Raw(raw_json(said, self.raw)),
            data_ref=self.data_ref,
            schema_version=None if self.schema_version == 1 else self.schema_version,
            event_id=self.event_id,
            correlation_id=self.correlation_id,
            causation_id=self.causation_id,
        )


class DomainEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event. The order of an aggregate's events is that of `aggregate_revision`; clocks order nothing."""

    event_id: str
    schema_version: str
    aggregate_id: str
    aggregate_revision: int
    occurred_at: datetime
    type: str
    data_ref: str
    correlation_id: str | None = None
    causation_id: str | None = None
    data_base64: str | None = None
    said: msgspec.Raw = msgspec.field(name="data", default=NOTHING)

    @property
    def raw(self) -> bytes:
        """The bytes of its inline data; empty where there are none."""
        return bytes(self.said) if self.data_base64 is None else base64.b64decode(self.data_base64)

    @property
    def data(self) -> Any:
        """The value that its data says; None where that is no JSON."""
        return said_value(self.said)


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """Where an append left the aggregate; `event_ids` in the order in which they were given."""

    aggregate_id: str
    revision: int
    event_ids: list[str]


class Aggregate(msgspec.Struct, frozen=True, kw_only=True):
    """Where an aggregate stands. `owner` is the grant that an append needs."""

    aggregate_id: str
    revision: int
    aggregate_type: str | None = None
    state: str | None = None
    owner: str | None = None


class Causes(msgspec.Struct, frozen=True, kw_only=True):
    """What led to an event, nearest first. Unless `complete` there is more; `pruned`: which is not kept any more."""

    items: list[DomainEvent]
    complete: bool
    pruned: bool


class Edge(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """A change of state that is permitted."""

    before: str
    after: str


class AggregateType(msgspec.Struct, frozen=True, kw_only=True):
    """The states of a type's aggregates, and how they move."""

    aggregate_type: str
    revision: int
    states: list[str]
    edges: list[Edge]


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """Which events go where. `target` is {"inbox": name} or {"sink": name}."""

    subscription_id: str
    revision: int
    types: list[str]
    aggregates: list[str]
    target: Mapping[str, str]
    ordered_by: Literal["aggregate", "none"]
    created_at: datetime
    updated_at: datetime


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """How many events one step of a replay published again."""

    events: int
    next_cursor: str | None = None


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """An event on its way to a subscription's target; `reason` is what the target said last."""

    publication_id: str
    subscription_id: str
    target: Mapping[str, str]
    aggregate_id: str
    aggregate_revision: int
    state: Literal["pending", "blocked", "parked", "published", "skipped"]
    attempts: int
    created_at: datetime
    next_attempt_at: datetime | None = None
    settled_at: datetime | None = None
    reason: str | None = None


class Parked(msgspec.Struct, kw_only=True, frozen=True):
    """How many publications are parked, how many of them are tried again now, and how many are left."""

    count: int
    retried: int
    left: int
