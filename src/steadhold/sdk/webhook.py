"""What a webhook's receiver needs: `Webhook(secret).verify(headers, body)` tells a delivery of ours from anything else.

It follows Standard Webhooks, so it verifies other senders' deliveries too. It needs nothing of the server.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

from steadhold.kit import exact
from steadhold.sdk.errors import SteadholdError


@runtime_checkable
class Fields(Protocol):
    """Headers that give pairs: a mapping, or those of `http.server`, which are none."""

    def items(self) -> Iterable[tuple[str, str]]: ...


Headers: TypeAlias = Fields | Iterable[tuple[str, str]]

TOLERANCE_SECONDS: Final = 300
HEADER_CHARS_MAX: Final = 16_384
"""Of a signature field; a longer one is none of ours and is not read."""

KEY_BYTES_MIN: Final = 16
"""Of a shared key: senders make none below 24, some of old did."""

_SECONDS: Final = re.compile(r"[0-9]{1,12}")
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_KEY_BYTES: Final = 32


class NotVerified(SteadholdError):
    """The delivery is not what it says it is, or too old: answer 401 and act on nothing of it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that was verified. `event_id` is the same in every delivery of an event: deduplicate by it.

    `delivery_id` is of one delivery or replay, and None where the sender was another than steadhold; so are the
    counts then 0. `skipped`: how many deliveries of the same aggregate were given up just before this one.
    """

    event_id: str
    sent_at: int
    body: bytes
    delivery_id: str | None = None
    attempt: int = 0
    replay: bool = False
    hops: int = 0
    skipped: int = 0

    @property
    def value(self) -> Any:
        """What the body says: integers as int, fractions as Decimal. Raises ValueError where it is no exact JSON."""
        return exact.decode(self.body)


class Webhook:
    """Verifies deliveries by a secret: `whsec_…`, or a public key `whpk_…` (with `pip install steadhold[crypto]`).

    Raises ValueError for what is neither. `now` tells the seconds since 1970; tests give another.
    """

    def __init__(
        self, secret: str, *, tolerance_seconds: int = TOLERANCE_SECONDS, now: Callable[[], float] = time.time
    ) -> None:
        self._version, self._right = _verifier(secret)
        self._tolerance, self._now = tolerance_seconds, now

    def verify(self, headers: Headers, body: bytes) -> Delivery:
        """Tell that a delivery is genuine and fresh. `body` are the bytes as they arrived, before any parsing.

        Raises:
            NotVerified: it is not, whatever was sent. TypeError: `body` is no bytes, which is a mistake of the caller.
        """
        if not isinstance(cast("object", body), (bytes, bytearray, memoryview)):
            raise TypeError("verify needs the bytes of the body as they arrived, not what was parsed of them")
        body = bytes(body)
        said = _fields(headers)
        id, sent, signatures = (_text(said, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
        if not _SECONDS.fullmatch(sent):
            raise NotVerified("webhook-timestamp is no whole number of seconds.")
        if abs(self._now() - int(sent)) >= self._tolerance + 1:
            raise NotVerified(f"The delivery was not sent within {self._tolerance} seconds of now.")
        try:
            signed = b"%b.%b.%b" % (id.encode("utf-8", "surrogateescape"), sent.encode(), body)
        except UnicodeEncodeError as error:
            raise NotVerified("webhook-id has half a character.") from error
        if not self._signed(signatures, signed):
            raise NotVerified("No signature fits this secret and these bytes.")
        return _delivery(said, id, int(sent), body)

    def _signed(self, signatures: str, signed: bytes) -> bool:
        if len(signatures) > HEADER_CHARS_MAX:
            return False
        found = False
        for entry in signatures.split(" "):
            version, comma, text = entry.partition(",")
            if comma and version == self._version:
                found |= self._right(signed, text)
        return found


def _fields(headers: Headers) -> dict[str, str]:
    """Header fields by lower-case name. One that came twice is left out: nobody can tell which was meant."""
    pairs = headers.items() if isinstance(headers, Fields) else headers
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, value in ((_decoded(name).lower(), _decoded(value)) for name, value in pairs):
        if name in found and found[name] != value:
            twice.add(name)
        found[name] = value
    return {name: value for name, value in found.items() if name not in twice}


def _decoded(text: Any) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else str(text)


def _text(said: Mapping[str, str], name: str) -> str:
    found = said.get(name, "")
    if not found:
        raise NotVerified(f"{name} is missing.")
    return found


def _delivery(said: Mapping[str, str], id: str, sent_at: int, body: bytes) -> Delivery:
    """What our own fields tell; they are not signed, so nothing depends on them that matters."""

    def count(name: str) -> int:
        told = said.get(f"x-steadhold-{name}", "")
        return int(told) if _COUNT.fullmatch(told) else 0

    return Delivery(
        event_id=id,
        sent_at=sent_at,
        body=body,
        delivery_id=said.get("x-steadhold-delivery-id"),
        attempt=count("attempt"),
        replay=said.get("x-steadhold-replay") == "true",
        hops=count("hops"),
        skipped=count("skipped"),
    )


Right = Callable[[bytes, str], bool]


def _verifier(secret: str) -> tuple[str, Right]:
    if secret.startswith("whsk_"):
        raise ValueError("whsk_… signs: verify with the public key that belongs to it, whpk_…")
    if secret.startswith("whpk_"):
        return "v1a", _public(_key(secret.removeprefix("whpk_")))
    key = _key(secret.removeprefix("whsec_"))
    if len(key) < KEY_BYTES_MIN:
        raise ValueError("a secret has 24 to 64 bytes in base64, as whsec_…")
    return "v1", _shared(key)


def _key(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("a secret is whsec_…, or a public key whpk_…, and base64 behind that") from error


def _shared(key: bytes) -> Right:
    def right(signed: bytes, text: str) -> bool:
        wanted = base64.b64encode(hmac.digest(key, signed, "sha256"))
        return hmac.compare_digest(wanted, text.encode("utf-8", "surrogatepass"))

    return right


def _public(key: bytes) -> Right:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise ValueError("a public key needs cryptography: pip install 'steadhold[crypto]'") from error
    if len(key) != _KEY_BYTES:
        raise ValueError(f"a public key has {_KEY_BYTES} bytes in base64, as whpk_…")
    public = Ed25519PublicKey.from_public_bytes(key)

    def right(signed: bytes, text: str) -> bool:
        try:
            public.verify(base64.b64decode(text, validate=True), signed)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True

    return right
