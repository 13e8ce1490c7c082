"""Files and archives that are too large to be held: they are sent and taken a piece at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.sdk.context_shapes import FileWritten, Imported
from steadhold.sdk.errors import BadAnswer, Unreachable
from steadhold.sdk.grammar import Give, Lost, Mode, More, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import at, change, put_if, read, relying

SENT_BYTES: Final = 256 * 1024
OCTETS: Final = "application/octet-stream"
TAR: Final = "application/x-tar"

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO"
"""A path, or a file that is open for reading bytes and can be read from its beginning again."""


class LargeFiles(Room[Mode]):
    """The verbs of `client.context` that hold no file whole."""

    @verb
    def upload(
        self,
        path: str,
        source: Source,
        *,
        if_revision: int | None,
        content_type: str = OCTETS,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[FileWritten]:
        """Write what is in a file of this machine, as `write` does. It is read twice: for its digest, and to be sent.

        Raises:
            BadAnswer: the file changed meanwhile, and what was sent was refused. RevisionConflict, StaleFence,
                StorageExhausted, OutcomeUnknown. OSError: it cannot be read.
        """
        pieces, digest, size = _measured(source)
        headers = {
            **put_if(if_revision),
            "content-type": content_type,
            "content-length": str(size),
            "repr-digest": fields.write_digest(digest),
        }
        asked = change("PUT", at("context", path=path), operation_id=operation_id, fences=fences, headers=headers)
        got = yield replace(asked, body=None, source=pieces)
        made = read(got, FileWritten)
        return FileWritten(made.path, made.revision, made.reference, got.replayed)

    @flow
    def export_pieces(self, prefix: str = "") -> Stream[bytes]:
        """All files under a prefix as one archive, which any `tar` reads, a piece at a time.

        Raises:
            Unreachable: it was cut on its way; begin again.
        """
        yield Send("GET", at("context:export", prefix=prefix or None), opens=True)
        while (piece := (yield More())) is not None:
            if isinstance(piece, Lost):
                raise Unreachable(f"The archive was cut on its way; begin again. {piece.why}")
            yield Give(piece)

    @verb
    def import_archive(self, source: Source, *, prefix: str = "", fences: Sequence[FenceRef] = ()) -> Script[Imported]:
        """Write the files of an archive that lies on this machine, an outcome each. Those outside `prefix` are refused.

        Where a grant in `fences` is not current any more, so is each file from then on (code `stale_fence`).

        Raises:
            OutcomeUnknown. OSError: it cannot be read.
        """
        pieces, _, size = _measured(source)
        headers = {"content-type": TAR, "content-length": str(size), **relying(fences)}
        target = at("context:import", prefix=prefix or None)
        return read((yield Send("POST", target, headers, identity="own", source=pieces)), Imported)


def _measured(source: Source) -> tuple[Callable[[], Iterator[bytes]], bytes, int]:
    """How to read a source from its beginning, however often; what its digest is, and how large it is."""
    begin = 0 if isinstance(source, (str, os.PathLike)) else source.tell()

    def pieces() -> Iterator[bytes]:
        if isinstance(source, (str, os.PathLike)):
            with Path(source).open("rb") as file:
                yield from _pieces(file)
            return
        source.seek(begin)
        yield from _pieces(source)

    whole, size = hashlib.sha256(), 0
    for piece in pieces():
        whole.update(piece)
        size += len(piece)
    return lambda: _exactly(pieces(), size), whole.digest(), size


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(SENT_BYTES):
        yield piece


def _exactly(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """No more than was announced, and an end before the body is one that is cut."""
    for piece in pieces:
        if len(piece) > size:
            break
        size -= len(piece)
        yield piece
    if size:
        raise BadAnswer("The file changed while it was sent; nothing of it was written.")
