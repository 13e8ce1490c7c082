"""context over HTTP: how bytes, and refusals of them, are answered."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from email.utils import format_datetime
from typing import Any, assert_never
from urllib.parse import quote

from steadhold import blobs, private
from steadhold.context import model
from steadhold.context.wire import EntryItem, RevisionItem, WrittenReply
from steadhold.kit import fields
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES
from steadhold.kit.plan import Call, Refusal
from steadhold.private import doors as envelopes
from steadhold.web import conditions, problem, ranges, reply
from steadhold.web.ask import Answer, Headers, Problem, Reply, Request, Stream

SANDBOX: Headers = (
    ("Content-Security-Policy", "sandbox; default-src 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Accept-Ranges", "bytes"),
)
"""Whatever the bytes are, a browser that is led to them runs none of them."""


class Gone(Exception):
    """Bytes went while they were sent, so the answer is cut."""


def content(ask: Request, path: str, found: model.Content, revision: int, at: datetime | None) -> Reply:
    """The bytes, or the part of them that is asked for."""
    if conditions.unchanged(ask, revision):
        return reply.not_modified(revision)
    span = ranges.asked(ask, found.bytes, revision)
    first, end = span or (0, found.bytes)
    more = ranges.fields(first, end, found.bytes) if span else ()
    made = Reply(
        206 if span else 200,
        content_type=found.content_type,
        headers=(*described(path, found.digest, at), *more),
        revision=revision,
    )
    if found.pieces is None:
        made.length = end - first
        made.stream = Stream(lambda: pieces(ask.workspace, found.digest, first, end))
    elif span:
        made.body = b"".join(found.pieces)[first:end]
    else:
        made.pieces = found.pieces
    return made


def described(path: str, digest: bytes, at: datetime | None) -> Headers:
    """The headers that describe stored bytes: to be saved under their name, never shown."""
    name = quote(path.rpartition("/")[2], safe="!#$&+-.^_`|~")
    changed = () if at is None else (("Last-Modified", format_datetime(at.replace(microsecond=0), usegmt=True)),)
    return (
        ("Content-Disposition", f"attachment; filename*=UTF-8''{name}"),
        ("Repr-Digest", fields.write_digest(digest)),
        *changed,
        *SANDBOX,
    )


def pieces(workspace: str, digest: bytes, first: int, end: int) -> Generator[bytes | Call[Any], Any, None]:
    """Bytes from `first` to `end` (excluded), a chunk at a time."""
    while first < end:
        upto = min(end, (first // CONTEXT_CHUNK_BYTES + 1) * CONTEXT_CHUNK_BYTES)
        piece = yield blobs.part.call(workspace, digest, first, upto)
        if not isinstance(piece, bytes):
            raise Gone
        yield piece
        first += len(piece)


def written(path: str, outcome: model.Written) -> WrittenReply:
    """What a write answers."""
    named = model.Reference(path, outcome.revision, outcome.digest)
    return WrittenReply(
        path=path,
        revision=outcome.revision,
        bytes=outcome.bytes,
        digest=outcome.digest.hex(),
        reference=str(named),
    )


def refused(outcome: Refusal) -> Problem:
    """Say why something changed nothing."""
    match outcome:
        case model.StorageExhausted():
            return Problem(outcome.code, outcome.detail, outcome.extras, outcome.headers)
        case model.Pruned(oldest):
            extras = {} if oldest is None else {"oldest_revision": oldest}
            return Problem("revision_pruned", "This revision is not kept any more.", extras)
        case model.PathTaken(revision):
            detail = "There is a file at the path that this one is to be moved to; delete it, or choose another."
            return Problem("path_taken", detail, {"current_revision": revision})
        case model.Unresolved(reference, pruned):
            gone = "The bytes of this reference are not kept any more, and nobody relies on them."
            never = "There are no bytes of this reference; a reference names what is there already."
            detail = model.reference_fault(reference) or (gone if pruned else never)
            return Problem("unknown_reference", detail, {"reference": reference})
        case model.UploadLapsed():
            return Problem("upload_lapsed", "Nothing came for so long that the upload was given up; send it again.")
        case model.Missing():
            return absent(outcome)
        case private.PlaintextRefused() | private.EnvelopeMismatch() | private.NotPrivate() | private.RewrapNeeded():
            return envelopes.refused(outcome)
        case model.RevisionConflict() | model.StaleFence():
            return problem.refused(outcome)
        case _:
            raise AssertionError(f"{outcome!r} is no refusal of context")


def absent(outcome: model.Missing) -> Problem:
    """Answer for a path without a file, with its last revision if it ever had one."""
    if outcome.last_revision is None:
        return problem.MISSING
    last = {"last_revision": outcome.last_revision}
    return Problem(problem.MISSING.code, "There is no file at this path; there was one.", last)


def nothing_to_replace(outcome: model.Missing) -> Problem:
    """Answer for a write whose If-Match names a revision where there is no file: its condition is false."""
    last = {} if outcome.last_revision is None else {"last_revision": outcome.last_revision}
    return Problem("condition_false", "There is no file at this path to replace; create it, or leave it.", last)


def stored(ask: Request, path: str, outcome: model.Stored | model.Missing | model.Pruned) -> Answer:
    """The bytes of a path, or why there are none."""
    match outcome:
        case model.Stored():
            return content(ask, path, outcome.content, outcome.revision, outcome.written_at)
        case model.Missing() | model.Pruned():
            return refused(outcome)
        case _:
            assert_never(outcome)


def entry(found: model.Entry) -> EntryItem:
    """A file in a list."""
    return EntryItem(
        path=found.path,
        id=found.id,
        revision=found.revision,
        bytes=found.bytes,
        digest=found.digest.hex(),
        content_type=found.content_type,
        changed_at=reply.instant(found.changed_at),
        reference=str(model.Reference(found.path, found.revision, found.digest)),
    )


def kept(found: model.Revision) -> RevisionItem:
    """A kept revision in a list."""
    return RevisionItem(
        path=found.path,
        revision=found.revision,
        bytes=found.bytes,
        digest=found.digest.hex(),
        content_type=found.content_type,
        written_at=reply.instant(found.written_at),
        deleted=found.deleted,
        reference=None if found.deleted else str(model.Reference(found.path, found.revision, found.digest)),
    )
