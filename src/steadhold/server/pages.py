"""Addresses beside the rooms' doors: health, metrics, capabilities, documents. None needs a key, none shows data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from steadhold.db.house import Watch
from steadhold.server import guides, people
from steadhold.server.capabilities import capabilities
from steadhold.server.health import Health
from steadhold.server.settings import Settings
from steadhold.server.tallies import TYPE as METRICS_TYPE
from steadhold.server.tallies import Tallies
from steadhold.web.ask import Answer, Problem, Reply
from steadhold.web.hub import Hub
from steadhold.web.problem import MISSING, SOON

HTML: Final = "text/html; charset=utf-8"
MARKDOWN: Final = "text/markdown; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
SVG: Final = "image/svg+xml"
_POLICY: Final = (
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    ("referrer-policy", "no-referrer"),
)
_DRAWN: Final = (("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),)
"""A drawing brings its own colours, for light and for dark; it runs nothing and loads nothing."""
_NO_COUNTS: Final = Problem(
    "unavailable", "The other processes of this server do not say what they counted.", headers=SOON
)
_ONLY_READ: Final = Problem("method_not_allowed", "Here are: GET, HEAD.", headers=(("allow", "GET, HEAD"),))


@dataclass(slots=True)
class Pages:
    """Answers for everything that is no door of a room."""

    settings: Settings
    health: Health
    tallies: Tallies
    hub: Hub
    house: Watch
    openapi: bytes

    async def answer(self, method: str, path: str, headers: Mapping[bytes, bytes], root: str) -> Answer:
        """Answer a request to one of these addresses."""
        if method not in {"GET", "HEAD"}:
            return _ONLY_READ if self._is_here(path) else MISSING
        match path:
            case "/livez":
                return Reply(200, b'{"alive":true}')
            case "/readyz":
                return await self._ready()
            case "/metrics":
                counts = await self.tallies.text()
                return _NO_COUNTS if counts is None else Reply(200, counts, METRICS_TYPE)
            case "/v1/capabilities":
                return Reply(200, msgspec.json.encode(capabilities(self.settings, self.house)))
            case "/openapi.json":
                return Reply(200, self.openapi)
            case "/llms.txt":
                return Reply(200, guides.llms().encode(), TEXT)
            case "/" | "/docs" | "/docs/":
                return _page(guides.index(), "steadhold", root, self._ui(root))
            case _:
                return _document(path, headers, root, self._ui(root))

    def _ui(self, root: str) -> str:
        """Where the dashboard is under the name by which this page was asked for, if it is."""
        here = self.settings.dashboard and not self.settings.dashboard_host and not root
        return people.PATH if here else ""

    async def _ready(self) -> Answer:
        checks = {"server": "stopping"} if self.hub.stopping else await self.health.checks()
        ready = all(told == "ok" for told in checks.values())
        return Reply(200 if ready else 503, msgspec.json.encode({"ready": ready, "checks": checks}))

    def _is_here(self, path: str) -> bool:
        return path in _ADDRESSES or not isinstance(_document(path, {}, ""), Problem)


_ADDRESSES: Final = frozenset({
    "/", "/livez", "/readyz", "/metrics", "/v1/capabilities", "/openapi.json", "/llms.txt", "/docs", "/docs/",
})  # fmt: skip


def _document(path: str, headers: Mapping[bytes, bytes], root: str, ui: str = "") -> Answer:
    name = path.removeprefix("/docs/")
    if name == "style.css":
        return Reply(200, guides.STYLE.encode(), CSS)
    if drawn := guides.icon() if name == "icon.svg" else guides.figures().get(name):
        return Reply(200, drawn, SVG, _DRAWN)
    text = guides.pages().get(name.removesuffix(".md"))
    if name == path or text is None:
        return MISSING
    if name.endswith(".md") or b"text/markdown" in headers.get(b"accept", b""):
        return Reply(200, text.encode(), MARKDOWN)
    return _page(text, name, root, ui)


def _page(markdown: str, name: str, root: str, ui: str) -> Reply:
    return Reply(200, guides.render(markdown, name, root, ui).encode(), HTML, _POLICY)
