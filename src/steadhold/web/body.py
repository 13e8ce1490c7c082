"""A body is read while it streams in, and never beyond its limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias

from steadhold.kit import limits
from steadhold.web.ask import Route
from steadhold.web.problem import stop

Receive: TypeAlias = Callable[[], Awaitable[Any]]

_JSON: Final = ("application/json",)


def inspect(route: Route, headers: Mapping[str, str]) -> int:
    """Refuse by its header fields what must not be read; the most bytes that the body may have."""
    most = _most(route)
    length = headers.get("content-length")
    if length is not None and length.isdecimal() and int(length) > most:
        stop("too_large", f"The body has {length} bytes; at most {most} are taken here.", bytes_max=most)
    if "content-encoding" in headers and headers["content-encoding"].lower() not in {"identity", ""}:
        stop("unsupported_coding", "Send the bytes as they are, without Content-Encoding.")
    if "content-range" in headers:  # RFC 9110 §14.5: a part is not to be taken for the whole
        stop("bad_header", "A body is all that is to be stored; no part of it is taken, so send no Content-Range.")
    return most


def inspect_type(route: Route, headers: Mapping[str, str], body: bytes) -> None:
    """Refuse a body whose type is not taken; without a body the type says nothing."""
    if route.body == "none":
        if body:
            stop("unexpected_body", "This request says all in its address and header fields; send no body.")
        return
    taken = _JSON if route.body == "json" else route.media
    if not taken or (not body and route.body == "json"):
        return
    said = headers.get("content-type", "")
    found = said if said in taken else said.partition(";")[0].strip().lower()
    if found not in taken:
        said = found or "none"
        stop("unsupported_media_type", f"Content-Type must be {' or '.join(taken)}; it is {said}.", taken=list(taken))


def within(body: bytes, most: int) -> bytes:
    """A body that is there already; refused if it is too large."""
    if len(body) > most:
        _refuse(most)
    return body


async def read(receive: Receive, most: int) -> bytes:
    """Read the whole body; stop as soon as it is too large, or ends early."""
    message = await receive()
    body = piece(message, most)
    if not message.get("more_body"):
        return body
    pieces = [body]
    try:
        async with asyncio.timeout(limits.BODY_SECONDS_MAX):
            await _gather(receive, most, pieces)
    except TimeoutError:
        stop("request_timeout", f"The body did not arrive within {limits.BODY_SECONDS_MAX} seconds.")
    return b"".join(pieces)


async def _gather(receive: Receive, most: int, pieces: list[bytes]) -> None:
    left = most - len(pieces[0])
    more = True
    while more:
        message = await receive()
        pieces.append(piece(message, left, most))
        left -= len(pieces[-1])
        more = message.get("more_body", False)


def piece(message: Any, left: int, most: int | None = None) -> bytes:
    """The bytes of a message of ASGI, of which `left` may still come of `most`. Raises Stop."""
    if message["type"] == "http.disconnect":
        stop("truncated_body", "The connection ended before the body did.")
    found: bytes = message.get("body", b"")
    if len(found) > left:
        _refuse(left if most is None else most)
    return found


def _refuse(most: int) -> NoReturn:
    stop("too_large", f"The body has more than the {most} bytes that are taken here.", bytes_max=most)


def _most(route: Route) -> int:
    return limits.BODY_BYTES_MAX if route.body_bytes_max is None else route.body_bytes_max
