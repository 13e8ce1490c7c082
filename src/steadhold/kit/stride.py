"""Long steps through a text that has a fault somewhere: parts that are vouched for are passed over whole.

:mod:`steadhold.kit.scan` goes token by token, which says exactly where the fault is and costs a second a
megabyte. A part from one comma to another is a document of its own once the containers around it are opened
before it and closed behind it; so the fast look can vouch for it. A part that it does not vouch for holds the
fault: then parts become shorter, until token by token meets it.
"""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate, count
from typing import Any, Final, TypeAlias, cast

from msgspec import json

Sure: TypeAlias = Callable[[bytes], Any]
"""What a text says that is certainly exact JSON (None where it has no keys); `DOUBT` where that is not certain."""
DOUBT: Final = object()
Within: TypeAlias = "list[set[str] | None]"
"""The containers around a place, outermost first: the keys met so far in an object, None for an array."""

_COMMAS: Final = (16_384, 2_048, 256, 32, 4)
_WS: Final = rb"[ \t\n\r]*+"
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*"'
_NO_COMMA: Final = rb"(?:[ \t\n\r]++|" + _STRING + rb"|-?[0-9][0-9.eE+-]*+|true|false|null|[\]\[{}:]++)*"
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_LEFT_AND_OPENED: Final = re.compile(rb"([\]}]*+)([\[{]*+)")
# An opening bracket is one step down, a closing one, read as a signed byte, one step up.
_STEPS: Final = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_WORTH_WHILE: Final = 0.9
"""Pairs are taken away as long as less than this share is left."""

_CLOSING: Final = bytes.maketrans(b"[{", b"]}")


class Stride:
    """How far a scan may step: over thousands of commas at first, and over ever fewer once a fault is near."""

    def __init__(self, sure: Sure) -> None:
        self.sure, self.level = sure, 0

    def over(self, raw: bytes, at: int, within: Within) -> int:
        """Step from the comma that comes at `at`, inside the containers `within`, to another one.

        Answers where that is, and brings `within` up to date; or `at`, where there is nothing to step over.
        """
        while self.level < len(_COMMAS) and (found := _part(_COMMAS[self.level]).match(raw, at)):
            if self._vouched(found["part"][:-1], within):
                return found.end() - 1
            self.level += 1
        return at

    def _vouched(self, part: bytes, within: Within) -> bool:
        if self._vouched_among_arrays(part, within):
            return True
        ends = _LEFT_AND_OPENED.fullmatch(_unpaired(part))
        if ends is None or len(ends[1]) > len(within) or part.rstrip().endswith((b"[", b"{")):
            return False
        kept, opened = len(within) - len(ends[1]), ends[2]
        closing = b"".join(b"]" if keys is None else b"}" for keys in within[:kept]) + opened.translate(_CLOSING)
        text = b"".join((*map(_opening, within), b"0,", part, closing[::-1]))
        read = self.sure(text)
        if read is DOUBT:
            return False
        if b"{" in text:
            return _learn(read, within, kept, len(opened))
        within[kept:] = [None] * len(opened)
        return True

    def _vouched_among_arrays(self, part: bytes, within: Within) -> bool:
        """Whether a part without keys is as deep behind it as before: then nothing else need be known of it."""
        if b"{" in part or any(keys is not None for keys in within) or part.rstrip().endswith(b"["):
            return False
        return self.sure(b"".join((b"[" * len(within), b"0,", part, b"]" * len(within)))) is not DOUBT


@functools.cache
def _part(commas: int) -> re.Pattern[bytes]:
    return re.compile(_WS + b",(?P<part>(?:" + _NO_COMMA + b",){1,%d}+)" % commas)


def _unpaired(part: bytes) -> bytes:
    """The brackets of a part that have no partner in it, whatever their kind; all of them where they lie too deep."""
    brackets, _ = _without_pairs(outside_strings(part).translate(None, _NO_BRACKETS))
    try:
        depths = array("b", accumulate(_steps(brackets)))
    except OverflowError:
        return brackets
    lowest, last = min(depths, default=0), depths[-1] if depths else 0
    levels = depths.tobytes()
    closing = [levels.find(_byte(level)) for level in range(-1, lowest - 1, -1)]
    opening = [levels.rfind(_byte(level)) + 1 for level in range(min(0, lowest), last)]
    return bytes(brackets[at] for at in (*closing, *opening))


def _byte(level: int) -> int:
    return level & 0xFF


def depth(text: bytes) -> int:
    """How deep the containers of a well-formed text lie."""
    brackets, taken = _without_pairs(outside_strings(text).translate(_ONE_KIND, _NO_BRACKETS))
    return taken + max(accumulate(_steps(brackets)), default=0)


def _without_pairs(brackets: bytes) -> tuple[bytes, int]:
    """Take away the containers that hold none, then those that held these alone, as often as many go: each time the
    others lie one less deep. The rest is counted step by step, which costs more a bracket.
    """
    for taken in count():
        fewer = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) > len(brackets) * _WORTH_WHILE or not brackets:
            return brackets, taken
        brackets = fewer
    raise AssertionError("brackets end")


def _steps(brackets: bytes) -> memoryview:
    """Each bracket as the step that it is."""
    return memoryview(brackets.translate(_STEPS)).cast("b")


def outside_strings(text: bytes) -> bytes:
    """A text of well-formed tokens without its strings: what stands between quotes that are no escapes.

    Backslashes stand in strings alone, so a run of them begins an escape.
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b" ".join(text.split(b'"')[::2])


def _opening(keys: set[str] | None) -> bytes:
    return b"[" if keys is None else b"{" + json.encode(next(iter(keys))) + b":"


def _learn(document: Any, within: Within, kept: int, opened: int) -> bool:
    """Bring `within` up to date with what was read; False where a key was met before."""
    for keys, read in zip(within, _down(document, len(within), iter), strict=True):
        if keys is not None:
            if len(keys) + len(read) - 1 != len(keys | read.keys()):
                return False
            keys.update(read)
    inner = list(_down(document, kept + opened, reversed))[kept:]
    within[kept:] = [set(cast("dict[str, Any]", read)) if isinstance(read, dict) else None for read in inner]
    return True


def _down(read: Any, levels: int, order: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    """A container, its first or last item, that one's, and so on."""
    for _ in range(levels):
        yield read
        items = order(read)
        child = next(items)
        read = cast("dict[str, Any]", read)[child] if isinstance(read, dict) else child
