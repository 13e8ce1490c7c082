"""What is sent becomes an event, and an event what is sent: its bytes are never written anew."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import structs

from steadhold.inboxes.items import Envelope, Item, item, shown
from steadhold.inboxes.model import Gap, Page, Received
from steadhold.inboxes.wire import EventBody, LineBody
from steadhold.kit import exact, limits
from steadhold.web import reply
from steadhold.web.ask import Problem, Request
from steadhold.web.problem import stop

NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"

Instant: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]

_NO_INSTANT: Final = "/occurred_at is no instant with its offset, such as 2026-11-29T16:00:00Z (RFC 3339)."
_LINE: Final = msgspec.json.Decoder(LineBody)
_TOO_LARGE: Final = f"The data of one event has at most {limits.INBOX_EVENT_BYTES_MAX} bytes."


def media(ask: Request) -> str:
    """The type of the body, without its parameters."""
    return ask.headers.get("content-type", "").partition(";")[0].strip().lower()


def raw_event(ask: Request, key: str, type: str) -> Item:
    """An event whose data is the whole body, whatever its type says it is."""
    _within(ask.body)
    kind = ask.headers.get("content-type") or "application/octet-stream"
    if len(kind) > limits.ID_CHARS_MAX:
        stop("bad_header", f"Content-Type has at most {limits.ID_CHARS_MAX} characters.", field="Content-Type")
    if media(ask) == JSON:
        if fault := exact.check(ask.body):
            stop("bad_json", f"{fault.why} (byte {fault.position})", position=fault.position)
        return item(key, Envelope(type), ask.body)
    return item(key, Envelope(type), ask.body, kind)


def event(key: str, body: EventBody) -> Item:
    """An event as its members say."""
    data = _data(body)
    _within(data)
    if bool(data) == (body.data_ref is not None):
        stop("bad_member", "/data or /data_ref must be there, and not both.", pointer="/data")
    if not _is_instant(body.occurred_at):
        stop("bad_member", _NO_INSTANT, pointer="/occurred_at")
    return item(key, _envelope(body), data or None)


def _is_instant(text: str | None) -> bool:
    try:
        return text is None or bool(msgspec.convert(text, Instant))
    except msgspec.ValidationError:
        return False


def _data(body: EventBody) -> bytes:
    return b"" if isinstance(body.data, msgspec.UnsetType) else bytes(body.data)


def _envelope(body: EventBody) -> Envelope:
    return Envelope(
        body.type, shown(body.schema_version), body.aggregate_id, body.aggregate_revision, body.occurred_at,
        body.correlation_id, body.causation_id, body.data_ref,
    )  # fmt: skip


def _within(data: bytes) -> None:
    if len(data) > limits.INBOX_EVENT_BYTES_MAX:
        stop("too_large", _TOO_LARGE, bytes_max=limits.INBOX_EVENT_BYTES_MAX)


def lines(ask: Request) -> list[Item | tuple[str | None, Problem]]:
    """The events of a batch, a line each; or what is wrong with the line, beside its key if that can be told."""
    found = ask.body.split(b"\n")
    if not found[-1].strip():
        found.pop()
    if len(found) > limits.INBOX_BATCH_ITEMS_MAX:
        stop("bad_member", f"A batch has at most {limits.INBOX_BATCH_ITEMS_MAX} lines.", pointer="")
    return [line(text) for text in found]


def line(text: bytes) -> Item | tuple[str | None, Problem]:
    """The event of one line."""
    if fault := exact.check(text):
        return None, Problem("bad_json", f"{fault.why} (byte {fault.position})")
    try:
        body = _LINE.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return None, Problem("bad_member", str(error))
    data = _data(body)
    if len(data) > limits.INBOX_EVENT_BYTES_MAX:
        return body.key, Problem("too_large", _TOO_LARGE)
    if bool(data) == (body.data_ref is not None):
        return body.key, Problem("bad_member", "/data or /data_ref must be there, and not both.")
    if not _is_instant(body.occurred_at):
        return body.key, Problem("bad_member", _NO_INSTANT)
    return item(body.key, _envelope(body), data or None)


def written(event: Received) -> bytes:
    """An event as a JSON object: the bytes that were kept, put together."""
    start = b'{"sequence":%d,"event_id":%b,"accepted_at":"%b",%b' % (
        event.sequence, reply.encode(event.event_id), _instant(event.accepted_at), event.head,
    )  # fmt: skip
    if event.body is None:
        return start + b"}"
    if event.content_type is None:
        return b'%b,"data":%b}' % (start, event.body)
    return start + _encoded(event.content_type, event.body)


def _encoded(kind: str, body: bytes) -> bytes:
    return b',"content_type":%b,"data_base64":"%b"}' % (reply.encode(kind), base64.b64encode(body))


def lined(event: Received) -> bytes:
    """An event as a JSON object on one line. JSON that was sent on several keeps its bytes as data of a type does."""
    if event.content_type is None and event.body is not None and (b"\n" in event.body or b"\r" in event.body):
        return written(structs.replace(event, content_type=JSON))
    return written(event)


def _instant(moment: datetime) -> bytes:
    return reply.instant(moment).encode()


def gap(found: Gap) -> bytes:
    """A gap as a JSON object."""
    return b'{"from":%d,"to":%d,"reason":%b,"at":"%b"}' % (
        found.from_sequence, found.to_sequence, reply.encode(found.reason), _instant(found.at.astimezone(UTC)),
    )  # fmt: skip


def page(found: Page) -> bytes:
    """A page as a JSON object."""
    return b'{"epoch":%b,"events":[%b],"gaps":[%b],"next_after":%d,"first_retained":%d,"last_sequence":%d}' % (
        reply.encode(found.epoch), b",".join(map(written, found.events)), b",".join(map(gap, found.gaps)),
        found.next_after, found.first_retained, found.last_sequence,
    )  # fmt: skip


def exported(found: Page) -> bytes:
    """A page as lines: what is gone first, then the events."""
    told: Sequence[bytes] = [b'{"gap":%b}' % gap(one) for one in found.gaps]
    return b"".join([b"%b\n" % one for one in (*told, *map(lined, found.events))])
