"""Secrets at rest: sealed by a key of the server's settings, bound to what they are of."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steadhold.kit.ids import new_secret

_VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32


class KeyFault(ValueError):
    """The setting holds no sealing key; the message says what one looks like."""


class Unsealable(Exception):
    """What was sealed cannot be opened: under another key, for something else, or altered."""


@dataclass(frozen=True, slots=True)
class Sealing:
    """Seals with the first key and opens with any, so that a key can be replaced."""

    keys: Sequence[bytes]

    def __repr__(self) -> str:
        return f"Sealing({len(self.keys)} keys)"

    def __bool__(self) -> bool:
        return bool(self.keys)

    def seal(self, plain: bytes, of: str) -> bytes:
        """Seal bytes, bound to what they are `of`."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = new_secret()[:_NONCE_BYTES]
        return _VERSION + nonce + AESGCM(self.keys[0]).encrypt(nonce, plain, of.encode())

    def open(self, sealed: bytes, of: str) -> bytes:
        """Open what was sealed. Raises Unsealable."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        version, nonce, rest = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for key in self.keys if version == _VERSION else ():
            try:
                return AESGCM(key).decrypt(nonce, rest, of.encode())
            except (InvalidTag, ValueError):  # another key's, or too short to have been sealed
                continue
        raise Unsealable


UNSEALED: Final = Sealing(())
"""Of a server that has no sealing key: it keeps no secrets."""


def new_key() -> str:
    """Make a sealing key, as the setting takes it."""
    return base64.b64encode(new_secret()).decode()


def read_keys(setting: str) -> Sealing:
    """Read the setting: keys in base64, a comma or blank between. Raises KeyFault."""
    return Sealing(tuple(_key(text) for text in setting.replace(",", " ").split()))


def _key(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyFault("a sealing key is base64 (openssl rand -base64 32)") from error
    if len(key) != _KEY_BYTES:
        raise KeyFault(f"a sealing key has {_KEY_BYTES} bytes, not {len(key)} (openssl rand -base64 32)")
    return key
