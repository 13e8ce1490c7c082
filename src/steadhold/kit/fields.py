"""The header fields that carry our rules: conditions, fences, digests, ranges.

Each reader takes the field as one text, or None when the request has none (several lines of a
field are joined with a comma first), and answers with a value: nothing here raises on a request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from steadhold.kit.ids import id_fault
from steadhold.kit.limits import FENCE_NUMBER_MAX, FENCES_MAX
from steadhold.kit.structured import Item, Member, StructuredError, parse_dictionary, parse_list, write_item, write_list


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A field that cannot be read (400). ``why`` is a sentence."""

    why: str


# --- conditions (RFC 9110, section 13) --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExactTag:
    """One strong tag that is a revision of ours: the one inexactness-free condition of a write."""

    revision: int


@dataclass(frozen=True, slots=True)
class AnyTag:
    """``*``: whatever exists. It says If-None-Match's "absent", and is inexact on If-Match (428)."""


@dataclass(frozen=True, slots=True)
class WeakTag:
    """``W/"…"``: never equal under If-Match's strong comparison (412), not even to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ForeignTag:
    """A strong tag that is no revision of ours, so it never matches (412)."""

    text: str


@dataclass(frozen=True, slots=True)
class TagList:
    """Several tags: fit for reading (If-None-Match), inexact for a write (428)."""

    tags: tuple[ExactTag | WeakTag | ForeignTag, ...]


@dataclass(frozen=True, slots=True)
class BadTag:
    """No entity tag at all (400). ``why`` is a sentence."""

    why: str


Condition: TypeAlias = ExactTag | AnyTag | WeakTag | ForeignTag | TagList | BadTag | None
"""What If-Match or If-None-Match says; None when the field is absent."""

_TAG = re.compile(r'(W/)?"([!#-~\x80-\xff]*+)"')
_TAGS = re.compile(rf"{_TAG.pattern}(?:[ \t]*+,[ \t]*+{_TAG.pattern})*")
_REVISION = re.compile(r"[1-9][0-9]{0,17}")
_PLAIN = re.compile(rf'"({_REVISION.pattern})"')  # what nearly every condition is, read at a tenth of the cost


def condition(field: str | None) -> Condition:
    """What an If-Match or If-None-Match field says. Revision 42 is the strong tag ``"42"``."""
    if field is None:
        return None
    if plain := _PLAIN.fullmatch(field):
        return ExactTag(int(plain[1]))
    text = field.strip(" \t")
    if text == "*":
        return AnyTag()
    if not _TAGS.fullmatch(text):
        return BadTag('A condition is one revision in quotes, as in "42", or * alone.')
    tags = tuple(_tag(found[1] is not None, found[2]) for found in _TAG.finditer(text))
    return tags[0] if len(tags) == 1 else TagList(tags)


def still_has(none_match: Condition, revision: int) -> bool:
    """Whether a reader's If-None-Match names the current revision, so that there is nothing new.

    Reading compares weakly: ``W/"42"`` names revision 42 too.
    """
    match none_match:
        case ExactTag(known):
            return known == revision
        case WeakTag(text):
            return text == str(revision)
        case AnyTag():
            return True
        case TagList(tags):
            return any(still_has(tag, revision) for tag in tags)
        case ForeignTag() | BadTag() | None:
            return False


def etag(revision: int) -> str:
    """The strong entity tag of a revision."""
    return f'"{revision}"'


def _tag(weak: bool, text: str) -> ExactTag | WeakTag | ForeignTag:  # noqa: FBT001 - both are what a tag is
    if weak:
        return WeakTag(text)
    return ExactTag(int(text)) if _REVISION.fullmatch(text) else ForeignTag(text)


# --- fences (design, section 5) ---------------------------------------------------------------

GRANT_KINDS: Final = {"lock": 1, "job": 1, "consumer": 2}
"""What a grant may be of, and how many Ids name it."""


@dataclass(frozen=True, slots=True)
class FenceRef:
    """A grant that a write relies on: its subject, as in ``lock:deploy``, and its fence."""

    subject: str
    fence: int

    @property
    def kind(self) -> str:
        """``lock``, ``job`` or ``consumer``."""
        return self.subject.partition(":")[0]

    @property
    def name(self) -> str:
        """What follows the kind: a lock's name, a job's id, ``inbox/consumer``."""
        return self.subject.partition(":")[2]


def fences(field: str | None) -> tuple[FenceRef, ...] | FieldFault:
    """The grants that a ``Fence`` field names, in its order; none when the field is absent.

    An empty field is a fault: it is what a client sends that has lost the fence it meant.
    """
    if field is None:
        return ()
    try:
        refs = tuple(map(_fence, parse_list(field)))
    except StructuredError as error:
        return FieldFault(f"The Fence field cannot be read: {error}.")
    if not 1 <= len(refs) <= FENCES_MAX:
        return FieldFault(f"The Fence field names 1 to {FENCES_MAX} grants; this one names {len(refs)}.")
    if len({ref.subject for ref in refs}) < len(refs):
        return FieldFault("The Fence field names a grant twice.")
    return refs


def write_fences(refs: Iterable[FenceRef]) -> str:
    """The ``Fence`` field that names these grants."""
    return write_list([Item(ref.subject, {"fence": ref.fence}) for ref in refs])


def subject_fault(subject: str) -> str | None:
    """Why no grant can have this subject, as a sentence; None when one can."""
    kind, _, name = subject.partition(":")
    if kind not in GRANT_KINDS:
        return f"{subject!r} is no grant; name lock:<name>, job:<id> or consumer:<inbox>/<name>."
    parts = name.split("/")
    if len(parts) != GRANT_KINDS[kind]:
        return f"{subject!r} is no grant; a {kind} has {GRANT_KINDS[kind]} part(s) parted by /."
    return next(filter(None, map(id_fault, parts)), None)


def _fence(member: Member) -> FenceRef:
    if not isinstance(member, Item) or type(member.value) is not str:
        raise StructuredError('a grant is a string with its fence, as in "lock:deploy";fence=3')
    if why := subject_fault(member.value):
        raise StructuredError(why.rstrip("."))
    fence = member.parameters.get("fence")
    if len(member.parameters) != 1 or type(fence) is not int or not 1 <= fence <= FENCE_NUMBER_MAX:
        raise StructuredError(f"a grant has one parameter, fence, a whole number from 1 to {FENCE_NUMBER_MAX}")
    return FenceRef(member.value, fence)


# --- digests (RFC 9530) -----------------------------------------------------------------------

_DIGEST_BYTES = {"sha-256": 32, "sha-512": 64}


def digests(field: str | None) -> dict[str, bytes] | FieldFault:
    """What Repr-Digest or Content-Digest says, of the algorithms sha-256 and sha-512; others are left out."""
    try:
        members = parse_dictionary(field or "")
    except StructuredError as error:
        return FieldFault(f"The digest field cannot be read: {error}.")
    known: dict[str, bytes] = {}
    for name in _DIGEST_BYTES.keys() & members.keys():
        digest = getattr(members[name], "value", None)
        if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES[name]:
            return FieldFault(f"{name} is {_DIGEST_BYTES[name]} bytes of base64 between colons.")
        known[name] = digest
    return known


def digests_match(expected: Mapping[str, bytes], body: bytes) -> bool:
    """Whether ``body`` has each digest expected of it."""
    return all(hashlib.new(name.replace("-", ""), body).digest() == digest for name, digest in expected.items())


def write_digest(sha256: bytes) -> str:
    """The Repr-Digest of bytes whose SHA-256 this is."""
    return f"sha-256={write_item(Item(sha256))}"


# --- ranges (RFC 9110, section 14) ------------------------------------------------------------

_RANGE = re.compile(r"bytes=[ \t]*+(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``first`` to ``last``, both included (206)."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """A range that begins beyond the last byte (416)."""


def byte_range(field: str | None, length: int) -> ByteRange | Unsatisfiable | None:
    """The one range of bytes that a Range field asks for, out of ``length``.

    None means to serve the whole: no field, another unit, several ranges, or none that can be read.
    """
    found = _RANGE.fullmatch((field or "").strip(" \t"))
    if not found:
        return None
    if found[3]:
        first, last = max(length - int(found[3]), 0), length - 1
    else:
        first, last = int(found[1]), int(found[2] or length - 1)
        if found[2] and last < first:
            return None
    return ByteRange(first, min(last, length - 1)) if first < length else Unsatisfiable()
