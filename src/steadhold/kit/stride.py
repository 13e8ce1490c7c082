"""Long steps through a text that has a fault somewhere: parts that are vouched for are passed over whole.

:mod:`steadhold.kit.scan` goes token by token, which says exactly where the fault is and costs a second a
megabyte. A part from one comma to another is a document of its own once the containers around it are opened
before it and closed behind it; so the fast look can vouch for it. A part that it does not vouch for holds the
fault: then parts become shorter, until token by token meets it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, cast

from msgspec import json

from steadhold.kit.limits import JSON_DEPTH_MAX

Sure: TypeAlias = Callable[[bytes], bool]
"""Whether a text is certainly exact JSON."""
Within: TypeAlias = "list[set[str] | None]"
"""The containers around a place, outermost first: the keys met so far in an object, None for an array."""

_COMMAS: Final = (16_384, 2_048, 256, 32, 4)
_WS: Final = rb"[ \t\n\r]*+"
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*"'
_NO_COMMA: Final = rb"(?:[ \t\n\r]++|" + _STRING + rb"|-?[0-9][0-9.eE+-]*+|true|false|null|[\]\[{}:])*"
_STRINGS: Final = re.compile(_STRING)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_LEFT_AND_OPENED: Final = re.compile(rb"([\]}]*+)([\[{]*+)")
_READER: Final = json.Decoder(float_hook=str)
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
        ends = _LEFT_AND_OPENED.fullmatch(_unpaired(part))
        if ends is None or len(ends[1]) > len(within) or part.rstrip().endswith((b"[", b"{")):
            return False
        kept, opened = len(within) - len(ends[1]), ends[2]
        closing = b"".join(b"]" if keys is None else b"}" for keys in within[:kept]) + opened.translate(_CLOSING)
        text = b"".join((*map(_opening, within), b"0,", part, closing[::-1]))
        if not self.sure(text):
            return False
        if b"{" in text:
            return _learn(_READER.decode(text), within, kept, len(opened))
        within[kept:] = [None] * len(opened)
        return True


@functools.cache
def _part(commas: int) -> re.Pattern[bytes]:
    return re.compile(_WS + b",(?P<part>(?:" + _NO_COMMA + b",){1,%d}+)" % commas)


def _unpaired(part: bytes) -> bytes:
    """The brackets of a part that have no partner in it. Where they lie too deep, some that have one as well."""
    brackets = _STRINGS.sub(b"", part).translate(None, _NO_BRACKETS)
    for _ in range(JSON_DEPTH_MAX):
        fewer = brackets.replace(b"[[[[]]]]", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    return brackets


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
