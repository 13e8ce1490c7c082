"""context: files of bytes. Every write names the revision it replaces; edits decide anew while others write first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.sdk.context_large import OCTETS, TAR, LargeFiles
from steadhold.sdk.context_shapes import (
    ContextUsage,
    File,
    FileEntry,
    FileKept,
    FileMoved,
    FileWritten,
    Imported,
    NoFile,
)
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.errors import BadAnswer, Problem
from steadhold.sdk.grammar import Give, Got, Mode, Script, Send, Stream, flow, verb
from steadhold.sdk.watching import each_content
from steadhold.sdk.words import at, change, pages, put_if, read, relying, verified

__all__ = ["ContextRoom", "ContextUsage", "File", "FileEntry", "FileKept", "FileMoved", "FileWritten", "NoFile"]

PIECE_BYTES: Final = 4 * 1024 * 1024
"""How much of a file `pieces` asks for at once."""

TEXT: Final = "text/plain; charset=utf-8"


class ContextRoom(LargeFiles[Mode]):
    """`client.context`."""

    @verb
    def read(self, path: str, *, revision: int | None = None) -> Script[File]:
        """Read a file, or an older `revision` of it, whole.

        Raises:
            NotFound: there is none. RevisionPruned: the revision is not kept any more.
            BadAnswer: the bytes that came are not those that the server sent, or more than `answer_bytes_max`.
        """
        return (yield from _read(path, revision))

    @flow
    def pieces(self, path: str, *, revision: int | None = None, piece_bytes: int = PIECE_BYTES) -> Stream[bytes]:
        """The bytes of one revision of a file, however large, a piece at a time.

        Raises:
            NotFound, RevisionPruned: also where that happens in between. BadAnswer: the pieces are not the whole.
        """
        whole, first, size = hashlib.sha256(), 0, 1
        while first < size:
            headers = {"range": f"bytes={first}-{first + piece_bytes - 1}"}
            try:
                got = yield Send("GET", at("context", path=path, revision=revision), headers)
            except Problem as why:
                if why.code != "range_not_satisfiable":
                    raise
                return  # a file without a byte
            size = _size(got)
            revision, first = got.revision, first + len(got.body)
            whole.update(got.body)
            if got.body:
                yield Give(got.body)
            if first >= size and whole.digest() != _digest(got):
                raise BadAnswer(f"The pieces of {path!r} that arrived are not what the server has.")

    @verb
    def write(
        self,
        path: str,
        body: bytes | str,
        *,
        if_revision: int | None,
        content_type: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[FileWritten]:
        """Replace revision `if_revision`, or create a file where that is None. A text is written as UTF-8.

        Raises:
            RevisionConflict: the path has another revision, or none. StaleFence: a grant in `fences` is not current.
            StorageExhausted, OutcomeUnknown.
        """
        return (yield from _write(path, body, if_revision, content_type, fences, operation_id))

    @verb
    def append(
        self, path: str, body: bytes | str, *, tries_max: int = TRIES_MAX, fences: Sequence[FenceRef] = ()
    ) -> Script[FileWritten]:
        """Put bytes behind those of a file, which is created if there is none.

        Raises:
            RevisionConflict: others wrote first `tries_max` times. StaleFence, StorageExhausted, OutcomeUnknown.
        """
        more = body.encode() if isinstance(body, str) else body
        kind = TEXT if isinstance(body, str) else OCTETS
        return (yield from _edited(path, lambda old: old + more, b"", kind, tries_max, fences))

    @verb
    def edit(
        self,
        path: str,
        fn: Callable[[bytes], bytes],
        *,
        create: bytes | None = None,
        tries_max: int = TRIES_MAX,
        fences: Sequence[FenceRef] = (),
    ) -> Script[FileWritten]:
        """Write what `fn` makes of the bytes, and read and decide again while others write first.

        `fn` may be called several times, so it only computes. An absent file starts from `create`, if that is given.

        Raises:
            NotFound: there is no file, and no `create`. RevisionConflict: others wrote first `tries_max` times.
            StaleFence, StorageExhausted, OutcomeUnknown.
        """
        return (yield from _edited(path, fn, create, OCTETS, tries_max, fences))

    @verb
    def delete(
        self, path: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[int]:
        """Delete revision `if_revision`; the revision that is answered is the deletion's own.

        Raises:
            NotFound: there is no file. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        headers = {"if-match": fields.etag(if_revision)}
        target = at("context", path=path)
        return (yield change("DELETE", target, operation_id=operation_id, fences=fences, headers=headers)).revision

    @verb
    def move(
        self,
        source: str,
        target: str,
        *,
        if_revision: int,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[FileMoved]:
        """Move a file to a path without one; its id and history stay.

        Raises:
            NotFound: there is no file. Problem: there is one at `target` (code `path_taken`).
            RevisionConflict, StaleFence, OutcomeUnknown.
        """
        body, headers = {"from": source, "to": target}, {"if-match": fields.etag(if_revision)}
        got = yield change("POST", at("context:move"), body, operation_id=operation_id, fences=fences, headers=headers)
        return read(got, FileMoved)

    @flow
    def files(self, prefix: str = "") -> Stream[FileEntry]:
        """Every file under a prefix of whole segments, in byte order."""
        yield from pages(lambda cursor: at("context", prefix=prefix or None, cursor=cursor), FileEntry)

    @flow
    def revisions(self, path: str) -> Stream[FileKept]:
        """The revisions of a file that are kept, newest first, also those from before it was moved."""
        yield from pages(lambda cursor: at("context", path=path, view="revisions", cursor=cursor), FileKept)

    @flow
    def watch(self, path: str, *, since: int | None = None) -> Stream[File | NoFile]:
        """What is at the path now, and then each time that it changed, for ever.

        Revisions that follow each other quickly may be passed over; the last one never is.
        """
        yield from each_content("context", path, since, _file, NoFile)

    @verb
    def resolve(self, reference: str) -> Script[bytes]:
        """The bytes of a reference: kept, or kept for whoever relies on them.

        Raises:
            NotFound: there never were such bytes. RevisionPruned: they are not kept any more.
        """
        got = yield Send("GET", at("context:resolve", reference=reference))
        verified(reference, got)
        return got.body

    @verb
    def usage(self) -> Script[ContextUsage]:
        """What files use of the workspace's storage."""
        return read((yield Send("GET", at("context:usage"))), ContextUsage)

    @verb
    def export(self, prefix: str = "") -> Script[bytes]:
        """All files under a prefix as one archive, which any `tar` reads.

        Raises:
            BadAnswer: it has more than `answer_bytes_max`.
        """
        return (yield Send("GET", at("context:export", prefix=prefix or None))).body

    @verb
    def import_files(self, archive: bytes, *, prefix: str = "", fences: Sequence[FenceRef] = ()) -> Script[Imported]:
        """Write the files of an archive, an outcome each. Those outside `prefix` are refused.

        Where a grant in `fences` is not current any more, so is each file from then on (code `stale_fence`).

        Raises:
            OutcomeUnknown.
        """
        target, headers = at("context:import", prefix=prefix or None), {"content-type": TAR, **relying(fences)}
        return read((yield Send("POST", target, headers, archive, identity="own")), Imported)


def _read(path: str, revision: int | None = None) -> Script[File]:
    return _file(path, (yield Send("GET", at("context", path=path, revision=revision))))


def _file(path: str, got: Got) -> File:
    digest = verified(f"The file {path!r}", got)
    return File(path, got.revision, got.headers.get("content-type", OCTETS), digest, got.body)


def _size(got: Got) -> int:
    """How many bytes there are of which these are a part."""
    whole = got.headers.get("content-range", "").rpartition("/")[2]
    return int(whole) if whole.isdecimal() else len(got.body)


def _digest(got: Got) -> bytes | None:
    told = fields.digests(got.headers.get("repr-digest"))
    return told.get("sha-256") if isinstance(told, Mapping) else None


def _write(
    path: str,
    body: bytes | str,
    if_revision: int | None,
    content_type: str | None,
    fences: Sequence[FenceRef],
    operation_id: str | None,
) -> Script[FileWritten]:
    raw = body.encode() if isinstance(body, str) else body
    kind = content_type or (TEXT if isinstance(body, str) else OCTETS)
    headers = {
        **put_if(if_revision),
        "content-type": kind,
        "repr-digest": fields.write_digest(hashlib.sha256(raw).digest()),
    }
    asked = change("PUT", at("context", path=path), operation_id=operation_id, fences=fences, headers=headers)
    got = yield replace(asked, body=raw)
    made = read(got, FileWritten)
    return FileWritten(made.path, made.revision, made.reference, got.replayed)


def _edited(
    path: str,
    fn: Callable[[bytes], bytes],
    create: bytes | None,
    kind: str,
    tries_max: int,
    fences: Sequence[FenceRef],
) -> Script[FileWritten]:
    def decide(found: File | None) -> Script[FileWritten]:
        if found is None:
            return _write(path, fn(create or b""), None, kind, fences, None)
        return _write(path, fn(found.body), found.revision, found.content_type, fences, None)

    return deciding(lambda: _read(path), decide, tries_max, creates=create is not None)
