"""Where and why a text is no exact JSON: one pass over its tokens, on a stack of its own.

:mod:`steadhold.kit.exact` asks here only about what its faster look could not vouch for, so this
page decides what is refused, and may be slower.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from msgspec import json

from steadhold.kit.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from steadhold.kit.stride import Stride, Sure

_TOKEN = re.compile(
    rb"""[ \t\n\r]*+(?:
      (?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*")
    | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    | (?P<word>true|false|null)
    | (?P<mark>[][{}:,])
    )""",
    re.VERBOSE,
)
_BLANK = re.compile(rb"[ \t\n\r]*+")
_STRING_START = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*')
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?P<lone>[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BOM = b"\xef\xbb\xbf"

_VALUE, _FIRST_ITEM = "a value", "a value or ]"
_KEY, _FIRST_KEY = "a key in quotes", "a key in quotes or }"
_COLON, _MORE_ITEMS, _MORE_KEYS, _NOTHING = "a colon", "a comma or ]", "a comma or }", "the end"

_MORE = frozenset({_MORE_ITEMS, _MORE_KEYS})
_TAKES_VALUE = frozenset({_VALUE, _FIRST_ITEM})
_TAKES_KEY = frozenset({_KEY, _FIRST_KEY})
_AFTER_MARK = {
    (b",", _MORE_ITEMS): _VALUE,
    (b",", _MORE_KEYS): _KEY,
    (b":", _COLON): _VALUE,
}
_CLOSES = frozenset({(b"]", _FIRST_ITEM), (b"]", _MORE_ITEMS), (b"}", _FIRST_KEY), (b"}", _MORE_KEYS)})


@dataclass(frozen=True, slots=True)
class JsonFault:
    """Why a text is no exact JSON. ``position`` counts bytes from 0; ``why`` is a sentence."""

    position: int
    why: str


def scan(raw: bytes, sure: Sure | None = None) -> JsonFault | None:
    """The first fault of ``raw``; None when it is exact JSON. Time is linear, recursion none.

    ``sure`` vouches for parts, so that they need not be read token by token.
    """
    if raw.startswith(_BOM):
        return JsonFault(0, "A byte order mark is no JSON; send UTF-8 without one.")
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return JsonFault(error.start, "The bytes here are not UTF-8.")
    return _Scan(raw, Stride(sure) if sure else None).run()


@dataclass(slots=True)
class _Scan:
    raw: bytes
    stride: Stride | None
    want: str = _VALUE
    # One entry a container: the keys met so far, or None for an array.
    within: list[set[str] | None] = field(default_factory=list[set[str] | None])

    def run(self) -> JsonFault | None:
        at = 0
        while token := _TOKEN.match(self.raw, at):
            if fault := self._take(token):
                return fault
            at = token.end()
            if self.stride and self.want in _MORE:
                at = self._stride(self.stride, at)
        at = _blanks_end(self.raw, at)
        if at == len(self.raw) and self.want is _NOTHING:
            return None
        return self._stranger(at)

    def _stride(self, stride: Stride, at: int) -> int:
        end = stride.over(self.raw, at, self.within)
        if end != at:
            self._settle()
        return end

    def _take(self, token: re.Match[bytes]) -> JsonFault | None:
        kind = token.lastgroup or ""
        text, at = token[kind], token.start(kind)
        match kind:
            case "mark":
                return self._mark(text, at)
            case "string":
                return self._string(text, at)
            case "number":
                return _number_fault(text, at) or self._value(at)
            case _:
                return self._value(at)

    def _mark(self, mark: bytes, at: int) -> JsonFault | None:
        if mark in b"[{":
            return self._open(mark, at)
        if (mark, self.want) in _CLOSES:
            self.within.pop()
            self._settle()
            return None
        if (after := _AFTER_MARK.get((mark, self.want))) is None:
            return self._stranger(at)
        self.want = after
        return None

    def _open(self, mark: bytes, at: int) -> JsonFault | None:
        if self.want not in _TAKES_VALUE:
            return self._stranger(at)
        if len(self.within) == JSON_DEPTH_MAX:
            return JsonFault(at, f"Arrays and objects lie at most {JSON_DEPTH_MAX} deep.")
        self.within.append(None if mark == b"[" else set())
        self.want = _FIRST_ITEM if mark == b"[" else _FIRST_KEY
        return None

    def _string(self, text: bytes, at: int) -> JsonFault | None:
        if (lone := _lone_surrogate(text)) is not None:
            return JsonFault(at + lone, "This escape is half a surrogate pair, which is no character.")
        if self.want in _TAKES_KEY:
            return self._key(text, at)
        return self._value(at)

    def _key(self, text: bytes, at: int) -> JsonFault | None:
        keys = self.within[-1]
        if keys is None:
            raise AssertionError("a key is wanted within an array")
        name = json.decode(text, type=str)
        if name in keys:
            return JsonFault(at, "This object has the same key a second time.")
        keys.add(name)
        self.want = _COLON
        return None

    def _value(self, at: int) -> JsonFault | None:
        if self.want not in _TAKES_VALUE:
            return self._stranger(at)
        self._settle()
        return None

    def _settle(self) -> None:
        """A value has ended: what may follow it."""
        if not self.within:
            self.want = _NOTHING
        else:
            self.want = _MORE_ITEMS if self.within[-1] is None else _MORE_KEYS

    def _stranger(self, at: int) -> JsonFault:
        if at >= len(self.raw):
            return JsonFault(at, f"The document ends where {self.want} is expected.")
        if self.raw[at] == ord('"') and (fault := _string_fault(self.raw, at)):
            return fault
        return JsonFault(at, f"Expected {self.want}, met {_shown(self.raw[at])}.")


def _blanks_end(raw: bytes, at: int) -> int:
    blank = _BLANK.match(raw, at)
    return blank.end() if blank else at


def _number_fault(text: bytes, at: int) -> JsonFault | None:
    if len(text) <= JSON_NUMBER_CHARS_MAX:
        return None
    return JsonFault(at, f"A number has at most {JSON_NUMBER_CHARS_MAX} characters; this one has {len(text)}.")


def _lone_surrogate(text: bytes) -> int | None:
    if not _SURROGATE.search(text):
        return None
    return next((escape.start() for escape in _ESCAPE.finditer(text) if escape["lone"]), None)


def _string_fault(raw: bytes, at: int) -> JsonFault | None:
    """Why the string that begins at ``at`` does not end well; None when it does."""
    begun = _STRING_START.match(raw, at)
    end = begun.end() if begun else at
    match raw[end : end + 1]:
        case b'"':
            return None
        case b"":
            return JsonFault(end, "The document ends within a string.")
        case b"\\":
            return JsonFault(end, "This escape is none of JSON's.")
        case _:
            return JsonFault(end, "A control character in a string is written as an escape.")


def _shown(byte: int) -> str:
    return chr(byte) if 0x20 < byte < 0x7F else f"the byte 0x{byte:02x}"
