"""The text of a key, `sh_<env>_<id>_<secret><checksum>`: made, read and compared. Pure: randomness is passed in."""

from __future__ import annotations

import functools
import hashlib
import hmac
import re
import zlib
from dataclasses import dataclass, field
from typing import Final

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in byte order, so that ids sort
_TOKEN: Final = re.compile(r"(sh_([a-z0-9]{1,16})_([0-9A-Za-z]{22})_([0-9A-Za-z]{43}))([0-9A-Za-z]{6})")
SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Token:
    """A key as its holder presents it. `hash` is all that is ever stored of its secret."""

    env: str
    key_id: str
    secret: str = field(repr=False)
    hash: bytes = field(init=False, repr=False)
    """SHA-256 of id and secret. The secret has 256 random bits, so a slow hash would add nothing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hashlib.sha256(f"{self.key_id}_{self.secret}".encode()).digest())

    @property
    def text(self) -> str:
        """The key itself: `sh_<env>_<id>_<secret><checksum>`."""
        body = f"sh_{self.env}_{self.key_id}_{self.secret}"
        return body + _checksum(body)


def key_id_of(fresh: str) -> str:
    """The id of a key, made of a UUID; keys sort by it in the order of the UUIDs."""
    return _base62(int(fresh.replace("-", ""), 16), 22)


def secret_of(random: bytes) -> str:
    """A secret, made of 32 random bytes."""
    if len(random) != SECRET_BYTES:
        raise ValueError(f"a secret takes {SECRET_BYTES} random bytes, not {len(random)}")
    return _base62(int.from_bytes(random), 43)


@functools.lru_cache(maxsize=4_096)
def parse_token(text: str) -> Token | None:
    """Read a presented key; None for what cannot be one, a mistyped one among it."""
    found = _TOKEN.fullmatch(text)
    if found is None or _checksum(found[1]) != found[5]:
        return None
    return Token(found[2], found[3], found[4])


def opens(presented: bytes, current: bytes, old: bytes) -> tuple[bool, bool]:
    """Whether a presented hash is the current one, and whether it is the old one. Both are always compared."""
    return hmac.compare_digest(presented, current), hmac.compare_digest(presented, old)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), 6)


def _base62(number: int, width: int) -> str:
    digits: list[str] = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
