"""state: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Literal

import msgspec

from steadhold.web.reply import Instant


class WrittenReply(msgspec.Struct, kw_only=True, frozen=True):
    """What a write answers."""

    name: str
    revision: int


class EntryItem(msgspec.Struct, kw_only=True, frozen=True):
    """A name in a list. `bytes` counts its stored bytes, `digest` is their SHA-256 in hexadecimal."""

    name: str
    revision: int
    bytes: int
    digest: str
    changed_at: Instant


class RevisionItem(msgspec.Struct, kw_only=True, frozen=True):
    """A kept revision in a list; `deleted` says that it is the deletion of the name."""

    revision: int
    bytes: int
    digest: str
    written_at: Instant
    deleted: bool


class GetItem(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="get"):
    """One reading of a batch."""

    name: str


class PutItem(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="put"):
    """One write of a batch, with exactly one condition; `value` is stored byte for byte, `sealed` is an envelope."""

    name: str
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    sealed: str | None = None
    if_match: int | None = None
    if_none_match: Literal["*"] | None = None


class DeleteItem(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="delete"):
    """One deletion of a batch."""

    name: str
    if_match: int


class BatchBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Up to `batch_items_max` items; writes are made before readings."""

    items: list[GetItem | PutItem | DeleteItem]


class Outcome(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What one item came to: the status and code that its own route would have answered."""

    name: str
    status: int
    revision: int | None = None
    code: str | None = None
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    sealed: str | None = None
    current_revision: int | None = None
    last_revision: int | None = None
    next_revision: int | None = None


class BatchReply(msgspec.Struct, kw_only=True, frozen=True):
    """An outcome for each item, in the order asked."""

    outcomes: list[Outcome]
