"""context: what its verbs answer."""

from __future__ import annotations

from datetime import datetime

import msgspec

from steadhold.kit import paths


class Envelope(msgspec.Struct, frozen=True):
    """What the server has of a file that is sealed: the SHA-256 of the envelope, and how many bytes it has."""

    digest: bytes
    bytes: int


class File(msgspec.Struct, frozen=True):
    """A revision of a file: its bytes as they were written, their SHA-256, and the envelope they came in, if any."""

    path: str
    revision: int
    content_type: str
    digest: bytes
    body: bytes
    envelope: Envelope | None = None

    @property
    def stored(self) -> Envelope:
        """Digest and size of the bytes that the server has: those of the envelope, where there is one."""
        return self.envelope or Envelope(self.digest, len(self.body))

    @property
    def text(self) -> str:
        """The bytes as UTF-8.

        Raises:
            UnicodeDecodeError: they are none.
        """
        return self.body.decode()

    @property
    def reference(self) -> str:
        """What names exactly these bytes, as the server has them at this path: for inputs, results and approvals."""
        return paths.reference(self.path, self.revision, self.stored.digest)


class NoFile(msgspec.Struct, frozen=True):
    """A path without a file; `last_revision` is what it had when it was deleted, if there ever was one."""

    path: str
    last_revision: int | None = None


class FileWritten(msgspec.Struct, frozen=True):
    """A write that won. `replayed`: the answer is the first one to this operation, told again."""

    path: str
    revision: int
    reference: str
    replayed: bool = False


class FileMoved(msgspec.Struct, frozen=True):
    """A file at its new path, with the id that it had."""

    path: str
    id: str
    revision: int


class FileEntry(msgspec.Struct, frozen=True):
    """A file in a list: `bytes` counts what it has, `digest` is their SHA-256 in hexadecimal."""

    path: str
    id: str
    revision: int
    bytes: int
    digest: str
    content_type: str
    changed_at: datetime
    reference: str


class FileKept(msgspec.Struct, frozen=True):
    """A revision that is kept, under the path it was written under; `deleted`: it is the deletion of the file."""

    path: str
    revision: int
    bytes: int
    digest: str
    content_type: str
    written_at: datetime
    deleted: bool
    reference: str | None = None


class ContextUsage(msgspec.Struct, frozen=True):
    """What files use, as a quota counts it; `reserved` is promised to uploads under way, None is no limit."""

    files: int
    bytes: int
    revisions: int
    reserved: int
    bytes_max: int | None
    names_max: int | None


class FileImported(msgspec.Struct, frozen=True):
    """What an entry of an archive came to: the status and code that writing it alone would have had."""

    path: str
    status: int
    revision: int | None = None
    code: str | None = None
    detail: str | None = None


class Imported(msgspec.Struct, frozen=True):
    """What an import came to, an outcome a file; where it is not `complete`, `detail` says why it went no further."""

    complete: bool
    files: list[FileImported]
    detail: str | None = None
