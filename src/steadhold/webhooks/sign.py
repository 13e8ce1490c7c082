"""Signatures of Standard Webhooks, made from bytes: `v1` is an HMAC, `v1a` is Ed25519.

Signed are the id, the timestamp and the body as they are sent, with dots between. An id has no dot, so that no two
messages are signed alike.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

SECRET_BYTES: Final = 32
"""How long a secret is that we make; one may have 24 to 64 bytes."""

_SYMMETRIC: Final = "whsec_"
_PRIVATE: Final = "whsk_"
_PUBLIC: Final = "whpk_"
_SEED_BYTES: Final = 32
_PLAIN: Final = re.compile(r"[A-Za-z0-9_:@~-]{1,200}")


class SecretFault(ValueError):
    """The text is no secret that can sign; the message says why, and never what it was."""


@dataclass(frozen=True, slots=True)
class Symmetric:
    """A secret that signer and receiver share."""

    key: bytes

    def __repr__(self) -> str:
        return "Symmetric(…)"


@dataclass(frozen=True, slots=True)
class Asymmetric:
    """A seed whose public key receivers have."""

    seed: bytes

    def __repr__(self) -> str:
        return "Asymmetric(…)"


Signing: TypeAlias = Symmetric | Asymmetric


def read_secret(text: str) -> Signing:
    """Read a secret that signs: `whsec_…` (24 to 64 bytes) or `whsk_…`. Raises SecretFault."""
    if text.startswith(_PRIVATE):
        return _asymmetric(_decoded(text.removeprefix(_PRIVATE)))
    if text.startswith(_PUBLIC):
        raise SecretFault("a public key verifies, and signs nothing")
    key = _decoded(text.removeprefix(_SYMMETRIC))
    if not 24 <= len(key) <= 64:
        raise SecretFault(f"a secret has 24 to 64 bytes, this one {len(key)}")
    return Symmetric(key)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretFault("behind its prefix a secret is base64") from error


def _asymmetric(key: bytes) -> Asymmetric:
    if len(key) != 2 * _SEED_BYTES:
        raise SecretFault("a signing key is a seed and its public key, 32 bytes each")
    made = Asymmetric(key[:_SEED_BYTES])
    if _public(made) != key[_SEED_BYTES:]:
        raise SecretFault("the public half does not belong to the seed")
    return made


def secret_text(key: bytes) -> str:
    """The text of a shared secret."""
    return _SYMMETRIC + base64.b64encode(key).decode()


def public_text(secret: Asymmetric) -> str:
    """The text of the public key by which receivers verify."""
    return _PUBLIC + base64.b64encode(_public(secret)).decode()


def private_text(secret: Asymmetric) -> str:
    """The text of a signing key."""
    return _PRIVATE + base64.b64encode(secret.seed + _public(secret)).decode()


def _public(secret: Asymmetric) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret.seed).public_key().public_bytes_raw()


def wire_id(event_id: str) -> str:
    """The id of an event as it is signed and sent: its own; where that has a dot, one that stands for it for ever."""
    if _PLAIN.fullmatch(event_id):
        return event_id
    return "evt_" + hashlib.sha256(event_id.encode()).hexdigest()[:40]


def signature(secret: Signing, id: str, timestamp: int, body: bytes) -> str:
    """One signature, with its version before it."""
    signed = b"%b.%d.%b" % (id.encode(), timestamp, body)
    if isinstance(secret, Symmetric):
        made = hmac.digest(secret.key, signed, "sha256")
        return "v1," + base64.b64encode(made).decode()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return "v1a," + base64.b64encode(Ed25519PrivateKey.from_private_bytes(secret.seed).sign(signed)).decode()


def headers(secrets: Sequence[Signing], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three fields of Standard Webhooks, signed by every secret."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, id, timestamp, body) for secret in secrets),
    }
