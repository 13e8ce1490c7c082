"""How third parties sign what they send: five schemes, over the bytes as they came. Pure.

What a scheme signs is all that is proven. GitHub signs neither a time nor an id: who holds one request can send it
again, also under another id.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import msgspec

from steadhold.kit import limits
from steadhold.kit.plan import Refusal

Scheme: TypeAlias = Literal["standard", "github", "stripe", "slack", "hmac"]

_DIGITS: Final = re.compile(r"[0-9]{1,12}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_STRIPE: Final = re.compile(r"(t|v1)=([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Proven:
    """The sender knew the secret. `id` is what the scheme names the event by; None: it names none."""

    id: str | None
    signed_at: int | None = None


@dataclass(frozen=True, slots=True)
class Refused(Refusal):
    """The signature is missing, malformed or another's, or its time is too far off (401 `signature_refused`)."""

    why: str


@dataclass(frozen=True, slots=True)
class Challenged:
    """Slack asks whether anybody is here: answer with these bytes. It is signed like an event."""

    challenge: str


Verdict: TypeAlias = Proven | Refused | Challenged
Headers: TypeAlias = Mapping[str, str]
"""Fields of the request, their names in lower case."""


def verify(scheme: Scheme, secrets: Sequence[bytes], headers: Headers, body: bytes, now: int) -> Verdict:
    """Say whether one of the secrets signed this request; `now` is the clock in Unix seconds.

    A field that is malformed is refused like one that is wrong: nothing here raises on what a stranger sends.
    """
    return _SCHEMES[scheme](secrets, headers, body, now)


def secret_of(scheme: Scheme, text: str) -> bytes:
    """The key that a secret's text stands for: base64 behind `whsec_` for Standard Webhooks, else its bytes.

    Raises:
        ValueError: it is too short to prove anything, or none of its scheme.
    """
    if scheme == "standard":
        return _standard_secret(text.removeprefix("whsec_"))
    if len(key := text.encode()) < 16:
        raise ValueError("a secret has at least 16 bytes")
    return key


def _standard_secret(text: str) -> bytes:
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a secret of Standard Webhooks is base64, behind whsec_") from None
    if not 16 <= len(key) <= 64:
        raise ValueError("a secret of Standard Webhooks stands for 16 to 64 bytes")
    return key


def secret_fault(scheme: Scheme, text: str) -> str | None:
    """Why a text cannot be a secret of a scheme, as a sentence; None where it can."""
    try:
        secret_of(scheme, text)
    except ValueError as error:
        return f"/secret: {error}."
    return None


def _standard(secrets: Sequence[bytes], headers: Headers, body: bytes, now: int) -> Verdict:
    id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or "." in id:
        return Refused("webhook-id is missing, or has a dot, so that what is signed could be read in two ways")
    if late := _late(stamp, now):
        return late
    told = [word[3:] for word in _words(headers, "webhook-signature") if word.startswith("v1,")]
    signed = b"%b.%b.%b" % (id.encode(), stamp.encode(), body)
    return _proven(secrets, signed, [_base64(text) for text in told], id, int(stamp))


def _github(secrets: Sequence[bytes], headers: Headers, body: bytes, _now: int) -> Verdict:
    kind, _, digest = headers.get("x-hub-signature-256", "").partition("=")
    told = [_hex(digest)] if kind == "sha256" else []
    return _proven(secrets, body, told, headers.get("x-github-delivery") or None)


def _stripe(secrets: Sequence[bytes], headers: Headers, body: bytes, now: int) -> Verdict:
    words = [_STRIPE.fullmatch(word.strip()) for word in headers.get("stripe-signature", "").split(",")]
    parts = [word.groups() for word in words if word]
    stamp = next((text for name, text in parts if name == "t"), "")
    if late := _late(stamp, now):
        return late
    told = [_hex(text) for name, text in parts if name == "v1"]
    return _named("id", body, _proven(secrets, b"%b.%b" % (stamp.encode(), body), told, None, int(stamp)))


def _slack(secrets: Sequence[bytes], headers: Headers, body: bytes, now: int) -> Verdict:
    stamp = headers.get("x-slack-request-timestamp", "")
    if late := _late(stamp, now):
        return late
    version, _, digest = headers.get("x-slack-signature", "").partition("=")
    told = [_hex(digest)] if version == "v0" else []
    proven = _proven(secrets, b"v0:%b:%b" % (stamp.encode(), body), told, None, int(stamp))
    if isinstance(proven, Proven) and member(body, "type") == "url_verification":
        return Challenged(member(body, "challenge") or "")
    return _named("event_id", body, proven)


def _generic(secrets: Sequence[bytes], headers: Headers, body: bytes, _now: int) -> Verdict:
    told = [_hex(text.removeprefix("sha256=")) for text in _words(headers, "x-signature")]
    return _proven(secrets, body, told, headers.get("x-event-id") or None)


_SCHEMES: Final[Mapping[Scheme, Callable[[Sequence[bytes], Headers, bytes, int], Verdict]]] = {
    "standard": _standard,
    "github": _github,
    "stripe": _stripe,
    "slack": _slack,
    "hmac": _generic,
}
SCHEMES: Final[tuple[Scheme, ...]] = tuple(_SCHEMES)
"""The schemes there are."""


def _proven(
    secrets: Sequence[bytes], signed: bytes, told: Sequence[bytes | None], id: str | None, at: int | None = None
) -> Proven | Refused:
    """Compare every signature that was sent with every secret, whichever of them fits."""
    expected = [hmac.digest(secret, signed, hashlib.sha256) for secret in secrets]
    fits = [hmac.compare_digest(one, given) for one in expected for given in told if given is not None]
    return Proven(id, at) if any(fits) else Refused("no signature here is made with this door's secret")


def _named(path: str, body: bytes, verdict: Proven | Refused) -> Proven | Refused:
    """With the id that the body has. What nobody has signed is not read: that would be a stranger's to make slow."""
    return replace(verdict, id=member(body, path)) if isinstance(verdict, Proven) else verdict


def _late(stamp: str, now: int) -> Refused | None:
    if not _DIGITS.fullmatch(stamp):
        return Refused("the signed time is missing, or no number of seconds")
    if abs(int(stamp) - now) > limits.DOOR_DRIFT_SECONDS_MAX:
        return Refused(f"the signed time lies more than {limits.DOOR_DRIFT_SECONDS_MAX} seconds from the clock here")
    return None


def _words(headers: Headers, name: str) -> list[str]:
    return headers.get(name, "").split()


def _hex(text: str) -> bytes | None:
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None


def _base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str)


def member(body: bytes, path: str) -> str | None:
    """A text member of a JSON object, or of one within it (`event.type`); None where there is none.

    Only the way to it is read: a large body costs little.
    """
    found: bytes | msgspec.Raw = body
    try:
        for name in path.split("."):
            found = _MEMBERS.decode(found)[name]
        return _TEXT.decode(found) or None
    except (msgspec.DecodeError, KeyError, UnicodeDecodeError, RecursionError):
        return None
