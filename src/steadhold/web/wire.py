"""From an answer to what is sent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from steadhold.kit import failpoints
from steadhold.web.ask import Answer, Problem, Reply
from steadhold.web.codes import PROBLEMS
from steadhold.web.problem import MEDIA_TYPE, encode

Send: TypeAlias = Callable[[Any], Awaitable[None]]

_ALWAYS: Final = b"cache-control: no-store, no-transform\r\nx-content-type-options: nosniff\r\n"
_JSON: Final = _ALWAYS + b"content-type: application/json\r\n"
_PROBLEM: Final = _ALWAYS + b"content-type: %b\r\n" % MEDIA_TYPE.encode()
_UNBUFFERED: Final = b"x-accel-buffering: no\r\n"
"""Asks a proxy to hand on what comes, and not to wait until there is more."""

_LEADS: Final = re.compile("^(<?)/")
_BREAKS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def written(answer: Answer, more: bytes = b"", base: str = "") -> tuple[int, bytes, tuple[bytes, ...]]:
    """An answer as it is sent: its status, the lines of its header fields, `more` of them at the end, its pieces.

    `base` is what stands before our addresses outside: the public address, the path of a mount as it is written, or
    nothing.
    """
    if isinstance(answer, Problem):
        status, pieces, fields = PROBLEMS[answer.code].status, (encode(answer, base),), _PROBLEM
        length = len(pieces[0])
    else:
        status, pieces, fields = answer.status, answer.pieces or (answer.body,), _fields(answer)
        length = sum(map(len, pieces))
        if (stream := answer.stream) is not None:
            length = answer.length
            fields += _UNBUFFERED if stream.endless else b""
    if status not in {204, 304} and length is not None:
        fields += b"content-length: %d\r\n" % length
    if answer.headers:
        fields += b"".join([_line(name, _outside(name, value, base)) for name, value in answer.headers])
    return status, fields + more, pieces


async def send(sender: Send, answer: Answer, *, base: str = "", head: bool = False) -> None:
    """Send an answer whole, in ASGI's messages. `head` leaves its body out, as a HEAD asks."""
    await tell(sender, *written(answer, base=base), head=head)


async def tell(sender: Send, status: int, fields: bytes, pieces: tuple[bytes, ...], *, head: bool) -> None:
    """Send what is written, in ASGI's messages."""
    body = b"".join(pieces)
    await sender({"type": "http.response.start", "status": status, "headers": pairs(fields)})
    if failpoints.armed and not head:
        await sender({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        failpoints.hit("reply_half_sent")
        body = body[len(body) // 2 :]
    await sender({"type": "http.response.body", "body": b"" if head else body})


def pairs(fields: bytes) -> list[tuple[bytes, ...]]:
    """Lines of header fields as ASGI has them."""
    return [tuple(line.split(b": ", 1)) for line in fields.split(b"\r\n")[:-1]]


def _fields(reply: Reply) -> bytes:
    fields = _ALWAYS
    if reply.body or reply.stream or reply.status not in {204, 304}:
        is_json = reply.content_type == "application/json"
        fields = _JSON if is_json else fields + _line("content-type", reply.content_type)
    if reply.revision is not None:
        fields += b'etag: "%d"\r\nrevision: %d\r\n' % (reply.revision, reply.revision)
    return fields


def _outside(name: str, value: str, base: str) -> str:
    """A field that leads to an address of ours, as the client has to write that."""
    return _LEADS.sub(rf"\g<1>{base}/", value) if base and name in {"link", "location"} else value


def _line(name: str, value: str) -> bytes:
    if _BREAKS.search(value):
        raise ValueError(f"the field {name} cannot be {value!a}: it would end the line")
    return f"{name.lower()}: {value}\r\n".encode("latin-1")
