"""What of a private envelope is readable: the header that a server checks before it stores, and nobody can trust.

An envelope is a JWE in compact form (RFC 7516, section 7.1) of one profile: `alg` A256KW, `enc` A256GCM, `kid`, and
`ctx` under `crit`, which says what the envelope is bound to. Nothing here knows a key.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steadhold.kit import exact
from steadhold.kit.limits import SEALED_BYTES_MAX
from steadhold.kit.rules import Id

MEDIA_TYPE: Final = "application/jose"
OPENING: Final = b"eyJ"
"""How every envelope begins, and no JSON does."""
ALG: Final = "A256KW"
ENC: Final = "A256GCM"

_PART: Final = re.compile(rb"[A-Za-z0-9_-]*")
_HEADER_CHARS_MAX: Final = 8_192
_KEY_CHARS, _NONCE_CHARS, _TAG_CHARS = 54, 16, 22  # 40, 12 and 16 bytes

Kind: TypeAlias = Literal["state", "context"]


class Bound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an envelope is bound to: the place it lies in, and the `revision` that its writing made."""

    workspace: str
    kind: Kind
    name: str
    content_type: str
    revision: Annotated[int, Meta(ge=1, le=2**63 - 1)]


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alg: Literal["A256KW"]
    enc: Literal["A256GCM"]
    kid: Id
    ctx: Bound
    crit: tuple[Literal["ctx"]]


@dataclass(frozen=True, slots=True)
class Seal:
    """What the header of an envelope says: which key opens it, and what it claims to be bound to."""

    kid: str
    bound: Bound


@dataclass(frozen=True, slots=True)
class SealFault:
    """Bytes that are no envelope of the profile. `why` is a sentence."""

    why: str


_HEADERS: Final = msgspec.json.Decoder(_Header)


def seal_of(raw: bytes) -> Seal | SealFault:
    """Read the header of an envelope and test the shape of all its parts; never its content."""
    if len(raw) > SEALED_BYTES_MAX:
        return SealFault(f"An envelope takes up to {SEALED_BYTES_MAX} bytes; these are {len(raw)}.")
    parts = raw.split(b".", 5)
    if len(parts) != 5:
        return SealFault("An envelope is a JWE in compact form: five parts with dots between them.")
    if why := _parts_fault(parts):
        return SealFault(why)
    said = _decoded(parts[0])
    if fault := exact.check(said):
        return SealFault(f"The header of an envelope is exact JSON: {fault.why}")
    try:
        header = _HEADERS.decode(said)
    except msgspec.MsgspecError as wrong:
        return SealFault(f"The header of an envelope has alg {ALG}, enc {ENC}, kid, ctx and crit alone: {wrong}.")
    return Seal(header.kid, header.ctx)


class SealReader:
    """Reads the seal of an envelope that comes piece by piece, and keeps next to nothing of it."""

    __slots__ = ("_cipher", "_dots", "_fault", "_head", "_size", "_tag")

    def __init__(self) -> None:
        self._head, self._cipher, self._tag = bytearray(), b"", bytearray()
        self._dots = self._size = 0
        self._fault = False

    def update(self, piece: bytes) -> None:
        """Read on."""
        self._size += len(piece)
        while piece and not self._fault:
            part, dot, piece = piece.partition(b".")
            self._take(part)
            if dot:
                self._dots += 1
                self._head += dot if self._dots <= 3 else b""

    def _take(self, part: bytes) -> None:
        if self._dots < 3:
            self._head += part
            self._fault = len(self._head) > _HEADER_CHARS_MAX + _KEY_CHARS + _NONCE_CHARS + 3
        elif self._dots == 3:  # of the ciphertext no more is needed than its last group of characters
            self._fault = not _PART.fullmatch(part)
            self._cipher = self._cipher[len(self._cipher) // 4 * 4 :] + part
            self._cipher = self._cipher[len(self._cipher) // 4 * 4 :]
        else:
            self._tag += part[: _TAG_CHARS + 1]
            self._fault = self._dots > 4 or len(self._tag) > _TAG_CHARS

    @property
    def broken(self) -> bool:
        """Whether what came so far is the beginning of no envelope."""
        return self._fault or not (bytes(self._head).startswith(OPENING) or OPENING.startswith(self._head))

    def end(self) -> Seal | SealFault:
        """What `seal_of` says of all that came."""
        if self._size > SEALED_BYTES_MAX:
            return SealFault(f"An envelope takes up to {SEALED_BYTES_MAX} bytes; these are {self._size}.")
        if self._fault or self._dots != 4:
            return SealFault("This is no JWE in compact form with the key, nonce and tag of the profile.")
        return seal_of(bytes(self._head) + self._cipher + b"." + bytes(self._tag))


def _parts_fault(parts: list[bytes]) -> str | None:
    if not all(_PART.fullmatch(part) and _canonical(part) for part in parts):
        return "The parts of an envelope are base64url without padding, each in its one spelling."
    if len(parts[0]) > _HEADER_CHARS_MAX:
        return f"The header of an envelope takes up to {_HEADER_CHARS_MAX} characters."
    if (len(parts[1]), len(parts[2]), len(parts[4])) != (_KEY_CHARS, _NONCE_CHARS, _TAG_CHARS):
        return f"The key, nonce and tag of an envelope have the lengths of {ALG} and {ENC}."
    return None


def _canonical(part: bytes) -> bool:
    """Whether the bits that its last character has to spare are zero, so that nothing else spells the same bytes."""
    tail = part[len(part) // 4 * 4 :]
    return not tail or (len(tail) > 1 and urlsafe_b64encode(_decoded(tail)).rstrip(b"=") == tail)


def _decoded(part: bytes) -> bytes:
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def header_of(kid: str, bound: Bound) -> dict[str, Any]:
    """The header of an envelope that is to be made."""
    return {"alg": ALG, "enc": ENC, "kid": kid, "ctx": msgspec.to_builtins(bound), "crit": ["ctx"]}
