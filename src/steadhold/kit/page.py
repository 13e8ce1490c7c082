"""Pages of a list, by keyset: a cursor is the key of the last item, sealed against accidents.

A cursor is opaque to clients. It holds no secret and grants nothing: what a key may list is
decided anew for each page.
"""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import json

from steadhold.kit.limits import CURSOR_CHARS_MAX

T = TypeVar("T")
Key: TypeAlias = str | int | None
Kind: TypeAlias = type | re.Pattern[str]

_CHECK_BYTES = 4
_KEYS = json.Decoder(list[Key])


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items of a list, and the cursor to ask for the next with; None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class CursorFault:
    """A cursor that is none of this list's (400). ``why`` is a sentence."""

    why: str


def page(found: Sequence[T], limit: int, of: str, key: Callable[[T], Sequence[Key]], *, cut: bool = False) -> Page[T]:
    """The page that ``found`` makes: one item more than ``limit`` was asked for, to see whether more follow.

    ``cut``: more follow in any case, and what was found was cut where it became too long.
    """
    items = tuple(found[:limit])
    more = cut or len(found) > limit
    return Page(items, write_cursor(of, *key(items[-1])) if more else None)


def write_cursor(of: str, *key: Key) -> str:
    """The cursor behind the item with this key, in the list named ``of``."""
    text = json.encode([of, *key])
    return urlsafe_b64encode(_check(text) + text).decode().rstrip("=")


def read_cursor(of: str, cursor: str, *kinds: Kind) -> tuple[Key, ...] | CursorFault:
    """The key that a cursor of the list ``of`` holds, a value of each kind (a nullable one: ``object``).

    A pattern is the kind of the texts that it fits. What PostgreSQL could not hold is a fault.
    """
    fault = CursorFault("This is no cursor of this list; take next_cursor of the page before, or leave it out.")
    if (text := _opened(cursor)) is None:
        return fault
    try:
        name, *key = _KEYS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return fault
    if name != of or len(key) != len(kinds) or not all(map(_is, key, kinds)):
        return fault
    return tuple(key)


def _is(value: Key, kind: Kind) -> bool:
    if isinstance(kind, re.Pattern):
        return isinstance(value, str) and kind.fullmatch(value) is not None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return isinstance(value, kind) and not (isinstance(value, str) and "\0" in value)


def _opened(cursor: str) -> bytes | None:
    if len(cursor) > CURSOR_CHARS_MAX or not cursor.isascii():
        return None
    try:
        sealed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        return None
    check, text = sealed[:_CHECK_BYTES], sealed[_CHECK_BYTES:]
    return text if check == _check(text) else None


def _check(text: bytes) -> bytes:
    return zlib.crc32(text).to_bytes(_CHECK_BYTES)
