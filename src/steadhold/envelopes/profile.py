"""Sealing and opening: JWE (RFC 7516) compact, A256KW (RFC 3394) around a fresh A256GCM key for each message."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from joserfc.registry import HeaderParameter

from steadhold.envelopes.keyring import Keyring
from steadhold.kit.limits import SEALED_BYTES_MAX
from steadhold.kit.sealed import ALG, ENC, Bound, SealFault, header_of, seal_of

PROFILE: Final = [ALG, ENC]


class EnvelopeRefused(ValueError):
    """What came is not what was sealed for this place by a key of the keyring. Nothing of it is shown."""


def _tested_before(_value: Any) -> None:
    """Nothing is left to test: `seal_of` has read the header."""


class _Registry(jwe.JWERegistry):
    """What the library may take: `ctx`, and messages as large as ours."""

    max_protected_header_length = 8_192
    max_ciphertext_length = SEALED_BYTES_MAX


_REGISTRY: Final = _Registry(
    header_registry={"ctx": HeaderParameter("What it is bound to", _tested_before)}, algorithms=PROFILE
)


def seal(keyring: Keyring, bound: Bound, data: bytes) -> bytes:
    """Encrypt and authenticate `data` with the primary key, bound to where it will lie and to the coming revision.

    Raises:
        ValueError: it would be larger than an envelope may be.
    """
    header = header_of(keyring.primary.kid, bound)
    envelope = jwe.encrypt_compact(header, data, _key(keyring.primary.secret), registry=_REGISTRY).encode()
    match seal_of(envelope):
        case SealFault(why):
            raise ValueError(why)
        case _:
            return envelope


def open_envelope(keyring: Keyring, bound: Bound, envelope: bytes) -> bytes:
    """Decrypt what was sealed for exactly this place and revision.

    Raises:
        EnvelopeRefused: it is no envelope of the profile, its key is not in the keyring, it was sealed for another
            place or revision, or a bit of it is not as it was sealed.
    """
    said = seal_of(envelope)
    if isinstance(said, SealFault):
        _refuse(said.why)
    if said.bound != bound:
        differ = [word for word in bound.__struct_fields__ if getattr(said.bound, word) != getattr(bound, word)]
        _refuse(f"It was sealed for another place: {', '.join(differ)} differ.")
    key = keyring.key(said.kid)
    if key is None:
        _refuse(f"Its key {said.kid!r} is not in the keyring.")
    try:
        opened = jwe.decrypt_compact(envelope, _key(key.secret), registry=_REGISTRY)
    except (JoseError, ValueError):
        _refuse("It is not as it was sealed, or by another key of this name.")
    assert opened.plaintext is not None, "what was decrypted has a plaintext"
    return opened.plaintext


def _key(secret: bytes) -> OctKey:
    return OctKey.import_key(secret)


def _refuse(why: str) -> NoReturn:
    raise EnvelopeRefused(f"The envelope is refused. {why}") from None
