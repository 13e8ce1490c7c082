"""What the verbs of inboxes answer."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.sdk.words import NOTHING, said_value


class Keeps(msgspec.Struct, kw_only=True, frozen=True):
    """What an inbox keeps; None is without end."""

    max_age_seconds: float | None = None
    max_events: int | None = None
    max_bytes: int | None = None


class InboxState(msgspec.Struct, kw_only=True, frozen=True):
    """An inbox as it stands."""

    name: str
    revision: int
    retention: Keeps
    epoch: str
    first_retained: int
    last_sequence: int
    bytes: int
    made_at: datetime


class Made(msgspec.Struct, kw_only=True, frozen=True):
    """The revision that a write made."""

    name: str
    revision: int


class Appended(msgspec.Struct, kw_only=True, frozen=True):
    """The place of an event. `duplicate`: it had it before."""

    sequence: int
    epoch: str
    event_id: str
    accepted_at: datetime | None = None
    duplicate: bool = False


class New(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event to be appended; `data` are bytes of JSON, and the key is made where none is given."""

    type: str
    data: msgspec.Raw = NOTHING
    key: str = msgspec.field(default_factory=new_id)
    schema_version: int | str = 1
    aggregate_id: str | None = None
    aggregate_revision: int | None = None
    occurred_at: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    data_ref: str | None = None


class Line(msgspec.Struct, kw_only=True, frozen=True):
    """What one event of many came to: a place, or the status and code of a refusal."""

    key: str | None
    status: int
    sequence: int | None = None
    epoch: str | None = None
    event_id: str | None = None
    duplicate: bool = False
    code: str | None = None
    detail: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the event has a place."""
        return self.sequence is not None


class Event(msgspec.Struct, kw_only=True, frozen=True):
    """An event of an inbox."""

    sequence: int
    event_id: str
    accepted_at: datetime
    type: str
    schema_version: str = "1"
    aggregate_id: str | None = None
    aggregate_revision: int | None = None
    occurred_at: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    data_ref: str | None = None
    source: str = "client"
    content_type: str | None = None
    data_base64: str | None = None
    data: msgspec.Raw = NOTHING

    @property
    def raw(self) -> bytes:
        """The data as it was sent: JSON unless there is a `content_type`; empty where there is a reference instead."""
        return bytes(self.data) if self.data_base64 is None else base64.b64decode(self.data_base64)

    @property
    def value(self) -> Any:
        """What the data says as JSON, or None without any.

        Raises:
            ValueError: an exponent is beyond what a Decimal holds; read `raw`.
        """
        kind = "application/json" if self.content_type is None else self.content_type.partition(";")[0]
        return said_value(msgspec.Raw(self.raw) if kind == "application/json" else NOTHING)

    @property
    def lined(self) -> Event:
        """The same, to be written on one line: JSON that was sent on several is `data_base64` then."""
        data = bytes(self.data)
        if b"\n" not in data and b"\r" not in data:
            return self
        encoded = base64.b64encode(data).decode()
        return msgspec.structs.replace(self, data=NOTHING, data_base64=encoded, content_type="application/json")


class Gap(msgspec.Struct, kw_only=True, frozen=True, rename={"from_sequence": "from", "to_sequence": "to"}):
    """Events that were removed, both ends included."""

    from_sequence: int
    to_sequence: int
    reason: str
    at: datetime


class Page(msgspec.Struct, kw_only=True, frozen=True):
    """What follows a position: first what is gone, then what is there."""

    epoch: str
    events: list[Event]
    gaps: list[Gap]
    next_after: int
    first_retained: int
    last_sequence: int


class Range(msgspec.Struct, kw_only=True, frozen=True, rename={"from_sequence": "from", "to_sequence": "to"}):
    """Numbers, both ends included."""

    from_sequence: int
    to_sequence: int


class ConsumerState(msgspec.Struct, kw_only=True, frozen=True):
    """A consumer as it stands; `gaps` were removed before it acknowledged them."""

    inbox: str
    name: str
    revision: int
    epoch: str
    position: int
    lag: int
    gaps: list[Range]
    holder: str | None = None
    expires_at: datetime | None = None


class Position(msgspec.Struct, kw_only=True, frozen=True):
    """How far a consumer has come."""

    epoch: str
    position: int


class Lease(msgspec.Struct, kw_only=True, frozen=True):
    """A consumer that is held alone."""

    fence: int
    lease_seconds: float
    expires_at: datetime
    subject: str = ""

    @property
    def grant(self) -> FenceRef:
        """What writes rely on: `fences=[lease.grant]`."""
        return FenceRef(self.subject, self.fence)
