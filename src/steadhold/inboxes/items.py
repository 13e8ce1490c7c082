"""An event on its way into an inbox: what it says of itself, its data, and what makes it this event."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steadhold.kit import limits
from steadhold.kit.ids import id_fault, whole
from steadhold.kit.rules import Id, Rule, json_fault

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
Reference: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2_000)]
Version: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]
VersionText: TypeAlias = Annotated[str, Meta(pattern=whole("[1-9][0-9]{0,9}"))]
"""The same as events show it."""

_FIRST: Final = "1"
Revision: TypeAlias = Annotated[int, Meta(ge=1, le=limits.FENCE_NUMBER_MAX)]

Source: TypeAlias = Literal["client", "relay", "door"]
"""Who may have sent an event: each has keys of its own."""

_ENCODER: Final = msgspec.json.Encoder()
_VARIANT: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What an event says of itself, besides its data."""

    type: str
    schema_version: str = _FIRST
    aggregate_id: str | None = None
    aggregate_revision: int | None = None
    occurred_at: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    data_ref: str | None = None
    source: str = "client"


def shown(schema_version: int | str) -> str:
    """The version as events show it. The first is one and the same text, or it would not be left out as a default."""
    return _FIRST if schema_version in {1, _FIRST} else str(schema_version)


class Item(msgspec.Struct, frozen=True, gc=False):
    """An event to be appended under a key of its source.

    `head` are the members of its envelope, as JSON without braces; `body` its data, JSON unless there is a
    `content_type`; None where the envelope has a reference. `event_id` None: it follows from the rest (`event_id`).
    """

    key: str
    head: bytes
    body: bytes | None
    content_type: str | None = None
    source: Source = "client"
    event_id: str | None = None

    @property
    def digest(self) -> bytes:
        """What makes the content this content and no other."""
        kind = b"" if self.content_type is None else self.content_type.encode()
        there, body = (b"-", b"") if self.body is None else (b"+", self.body)
        lengths = b"%d %d" % (len(self.head), len(kind))
        return hashlib.sha256(b"%b %b%b%b%b" % (lengths, self.head, kind, there, body)).digest()

    @property
    def known_as(self) -> str:
        """The key, with its source: a client cannot take a relay's or a door's."""
        return f"{self.source}:{self.key}"


def item(
    key: str, envelope: Envelope, body: bytes | None, content_type: str | None = None, event_id: str | None = None
) -> Item:
    """An event to be appended, of what it says of itself and its data."""
    source: Source = "client" if envelope.source not in ("relay", "door") else envelope.source
    return Item(key, _ENCODER.encode(envelope)[1:-1], body, content_type, source, event_id)


def event_id(workspace: str, inbox: str, item: Item, digest: bytes) -> str:
    """The id of an event that came without one, a UUID of version 8.

    The same event under the same key has it again, also where a restored inbox had lost it; another event has another,
    also where an inbox was made anew, or a key was forgotten. At a door the key alone says which event it is.
    """
    said = b"" if item.source == "door" else digest
    made = hashlib.sha256(
        b"%b/%b/%b/%b" % (workspace.encode(), inbox.encode(), item.known_as.encode(), said)
    ).hexdigest()
    return f"{made[:8]}-{made[8:12]}-8{made[13:16]}-{_VARIANT[made[16]]}{made[17:20]}-{made[20:32]}"


class _Bounded(Envelope, frozen=True, kw_only=True, gc=False):
    """What an envelope may say."""

    type: Text
    schema_version: VersionText = "1"
    aggregate_id: Id | None = None
    aggregate_revision: Revision | None = None
    correlation_id: Id | None = None
    causation_id: Text | None = None
    data_ref: Reference | None = None


def item_fault(item: Item) -> str | None:
    """Why this can be no event of an inbox, as a sentence."""
    if item.source != "door" and (wrong := id_fault(item.key)):
        return f"key: {wrong}"
    try:
        envelope = msgspec.json.decode(b"{%b}" % item.head, type=_Bounded)
    except msgspec.DecodeError as error:
        return f"head: {error}."
    if (item.body is None) != (envelope.data_ref is not None):
        return "There is data or a data_ref, and not both."
    return None if item.body is None else _body_fault(item.body, item.content_type)


def _body_fault(body: bytes, kind: str | None) -> str | None:
    most = limits.INBOX_EVENT_BYTES_MAX
    if kind is None:
        wrong = json_fault(most, body)
        return wrong and f"body: {wrong}"
    return f"body: At most {most} bytes; these are {len(body)}." if len(body) > most else None


Sent: TypeAlias = Annotated[Item, Rule(item_fault)]
"""An event that an inbox takes."""
