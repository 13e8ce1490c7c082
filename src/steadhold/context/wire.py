"""context: the shapes of its requests and replies."""

from __future__ import annotations

import msgspec

from steadhold.web.reply import Instant


class WrittenReply(msgspec.Struct, kw_only=True, frozen=True):
    """What a write answers. `digest` is the SHA-256 of the bytes in hexadecimal, `reference` names exactly them."""

    path: str
    revision: int
    bytes: int
    digest: str
    reference: str


class MovedReply(msgspec.Struct, kw_only=True, frozen=True):
    """What a move answers: the file, which keeps its id, is at a new revision."""

    path: str
    id: str
    revision: int


class EntryItem(msgspec.Struct, kw_only=True, frozen=True):
    """A file in a list."""

    path: str
    id: str
    revision: int
    bytes: int
    digest: str
    content_type: str
    changed_at: Instant
    reference: str


class RevisionItem(msgspec.Struct, kw_only=True, frozen=True):
    """A kept revision in a list, under the path it was written under; a deletion has no bytes and no reference."""

    path: str
    revision: int
    bytes: int
    digest: str
    content_type: str
    written_at: Instant
    deleted: bool
    reference: str | None


class UsageReply(msgspec.Struct, kw_only=True, frozen=True):
    """What files use, as a quota counts it; `reserved` is promised to uploads under way, null is no limit."""

    files: int
    bytes: int
    revisions: int
    reserved: int
    bytes_max: int | None
    names_max: int | None


class MoveBody(
    msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename={"source": "from", "target": "to"}
):
    """From where a file is moved, and to where."""

    source: str
    target: str


class PutBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The bytes of a write in a commit: `text` in UTF-8, bytes in `base64`, or a `reference` to some that are there."""

    text: str | None = None
    base64: str | None = None
    reference: str | None = None
    content_type: str | None = None


class ImportedItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What one entry of an archive came to: the status and code that its own route would have answered."""

    path: str
    status: int
    revision: int | None = None
    code: str | None = None
    detail: str | None = None
    current_revision: int | None = None


class ImportedReply(msgspec.Struct, kw_only=True, frozen=True):
    """An outcome for each entry, in their order. Where `complete` is false, `detail` says why it went no further."""

    complete: bool
    files: list[ImportedItem]
    detail: str | None = None
