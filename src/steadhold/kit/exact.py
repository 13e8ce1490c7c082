"""Exact JSON: validated once, strictly, and kept as the bytes it came in.

The rule is the state contract's: UTF-8 without a byte order mark, at most 128 deep, numbers of at
most 1,000 characters, no key twice in an object (after unescaping), no half of a surrogate pair,
no NaN or Infinity. Size is the caller's to test. Nothing here turns a number into a float.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import TypeAlias, cast

import msgspec
from msgspec import json

from steadhold.kit.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from steadhold.kit.scan import JsonFault, scan
from steadhold.kit.stride import DOUBT, depth, outside_strings

__all__ = ["JsonFault", "JsonValue", "check", "decode", "encode", "member_bytes", "members"]

JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
"""What :func:`decode` answers (without floats) and :func:`encode` takes."""

_EXACT = Context(traps=[InvalidOperation])


def _fraction(text: str) -> Decimal:
    try:
        return Decimal(text, _EXACT)
    except InvalidOperation:
        raise ValueError(f"no Decimal holds the number {text[:40]}; read the bytes instead") from None


_READER = json.Decoder(float_hook=str)
_PASSER = json.Decoder(msgspec.Raw)  # makes nothing of what it reads; leaves UTF-8 to others
_EXACT_READER = json.Decoder(float_hook=_fraction)
_MEMBERS = json.Decoder(dict[str, msgspec.Raw])
_WRITER = json.Encoder()

_LONG_TEXT = 4_096
_NUMBER_CHARS = b"0123456789+-.eE"
_DIGITS_ONLY = bytes(ord("0") if byte in _NUMBER_CHARS else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * (JSON_NUMBER_CHARS_MAX + 1)


def check(raw: bytes) -> JsonFault | None:
    """The first fault of ``raw`` as exact JSON; None when there is none. Never raises."""
    if len(raw) <= _LONG_TEXT:
        return _check(raw)
    with _collecting_nothing():
        return _check(raw)


def _check(raw: bytes) -> JsonFault | None:
    return None if _surely_exact(raw) is not DOUBT else scan(raw, _surely_exact)


@contextlib.contextmanager
def _collecting_nothing() -> Iterator[None]:
    """What is read is a tree, freed by counting: a collector would walk it again and again, and free nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def decode(raw: bytes) -> JsonValue:
    """The value that exact JSON says: integers as int, fractions and exponents as Decimal.

    Raises:
        ValueError: the text is no JSON, or an exponent is beyond what a Decimal holds.
    """
    try:
        return cast("JsonValue", _EXACT_READER.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = scan(raw)
        raise ValueError(f"{fault.why} (byte {fault.position})" if fault else str(error)) from None


def encode(value: JsonValue) -> bytes:
    """The bytes of a value, without spaces; :func:`check` finds no fault in them. A Raw in it stands as it is.

    Raises:
        TypeError: something in it is no JSON type; a key is no str.
        ValueError: NaN or an infinity, half a surrogate pair, too deep, or a number too long.
    """
    pieces: list[bytes] = []
    _write(value, pieces, 0)
    return b"".join(pieces)


def members(raw: bytes) -> dict[str, bytes]:
    """The exact bytes of each member of an object that :func:`check` passed; empty for no object."""
    try:
        return {name: bytes(member) for name, member in _MEMBERS.decode(raw).items()}
    except msgspec.ValidationError:
        return {}


def member_bytes(raw: bytes, name: str) -> bytes | None:
    """The exact bytes of one member of an object that :func:`check` passed; None without it."""
    return members(raw).get(name)


def _surely_exact(raw: bytes) -> object:
    """What ``raw`` says if a fast look can vouch for it, else `DOUBT`. It never vouches for a fault; it may doubt.

    The readers vouch for UTF-8 and the grammar, what follows for the rest. Only keys are worth making objects for, and
    not of a long text with a fault: a megabyte of brackets is half a million of them.
    """
    try:
        keys = b"{" in raw
        if not keys or len(raw) > _LONG_TEXT:
            _PASSER.decode(raw)
            raw.decode()
        if not (_shallow(raw) and _numbers_short(raw)):
            return DOUBT
        value = _READER.decode(raw) if keys else None
        return value if not keys or _keys_once(raw, value) else DOUBT
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return DOUBT


def _keys_once(raw: bytes, value: object) -> bool:
    """Whether no key was lost by reading: written again, the value has as many colons.

    A colon that came as an escape is written as a colon; two backslashes before it make it no escape.
    """
    came = raw.count(b":")
    if b"\\u003" in raw:
        escapes = raw.replace(b"\\\\", b"")
        came += escapes.count(b"\\u003a") + escapes.count(b"\\u003A")
    return came == _WRITER.encode(value).count(b":")


def _numbers_short(raw: bytes) -> bool:
    """Whether no number of a well-formed ``raw`` is too long."""
    if len(raw) <= JSON_NUMBER_CHARS_MAX or _LONG_NUMBER not in raw.translate(_DIGITS_ONLY):
        return True
    return _LONG_NUMBER not in outside_strings(raw).translate(_DIGITS_ONLY)


def _shallow(raw: bytes) -> bool:
    """Whether a well-formed ``raw`` keeps to the depth."""
    if len(raw) <= JSON_DEPTH_MAX or raw.count(b"[") + raw.count(b"{") <= JSON_DEPTH_MAX:
        return True
    return depth(raw) <= JSON_DEPTH_MAX


def _write(value: object, pieces: list[bytes], depth: int) -> None:
    match value:
        case None:
            pieces.append(b"null")
        case bool():
            pieces.append(b"true" if value else b"false")
        case str():
            pieces.append(_text(value))
        case int() | float() | Decimal():
            pieces.append(_number(value))
        case msgspec.Raw():
            if fault := check(bytes(value)):
                raise ValueError(fault.why)
            pieces.append(bytes(value))
        case dict() | list() | tuple():
            if depth == JSON_DEPTH_MAX:
                raise ValueError(f"arrays and objects lie at most {JSON_DEPTH_MAX} deep")
            _write_container(cast("dict[object, object] | list[object]", value), pieces, depth + 1)
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON type; make it a str, a number, a list or a dict first")


def _write_container(value: dict[object, object] | list[object], pieces: list[bytes], depth: int) -> None:
    mapping = isinstance(value, Mapping)
    pieces.append(b"{" if mapping else b"[")
    for n, item in enumerate(value):
        if n:
            pieces.append(b",")
        if mapping:
            pieces += (_key(item), b":")
        _write(value[item] if mapping else item, pieces, depth)
    pieces.append(b"}" if mapping else b"]")


def _key(key: object) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"a key of a JSON object is a str, not {type(key).__name__}")
    return _text(key)


def _text(text: str) -> bytes:
    try:
        return _WRITER.encode(str.__str__(text))
    except UnicodeEncodeError:
        raise ValueError("a string holds half a surrogate pair, which is no character") from None


def _number(number: float | Decimal) -> bytes:
    match number:
        case int():
            digits = _integer(number)
        case float():
            digits = float.__repr__(number)
        case Decimal():
            digits = Decimal.__str__(number)
    if digits.lstrip("-")[:1] not in "0123456789":
        raise ValueError(f"{digits} is no JSON number")
    if len(digits) > JSON_NUMBER_CHARS_MAX:
        raise ValueError(f"a number has at most {JSON_NUMBER_CHARS_MAX} characters")
    return digits.encode()


def _integer(number: int) -> str:
    # Python refuses to write very long integers; these are too long for us long before that.
    if number.bit_length() > 4 * JSON_NUMBER_CHARS_MAX:
        raise ValueError(f"a number has at most {JSON_NUMBER_CHARS_MAX} characters")
    return int.__repr__(number)
