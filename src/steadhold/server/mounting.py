"""Mounted inside another application: the address as that one hands it on, and links that lead to the mount.

ASGI says that `path` and `raw_path` are the whole address and begin with `root_path`. Starlette and FastAPI do so;
under a `root_path` that a proxy cuts off FastAPI leaves it out of `path`; Litestar cuts the mount from `path` alone.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from steadhold.web.ask import Answer, Reply

Scope: TypeAlias = Mapping[str, Any]
Send: TypeAlias = Callable[[Any], Awaitable[None]]

GONE: Final = 408
"""The status of an answer to a client that did not wait for it."""

_TEXT: Final = ("text/markdown", "text/plain")
_INSIDE: Final = re.compile(rb"\]\(/")
_SERVERS: Final = b'"servers":[{"url":"/"}]'


def whole(scope: Scope) -> Scope:
    """The same as ASGI has it: `root_path`, and `path` and `raw_path` that begin with it."""
    root: str = scope.get("root_path", "")
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or quote(path, safe="/:@!$&'()*,;=~%+").encode()
    if not root and raw == path.encode():
        return scope
    mount, rest = _parted(scope, root, path, raw)
    return {**scope, "root_path": mount, "path": mount + _text(rest), "raw_path": mount.encode() + rest}


def _parted(scope: Scope, root: str, path: str, raw: bytes) -> tuple[str, bytes]:
    """What clients write before the addresses that are ours, and the rest of the address as it was sent."""
    inner = root.removeprefix(scope.get("app_root_path", ""))  # what is left where a proxy cut the outer part off
    rest = next((rest for known in (root, inner) if (rest := _after(known, raw)) is not None), raw)
    sent, cut = _text(rest), path.rstrip("/")
    if path.endswith(sent) or not sent.rstrip("/").endswith(cut):
        return root, rest
    mount = sent.rstrip("/").removesuffix(cut)  # `path` has lost it, and nothing tells of it
    return root + mount, _after(mount, rest) or b""


def _text(raw: bytes) -> str:
    return unquote_to_bytes(raw).decode("utf-8", "replace")


def _after(prefix: str, raw: bytes) -> bytes | None:
    """What follows a prefix of whole segments, however it was quoted; None where the address begins otherwise."""
    plain = prefix.encode()
    for end in (len(plain), *(place.start() for place in re.finditer(b"/|$", raw))):
        if raw[end : end + 1] in {b"/", b""} and unquote_to_bytes(raw[:end]) == plain:
            return raw[end:]
    return None


class Answering:
    """The `send` of one request, which knows whether an answer was begun."""

    def __init__(self, send: Send) -> None:
        self._send, self._begun = send, False

    async def __call__(self, message: Any) -> None:
        """Send a message on."""
        self._begun = True
        await self._send(message)

    async def end(self) -> None:
        """Answer a client that has gone, too: nobody reads it, but middleware takes no answer for a fault."""
        if not self._begun:
            await self({"type": "http.response.start", "status": GONE, "headers": [(b"content-length", b"0")]})
            await self({"type": "http.response.body"})


def linked(answer: Answer, root: str) -> Answer:
    """A page whose links lead to where it is mounted: in Markdown, and in the description of the doors.

    `root` is written as in an address.
    """
    if not root or not isinstance(answer, Reply):
        return answer
    if answer.content_type.startswith(_TEXT):
        return replace(answer, body=_INSIDE.sub(b"](" + root.encode() + b"/", answer.body))
    return replace(answer, body=answer.body.replace(_SERVERS, b'"servers":[{"url":"%b"}]' % root.encode(), 1))
