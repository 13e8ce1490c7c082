"""The header fields of an attempt: ours, those of Standard Webhooks, and the endpoint's own, which are sealed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from steadhold.kit import traces
from steadhold.kit.seal import Sealing, Unsealable
from steadhold.webhooks import sign
from steadhold.webhooks.model import PING, REPLAY, Batch, Secret, Sending
from steadhold.webhooks.sign import Signing

FIELDS_MAX: Final = 20
VALUE_CHARS_MAX: Final = 4_096
HOPS_MAX: Final = 8

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20\x09\x21-\x7e]*[\x21-\x7e])?")
_OURS: Final = ("content-", "webhook-", "x-steadhold-", "proxy-", "sec-", "accept-")
_FORBIDDEN: Final = frozenset({
    "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "date", "cookie",
    "user-agent", "accept", "via", "forwarded", "http2-settings",
})  # fmt: skip


def field_fault(name: str, value: str) -> str | None:
    """Why an endpoint cannot have a header field, as a sentence that does not repeat its value; None where it can."""
    lower = name.lower()
    seen = lower.replace("_", "-")  # as receivers behind CGI and WSGI see it
    if not _NAME.fullmatch(name):
        return "A field's name is a token of HTTP."
    if seen in _FORBIDDEN or seen.startswith(_OURS):
        return f"The field {lower} is not an endpoint's to say."
    if len(value) > VALUE_CHARS_MAX or not _VALUE.fullmatch(value):
        return f"The value of {lower} must be 1 to {VALUE_CHARS_MAX} visible ASCII characters, blanks only between."
    return None


def of_secret(workspace: str, webhook: str) -> str:
    """What a secret is sealed for."""
    return f"webhook secret {workspace} {webhook}"


def of_headers(workspace: str, webhook: str) -> str:
    """What an endpoint's own fields are sealed for."""
    return f"webhook headers {workspace} {webhook}"


def sealed_headers(sealing: Sealing, workspace: str, webhook: str, fields: Mapping[str, str]) -> bytes | None:
    """An endpoint's own fields, as they are kept."""
    return sealing.seal(msgspec.json.encode(fields), of_headers(workspace, webhook)) if fields else None


def opened(sealing: Sealing, workspace: str, batch: Batch) -> tuple[list[Signing], dict[str, str]]:
    """The secrets that sign, and the endpoint's own fields. Raises Unsealable.

    One that was rotated out, and cannot be opened any more, keeps the current one from nothing.
    """
    webhook, sealed = batch.endpoint.id, batch.endpoint.spec.headers
    opening = [_opened(sealing, secret, of_secret(workspace, webhook)) for secret in batch.secrets]
    secrets = [signing for signing in opening if signing is not None]
    if sealed is None:
        return secrets, {}
    own = msgspec.json.decode(sealing.open(sealed, of_headers(workspace, webhook)), type=dict[str, str])
    return secrets, own


def _opened(sealing: Sealing, secret: Secret, of: str) -> Signing | None:
    try:
        return sign.read_secret(sealing.open(secret.sealed, of).decode())
    except Unsealable:
        if secret.until is None:
            raise
        return None


def headers(sending: Sending, secrets: Sequence[Signing], own: Mapping[str, str]) -> dict[str, str]:
    """All fields of an attempt. Signed anew each time, at the time at which the attempt began."""
    signed = sign.headers(secrets, sign.wire_id(sending.event_id), int(sending.started_at.timestamp()), sending.body)
    told = {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "user-agent": "steadhold",
        **signed,
        "x-steadhold-delivery-id": sending.delivery,
        "x-steadhold-attempt": str(sending.n),
        "x-steadhold-hops": "1",
    }
    cause = traces.traceparent(sending.trace)
    if cause is not None and traces.HEADER not in map(str.lower, own):
        told[traces.HEADER] = cause
    if sending.kind == REPLAY:
        told["x-steadhold-replay"] = "true"
    if sending.kind == PING:
        told["x-steadhold-ping"] = "true"
    if sending.skipped:
        told["x-steadhold-skipped"] = str(sending.skipped)
    return {**own, **told}
