"""Ids, operation keys and UUIDv7.

An Id is one URL segment, ``[A-Za-z0-9._~:@-]{1,200}``. Everything here is pure but :func:`new_id`,
the one function of ``kit`` that reads a clock: entrances call it, plans and models are given its
answer. One exception: ``jobs.Submission`` names itself where nobody names it, because the program
that makes one for its own transaction is an entrance. No plan makes one.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from typing import Final

from steadhold.kit.limits import ID_CHARS_MAX

ID_PATTERN: Final = f"[A-Za-z0-9._~:@-]{{1,{ID_CHARS_MAX}}}"
UUID_PATTERN: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""A UUID as addresses have it: one spelling, so that no two addresses name one thing."""
HASH_PATTERN: Final = "(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})"

_ID = re.compile(ID_PATTERN)
UUID: Final = re.compile(UUID_PATTERN)


def whole(pattern: str) -> str:
    """A pattern of the whole text, wherever it is searched for: a bare `$` would let Python leave a last newline."""
    return f"^{pattern}$(?![^.])"


NO_NUL: Final = whole(r"[^\x00]*")
"""Texts that PostgreSQL can hold."""

_UUID7 = re.compile(r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}")
_VERSION_AND_VARIANT = 7 << 76 | 0b10 << 62
_RANDOM_BITS = (1 << 80) - 1 & ~(0xF << 76 | 0b11 << 62)
_MILLISECONDS_MAX = (1 << 48) - 1
_RANDOM_BYTES = 10
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class IdFault:
    """A text that is no Id, with a sentence that says why."""

    why: str


def is_id(text: str) -> bool:
    """Whether ``text`` is an Id."""
    return _ID.fullmatch(text) is not None


def id_fault(text: object) -> str | None:
    """Why ``text`` is no Id, as a sentence; None when it is one."""
    if not isinstance(text, str):
        return f"An id is text; {type(text).__name__} is none."
    if is_id(text):
        return None
    if not text:
        return "An id has at least one character."
    if len(text) > ID_CHARS_MAX:
        return f"An id has at most {ID_CHARS_MAX} characters; this one has {len(text)}."
    stranger = next(c for c in text if not is_id(c))
    return f"An id holds letters, digits and . _ ~ : @ - only; {stranger!a} is none of them."


def operation_key(field: str) -> str | IdFault:
    """The operation id that an ``Idempotency-Key`` field says.

    The field is an Id as it stands, or a structured-field string whose inner value is one. An Id
    holds neither quote nor backslash, so no escape needs to be undone.
    """
    text = field.strip(" \t")
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    why = id_fault(text)
    return text if why is None else IdFault(why)


def uuid7(milliseconds: int, random: bytes) -> str:
    """The UUIDv7 (RFC 9562) of a Unix time in milliseconds and ten random bytes.

    Raises:
        ValueError: the time does not fit in 48 bits, or there are not ten bytes.
    """
    if not 0 <= milliseconds <= _MILLISECONDS_MAX:
        raise ValueError(f"a UUIDv7 holds 0 to {_MILLISECONDS_MAX} milliseconds, not {milliseconds}")
    if len(random) != _RANDOM_BYTES:
        raise ValueError(f"a UUIDv7 takes {_RANDOM_BYTES} random bytes, not {len(random)}")
    low = int.from_bytes(random) & _RANDOM_BITS | _VERSION_AND_VARIANT
    digits = f"{milliseconds << 80 | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def uuid7_ms(text: str) -> int | None:
    """The Unix time in milliseconds that a UUIDv7 holds; None when ``text`` is no UUIDv7."""
    found = _UUID7.fullmatch(text)
    return int(found[1] + found[2], 16) if found else None


def new_id() -> str:
    """A new UUIDv7 of this moment. Reads the clock and the system's randomness: entrances only."""
    return uuid7(time.time_ns() // 1_000_000, secrets.token_bytes(_RANDOM_BYTES))


def new_secret() -> bytes:
    """32 bytes of the system's randomness, for a secret that nobody can guess: entrances only."""
    return secrets.token_bytes(_SECRET_BYTES)
