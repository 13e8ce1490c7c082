"""From an answer to the two messages that ASGI sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from steadhold.kit import failpoints
from steadhold.web.ask import Answer, Headers, Problem, Reply
from steadhold.web.codes import PROBLEMS
from steadhold.web.problem import MEDIA_TYPE, encode

Send: TypeAlias = Callable[[Any], Awaitable[None]]

_ALWAYS: Final = [(b"cache-control", b"no-store, no-transform"), (b"x-content-type-options", b"nosniff")]
_JSON: Final = (b"content-type", b"application/json")
_PROBLEM: Final = (b"content-type", MEDIA_TYPE.encode())


async def send(sender: Send, answer: Answer, more: Headers = (), *, base: str = "", head: bool = False) -> None:
    """Send an answer whole. `head` leaves its body out, as a HEAD asks."""
    if isinstance(answer, Problem):
        status, body, fields = PROBLEMS[answer.code].status, encode(answer, base), [*_ALWAYS, _PROBLEM]
    else:
        status, body, fields = answer.status, answer.body, _fields(answer)
    if status not in {204, 304}:
        fields.append((b"content-length", b"%d" % len(body)))
    for name, value in (*answer.headers, *more):
        fields.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    await sender({"type": "http.response.start", "status": status, "headers": fields})
    if failpoints.armed and not head:
        await sender({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        failpoints.hit("reply_half_sent")
        body = body[len(body) // 2 :]
    await sender({"type": "http.response.body", "body": b"" if head else body})


def _fields(reply: Reply) -> list[tuple[bytes, bytes]]:
    fields = _ALWAYS.copy()
    if reply.body or reply.status not in {204, 304}:
        json = reply.content_type == "application/json"
        fields.append(_JSON if json else (b"content-type", reply.content_type.encode("latin-1")))
    if reply.revision is not None:
        revision = b"%d" % reply.revision
        fields.append((b"etag", b'"%b"' % revision))
        fields.append((b"revision", revision))
    return fields
