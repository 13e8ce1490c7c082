"""context: the verbs that change a file. One expected revision, one winning writer, and never more than the quota."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steadhold import blobs, fences, private
from steadhold.context.model import (
    OCTETS,
    Body,
    ContentType,
    Missing,
    Moved,
    MoveOutcome,
    Path,
    PathTaken,
    RevisionConflict,
    Upload,
    UploadLapsed,
    WriteOutcome,
    lost,
    owner_of,
    spent,
)
from steadhold.context.writing import GONE, SQL, New, Won, hold, let_go, settle, write
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import CONTEXT_WHOLE_BYTES_MAX, SEALED_BYTES_MAX
from steadhold.kit.paths import bounds
from steadhold.kit.plan import Plan, one, operation, rows, single_operation
from steadhold.kit.sealed import MEDIA_TYPE, Seal, SealReader
from steadhold.private import RewrapNeeded
from steadhold.private.model import NAMES_SHOWN


@dataclass(frozen=True, slots=True)
class _Moved:
    revision: int
    written_at: Any
    id: str
    bytes: int
    digest: bytes
    paths: Sequence[str]
    revisions: Sequence[int]
    digests: Sequence[bytes]


@operation
def put(
    workspace: str,
    path: Path,
    body: Body,
    expected: int | None,
    content_type: ContentType = OCTETS,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[WriteOutcome]:
    """Write bytes if the path holds revision `expected`; None means that there must be no file.

    `fences_held` are grants that must be current until the commit. Outcomes: `Written(revision)`,
    `RevisionConflict(current)`, `Missing(last_revision)`, `StaleFence`, `StorageExhausted`.
    """
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    sealed = private.revision_of(workspace, "context", path, body) if content_type == MEDIA_TYPE else None
    new = New(len(body), blobs.digest_of(body), content_type, sealed)
    outcome = yield from write(workspace, path, expected, new, None)
    if isinstance(outcome, Won):
        yield from blobs.put_known(workspace, owner_of(path, outcome.written.revision), {new.digest: body})
        return (yield from settle(workspace, outcome))
    return outcome


@operation
def put_upload(
    workspace: str,
    path: Path,
    upload: Upload,
    expected: int | None,
    content_type: ContentType = OCTETS,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[WriteOutcome]:
    """Write an upload that is all there, as `put` writes bytes. What was promised to it has been used then."""
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    if not (yield from rows(SQL.hold_upload, workspace=workspace, upload=upload.id)):
        return UploadLapsed()
    new = New(upload.bytes, upload.digest, content_type, upload.sealed)
    outcome = yield from write(workspace, path, expected, new, upload.id)
    if isinstance(outcome, Won):
        yield from blobs.adopt(workspace, owner_of(path, outcome.written.revision), upload.id, upload.digest)
        return (yield from settle(workspace, outcome))
    return outcome


@operation
def delete(workspace: str, path: Path, expected: int, fences_held: Sequence[FenceRef] = ()) -> Plan[WriteOutcome]:
    """Delete the file if it is at revision `expected`. A tombstone keeps the revision, which rises by one."""
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    outcome = yield from write(workspace, path, expected, GONE, None)
    return (yield from settle(workspace, outcome)) if isinstance(outcome, Won) else outcome


@operation
def move(
    workspace: str, source: Path, target: Path, expected: int | None, fences_held: Sequence[FenceRef] = ()
) -> Plan[MoveOutcome]:
    """Move a file, if it is at revision `expected` (None: at any), to a path without one. Its id and history stay."""
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    held = yield from hold(workspace, {source: True, target: True}, make=frozenset({target} - {source}))
    here, there = held[source], held[target]
    refused = lost(expected or here.revision or 0, here.revision, present=here.present)
    if refused is None and there.present:
        refused = PathTaken(there.revision or 0)
    if refused is None and (here.private or there.private):
        refused = RewrapNeeded()
    if refused is not None:
        yield from let_go(workspace, {target: there})
        return refused
    moved = yield from one(SQL.move, _Moved, workspace=workspace, source=source, target=target)
    if moved.digest:
        yield from blobs.pin(workspace, owner_of(target, moved.revision), [moved.digest])
    yield from blobs.unpin_each(workspace, spent((moved.paths, moved.revisions, moved.digests)))
    return Moved(moved.id, moved.revision, moved.written_at)


def readable(workspace: str, prefix: str) -> Plan[list[str]]:
    """The first paths under a prefix of whole segments whose files are no envelopes, whatever type they say."""
    found: list[str] = []
    low, high = bounds(prefix)
    asked = {"prefix": prefix, "low": low, "high": high, "limit": NAMES_SHOWN, "whole": CONTEXT_WHOLE_BYTES_MAX}
    after = ""
    while len(found) < NAMES_SHOWN and (
        page := (yield from rows(SQL.readable, workspace=workspace, after=after, **asked))
    ):
        for path, content_type, digest, size, body in page:
            if content_type != MEDIA_TYPE or not (yield from _sealed(workspace, digest, size, body)):
                found.append(path)
        after = page[-1][0]
    return found[:NAMES_SHOWN]


def _sealed(workspace: str, digest: bytes, size: int, body: bytes | None) -> Plan[bool]:
    if size > SEALED_BYTES_MAX:
        return False
    seal, at = SealReader(), len(body or b"")
    seal.update(body or b"")
    while at < size:
        piece = yield from blobs.part.plan(workspace, digest, at, size)
        if not isinstance(piece, bytes):
            return False
        seal.update(piece)
        at += len(piece)
    return isinstance(seal.end(), Seal)


@operation
def require(workspace: str, path: Path, expected: int | None) -> Plan[RevisionConflict | Missing | None]:
    """Hold a path at a revision, or (None) at holding no file, until the transaction ends."""
    held = (yield from hold(workspace, {path: False}, make=frozenset({path})))[path]
    yield from let_go(workspace, {path: held})
    return lost(expected, held.revision, present=held.present)


@single_operation
def bury(workspace: str, seconds: float, limit: int) -> Plan[int]:
    """Remove tombstones older than `seconds`, at most `limit`, and raise the floor of revisions above them."""
    old = yield from rows(SQL.old_tombstones, workspace=workspace, seconds=seconds, limit=limit)
    if old:
        yield from rows(SQL.raise_floor, workspace=workspace, floor=max(revision for _, revision in old))
        gone = yield from rows(SQL.bury, workspace=workspace, paths=[path for path, _ in old])
        paths, revisions, digests = zip(*gone, strict=True) if gone else ((), (), ())
        yield from blobs.unpin_each(workspace, spent((paths, revisions, digests)))
    return len(old)
