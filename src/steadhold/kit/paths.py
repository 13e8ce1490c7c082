"""Paths: the names of state and context, and prefixes of them.

A Path is 1 to 512 bytes of UTF-8 in NFC, segments parted by ``/``, none of them empty, ``.`` or
``..``, and no control character. Paths are compared by bytes. A prefix is a Path too, and matches
whole segments: ``a/b`` covers ``a/b`` and ``a/b/c``, never ``a/bc``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from steadhold.kit.limits import PATH_BYTES_MAX

BEHIND_ALL: Final = "\U0010ffff" * (PATH_BYTES_MAX // 4 + 1)
"""Behind every Path in the order of bytes: it is longer than one may be, of the last character there is."""

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*+(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*+)*")
_DECEPTIVE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    r"\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")


def path_fault(path: str) -> str | None:
    """Why ``path`` is no Path, as a sentence; None when it is one."""
    if len(path) <= PATH_BYTES_MAX and _PLAIN.fullmatch(path):
        return None
    return _text_fault(path) or _segment_fault(path)


def context_path_fault(path: str) -> str | None:
    """Why ``path`` cannot name a file of context, as a sentence; None when it can.

    Beyond the rules of every Path, no backslash, for the name may be unpacked on another system, and no character
    that makes it look like another name: those that turn the direction of writing, and those without a width, but for
    the joiners and selectors (U+200C, U+200D, U+FE00 to U+FE0F) that scripts and emoji are written with.
    """
    if found := _DECEPTIVE.search(path):
        return f"A context path holds no character that is not seen; this one holds U+{ord(found[0]):04X}."
    if "\\" in path:
        return "A context path holds no backslash; segments are parted by /."
    return path_fault(path)


def prefix_fault(prefix: str) -> str | None:
    """Why ``prefix`` is no prefix, as a sentence; None for a Path and for ``""``, which covers all."""
    if not prefix:
        return None
    if prefix.endswith("/"):
        return "A prefix ends in a whole segment; leave out its last /."
    return path_fault(prefix)


def from_url(raw: bytes) -> str | None:
    """The text that a percent-encoded part of a URL says; None when it is not strict UTF-8."""
    try:
        return _ESCAPE.sub(_unescaped, raw).decode()
    except ValueError:
        return None


EVERYWHERE: Final = ("",)
"""The prefixes of whoever is confined to none: this one covers all."""


def under(path: str, prefix: str) -> bool:
    """Whether ``prefix`` covers ``path``, by whole segments."""
    return not prefix or path == prefix or path.startswith(prefix + "/")


def bounds(prefix: str) -> tuple[str, str]:
    """The byte range, its end excluded, of the Paths that lie below ``prefix``.

    ``0`` is the byte after ``/``, so ``name >= low and name < high`` under ``collate "C"`` walks an
    index; the Path that equals the prefix lies outside and is asked for beside it.
    """
    return f"{prefix}/", f"{prefix}0"


def narrowed(prefix: str, within: Sequence[str]) -> tuple[str, ...]:
    """The prefixes that cover what is under `prefix` and under one of `within`; none where nothing is."""
    if any(under(prefix, allowed) for allowed in within):
        return (prefix,)
    return tuple(sorted(allowed for allowed in within if under(allowed, prefix)))


def spans(prefix: str, within: Sequence[str]) -> dict[str, Any] | None:
    """What is under `prefix` and under one of `within`, as a list's statement is asked; None where nothing is.

    `exact`, `low` and `high` are a Path and a byte range for each prefix, `first` and `last` bound them all.
    """
    wanted = narrowed(prefix, within)
    if not wanted:
        return None
    lows, highs = zip(*[bounds(one) if one else ("", "") for one in wanted], strict=True)
    last = BEHIND_ALL if "" in highs else max(highs)
    return {"exact": list(wanted), "low": list(lows), "high": list(highs), "first": min(wanted), "last": last}


def _unescaped(escape: re.Match[bytes]) -> bytes:
    if escape[1] is None:
        raise ValueError("a % without two hexadecimal digits")
    return bytes([int(escape[1], 16)])


def _text_fault(path: str) -> str | None:
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "A path is UTF-8; this one holds half a surrogate pair."
    if not 1 <= size <= PATH_BYTES_MAX:
        return f"A path has 1 to {PATH_BYTES_MAX} bytes of UTF-8; this one has {size}."
    if any(unicodedata.category(c) == "Cc" for c in path):
        return "A path holds no control character."
    if not unicodedata.is_normalized("NFC", path):
        return "A path is in Unicode normalisation form C; normalise it before you send it."
    return None


def _segment_fault(path: str) -> str | None:
    segments = path.split("/")
    if "" in segments:
        return "A path has no empty segment: no / at its beginning or end, and no // within."
    if "." in segments or ".." in segments:
        return "A path has no segment that is . or .. alone."
    return None


def reference(path: str, revision: int, digest: bytes) -> str:
    """How a reference to context is written: a revision of a path, and the SHA-256 that its bytes have."""
    escaped = path.replace("%", "%25").replace("@", "%40").replace("#", "%23")
    return f"context:{escaped}@{revision}#sha256:{digest.hex()}"


def in_reference(escaped: str) -> str:
    """The path that is written so in a reference to context."""
    return escaped.replace("%40", "@").replace("%23", "#").replace("%25", "%")
