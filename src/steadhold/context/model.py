"""context: what a path holds, what a write can come to, and how bytes are referred to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Final, TypeAlias

from steadhold.access import StorageExhausted
from steadhold.kit import limits, paths
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Rule
from steadhold.private import RewrapNeeded, SealRefusal

OCTETS: Final = "application/octet-stream"
"""What bytes are that nobody said more about."""

_MEDIA: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*;[\t\x20-\x7e]*)?")


def content_type_fault(kind: str) -> str | None:
    """Why bytes cannot be of this media type, as a sentence; None when they can."""
    if len(kind) <= limits.MEDIA_TYPE_CHARS_MAX and _MEDIA.fullmatch(kind):
        return None
    return f"A media type is type/subtype with parameters, {limits.MEDIA_TYPE_CHARS_MAX} visible characters at most."


def body_fault(body: bytes) -> str | None:
    """Why bytes cannot be written in one transaction; None when they can."""
    most = limits.CONTEXT_BYTES_MAX
    return None if len(body) <= most else f"A file has at most {most} bytes; these are {len(body)}."


Path: TypeAlias = Annotated[str, Rule(paths.context_path_fault)]
ContentType: TypeAlias = Annotated[str, Rule(content_type_fault)]
Body: TypeAlias = Annotated[bytes, Rule(body_fault)]


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that are known by their digest, in pieces as they lie where they are few (`CONTEXT_WHOLE_BYTES_MAX`)."""

    bytes: int
    digest: bytes
    content_type: str
    pieces: tuple[bytes, ...] | None

    @property
    def body(self) -> bytes | None:
        """The bytes in one, where they are few."""
        return None if self.pieces is None else b"".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Stored:
    """A revision of a file, whose `id` stays the same wherever it is moved."""

    id: str
    revision: int
    content: Content
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """This write won. `created` says that there was no file at the path before."""

    revision: int
    written_at: datetime
    created: bool
    bytes: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Moved:
    """The file is at its new path, at a new revision of the same bytes."""

    id: str
    revision: int
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Pruned(Refusal):
    """The revision existed and is not kept any more; `oldest` is the first that is."""

    oldest: int | None


@dataclass(frozen=True, slots=True)
class PathTaken(Refusal):
    """There is a file at the path that another is to be moved to."""

    revision: int


@dataclass(frozen=True, slots=True)
class Unresolved(Refusal):
    """There never were bytes of this reference, or (`pruned`) they are not kept any more."""

    reference: str
    pruned: bool = False


@dataclass(frozen=True, slots=True)
class UploadLapsed(Refusal):
    """Nothing came of the upload for so long that what it had was given up."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes that came piece by piece and are all there: `id` is what their pieces were kept under."""

    id: str
    bytes: int
    digest: bytes
    sealed: int | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    """An upload may come, under this id, within its lease. `credit` are bytes that it replaces."""

    upload: str
    credit: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A piece of an upload is kept, and its lease runs anew."""

    chunk: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a list: everything but its bytes, of which `bytes` is the count."""

    path: str
    id: str
    revision: int
    bytes: int
    digest: bytes
    content_type: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Revision:
    """A kept revision in a list, under the path it was written under. `deleted`: it is a deletion, without bytes."""

    path: str
    revision: int
    bytes: int
    digest: bytes
    content_type: str
    written_at: datetime
    deleted: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What a workspace's files use. `reserved` is promised to uploads under way; None is no limit."""

    files: int
    bytes: int
    revisions: int
    reserved: int
    bytes_max: int | None
    names_max: int | None


WriteOutcome: TypeAlias = (
    Written | RevisionConflict | Missing | StaleFence | StorageExhausted | UploadLapsed | SealRefusal
)
PutOutcome: TypeAlias = WriteOutcome | Pruned | Unresolved
MoveOutcome: TypeAlias = Moved | RevisionConflict | Missing | StaleFence | PathTaken | RewrapNeeded
Resolved: TypeAlias = Content | Missing | Pruned


def lost(expected: int | None, current: int | None, *, present: bool) -> RevisionConflict | Missing | None:
    """Say why a write lost against what the path holds; None where it did not."""
    if expected is None:
        return RevisionConflict(current) if present else None
    if not present:
        return Missing(current)
    return None if current == expected else RevisionConflict(current)


# --- references -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """Exactly these bytes: a revision of a path, and the SHA-256 that it has. `str` is how it is written."""

    path: str
    revision: int
    digest: bytes

    FORM: ClassVar = "context:<path>@<revision>#sha256:<hex>"

    def __str__(self) -> str:
        return paths.reference(self.path, self.revision, self.digest)


_REFERENCE: Final = re.compile(r"context:(?P<path>[^@#]+)@(?P<revision>[1-9][0-9]{0,18})#sha256:(?P<hex>[0-9a-f]{64})")
_PLAIN: Final = re.compile(r"(?:[^%]|%25|%40|%23)+")


def reference_fault(text: str) -> str | None:
    """Why a text is no reference, as a sentence; None when it is one."""
    found = _REFERENCE.fullmatch(text)
    if found is None or not _PLAIN.fullmatch(found["path"]) or int(found["revision"]) >= 2**63:
        return f"A reference is written {Reference.FORM}, with %25, %40 and %23 for %, @ and # in its path."
    return paths.context_path_fault(paths.in_reference(found["path"]))


def reference(text: str) -> Reference | None:
    """Read a reference; None where a text is none. Each has one way to be written."""
    found = _REFERENCE.fullmatch(text)
    if found is None or reference_fault(text):
        return None
    return Reference(paths.in_reference(found["path"]), int(found["revision"]), bytes.fromhex(found["hex"]))


def refers_to_context(text: str) -> bool:
    """Whether a reference is meant for context, well written or not."""
    return text.startswith("context:")


ReferenceText: TypeAlias = Annotated[str, Rule(reference_fault)]


def owner_of(path: str, revision: int) -> str:
    """How a revision is called where it keeps its bytes."""
    return f"context:{path}@{revision}"


def pinner(owner: str, named: Reference) -> str:
    """How somebody who relies on a reference is called there: each is let go for itself, whatever bytes it has."""
    return f"reference:{named} {owner}"


def spent(rows: tuple[Sequence[str], Sequence[int], Sequence[bytes]]) -> list[tuple[str, bytes]]:
    """The pins of revisions that are not kept any more; a deletion has none."""
    return [(owner_of(path, revision), bytes(digest)) for path, revision, digest in zip(*rows, strict=True) if digest]
