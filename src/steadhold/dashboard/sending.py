"""What is sent to a browser, and under which header fields; and what a request of it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode

from steadhold.dashboard import guard, rendering
from steadhold.dashboard.layout import misleads
from steadhold.web.heading import Heading
from steadhold.web.wire import Send

Receive: TypeAlias = Callable[[], Awaitable[Any]]
Fields: TypeAlias = Sequence[tuple[bytes, bytes]]

PATH: Final = "/ui"
HTML: Final = b"text/html; charset=utf-8"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
PAGE: Final = ((b"content-security-policy", POLICY.encode()), (b"cache-control", b"no-store"), *_ALWAYS)
_FILE: Final = (
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cache-control", b"no-store, no-transform"),
    (b"content-type", b"application/octet-stream"),
    *_ALWAYS,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One request on its way through the dashboard."""

    method: str
    root: str
    path: str
    head: Heading
    query: Mapping[str, str]
    receive: Receive
    send: Send
    secure: bool = False

    @property
    def partial(self) -> bool:
        """Whether a script of ours asks for a part of a page."""
        return self.head.get("hx-request") is not None

    @property
    def here(self) -> str:
        """Its own address."""
        return self.root + self.path + (f"?{urlencode(self.query)}" if self.query else "")

    def cookie(self, name: str) -> str:
        """What the browser keeps for us under this name, or nothing."""
        kept = guard.cookies(self.head.get("cookie") or "")
        return kept.get(guard.kept_as(name, secure=self.secure), "")


async def reply_static(turn: Turn, name: str) -> bool:
    """Send a file of ours; False where there is none of this name."""
    if name not in rendering.STATIC or turn.method not in {"GET", "HEAD"}:
        return False
    kept = b"public, max-age=31536000, immutable" if turn.query.get("v") == rendering.version(name) else b"no-cache"
    fields = ((b"content-type", rendering.STATIC[name].encode()), (b"cache-control", kept), *_ALWAYS)
    await reply(turn, 200, fields, rendering.static(name))
    return True


async def reply(turn: Turn, status: int, fields: Fields, body: bytes) -> None:
    """Answer whole; a HEAD gets no body."""
    head = [*fields, (b"content-length", str(len(body)).encode())]
    await turn.send({"type": "http.response.start", "status": status, "headers": head})
    await turn.send({"type": "http.response.body", "body": b"" if turn.method == "HEAD" else body})


def file_fields(name: str) -> list[tuple[bytes, bytes]]:
    """The head of a file that is kept under this name, and that no browser opens by itself."""
    name = "".join("_" if misleads(one) else one for one in name)
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in name) or "download"
    said = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return [*_FILE, (b"content-disposition", said.encode())]
