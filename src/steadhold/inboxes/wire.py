"""What the doors of inboxes take and give."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from steadhold.inboxes.items import Reference, Revision, Text, Version, VersionText
from steadhold.inboxes.model import Age, Number
from steadhold.kit import limits
from steadhold.kit.rules import Fence, Id, Length
from steadhold.web.reply import Instant


class RetentionBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What an inbox keeps; null means without end."""

    max_age_seconds: Age | None = float(limits.INBOX_AGE_SECONDS_DEFAULT)
    max_events: Number | None = None
    max_bytes: Number | None = None


class InboxBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An inbox."""

    retention: RetentionBody = RetentionBody()


class RetentionReply(msgspec.Struct, kw_only=True, frozen=True):
    """What an inbox keeps."""

    max_age_seconds: float | None
    max_events: int | None
    max_bytes: int | None


class InboxReply(msgspec.Struct, kw_only=True, frozen=True):
    """An inbox as it stands; `bytes` are those of its retained events."""

    name: str
    revision: int
    retention: RetentionReply
    epoch: str
    first_retained: int
    last_sequence: int
    bytes: int
    made_at: Instant


class WrittenReply(msgspec.Struct, kw_only=True, frozen=True):
    """What a write answers."""

    name: str
    revision: int


class EventBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An event; the bytes of `data` are kept as they are. `data_ref` instead names where they lie."""

    type: Text
    schema_version: Version | VersionText = 1
    aggregate_id: Id | None = None
    aggregate_revision: Revision | None = None
    occurred_at: Annotated[str, Meta(max_length=40)] | None = None
    correlation_id: Id | None = None
    causation_id: Text | None = None
    data_ref: Reference | None = None
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class LineBody(EventBody, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A line of a batch: an event under its key."""

    key: Id


class AppendedReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The place of an event."""

    sequence: int
    epoch: str
    event_id: str
    accepted_at: Instant
    duplicate: bool = False


class LineReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a line of a batch came to: the status and code that its own request would have answered."""

    key: str | None
    status: int
    sequence: int | None = None
    epoch: str | None = None
    event_id: str | None = None
    duplicate: bool = False
    code: str | None = None
    detail: str | None = None


class GapItem(msgspec.Struct, kw_only=True, frozen=True, rename={"from_": "from"}):
    """Events that were removed, both ends included."""

    from_: int
    to: int
    reason: str
    at: Instant


class EventItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An event as it is read. Data that is not JSON is `data_base64`, with its `content_type`."""

    sequence: int
    event_id: str
    accepted_at: Instant
    type: str
    schema_version: str = "1"
    aggregate_id: str | None = None
    aggregate_revision: int | None = None
    occurred_at: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    data_ref: str | None = None
    source: Literal["client", "relay", "door"] = "client"
    content_type: str | None = None
    data_base64: str | None = None
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class PageReply(msgspec.Struct, kw_only=True, frozen=True):
    """What follows a position."""

    epoch: str
    events: list[EventItem]
    gaps: list[GapItem]
    next_after: int
    first_retained: int
    last_sequence: int


class PlaceBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A position."""

    epoch: Id
    sequence: Number


class ConsumerBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Where the consumer begins."""

    start: Literal["earliest", "latest"] | PlaceBody = "earliest"


class RangeItem(msgspec.Struct, kw_only=True, frozen=True, rename={"from_": "from"}):
    """Numbers, both ends included."""

    from_: int
    to: int


class ConsumerReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A consumer as it stands; `gaps` were removed before it acknowledged them."""

    inbox: str
    name: str
    revision: int
    epoch: str
    position: int
    lag: int
    gaps: list[RangeItem]
    holder: str | None = None
    expires_at: Instant | None = None


class AcknowledgeBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Everything up to the position is done."""

    epoch: Id
    sequence: Number
    fence: Fence | None = None
    accept_gap_through: Number | None = None


class AcknowledgedReply(msgspec.Struct, kw_only=True, frozen=True):
    """How far the consumer has come."""

    epoch: str
    position: int


class LeaseBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Who wants the consumer alone, for how long."""

    owner: Id
    lease_seconds: Length


class LeaseReply(msgspec.Struct, kw_only=True, frozen=True):
    """The grant."""

    fence: int
    lease_seconds: float
    expires_at: Instant


class RenewBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Under which fence the consumer is held; `lease_seconds` from now, or as long as before."""

    fence: Fence
    lease_seconds: Length | None = None


class FenceBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A fence."""

    fence: Fence
