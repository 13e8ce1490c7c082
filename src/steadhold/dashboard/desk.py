"""Between a page and the doors: what it asks goes in as whoever sits before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from steadhold.dashboard import asking
from steadhold.dashboard.asking import FRESH, Inner
from steadhold.dashboard.facts import Answered
from steadhold.dashboard.page import PAYLOADS, Download, Refused, refused
from steadhold.dashboard.sending import Turn
from steadhold.dashboard.session import Session, Sessions
from steadhold.kit.plan import Call
from steadhold.web.ask import Route
from steadhold.web.serve import Doors

KEPT: frozenset[bytes] = frozenset({b"content-length", b"etag", b"repr-digest"})
"""What a download keeps of the head of a door's answer."""


NOT_FRESH: Final = "Type your key again first: this needs a login of the last minutes."


class Desk:
    """What views ask. `routes` are those of all rooms, `like` the doors that programs ask."""

    def __init__(self, routes: Sequence[Route], like: Doors, sessions: Sessions) -> None:
        self.above = like.above
        self._doors = asking.doors(routes, like.above, like, sessions.principal)

    async def ask(
        self, session: Session, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> Answered:
        """Ask a door, and read the whole answer."""
        self._fresh_enough(session, method, path)
        inner = self._inner(session, method, path, query, headers, body)
        await self._doors.answer(inner)
        return self._answered(session, inner)

    async def hand_on(
        self, session: Session, download: Download, turn: Turn, head: list[tuple[bytes, bytes]]
    ) -> None:  # fmt: skip
        """Let the browser have what a door answers, as a file. Raises Refused before anything is sent."""
        if not self.permits(session, PAYLOADS, None):
            raise Refused(403, {"code": "missing_scope", "detail": f"This key lacks the scope {PAYLOADS}."})
        inner = self._inner(
            session, "HEAD" if turn.method == "HEAD" else "GET", download.address, download.query, {}, b""
        )
        inner.out, inner.gone = turn.send, turn.receive
        inner.shown = lambda fields: [*head, *(field for field in fields if field[0] in KEPT)]
        await self._doors.answer(inner)
        if inner.status >= 400:
            raise refused(self._answered(session, inner))

    async def play(self, call: Call[Any]) -> Any:
        """Play a plan that reads."""
        return await self.above.play(call)

    def permits(self, session: Session, scope: str, name: str | None) -> bool:
        """Whether the key may do this."""
        return self.above.permits(session.who, scope, name)

    def reaches(self, session: Session, scope: str) -> bool:
        """Whether the key may do this to some names at least."""
        return bool(self.above.reach(session.who, scope))

    def _answered(self, session: Session, inner: Inner) -> Answered:
        fields = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in inner.fields}
        return Answered(inner.status or 503, fields, inner.came, readable=self.permits(session, PAYLOADS, None))

    def _inner(
        self, session: Session, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> Inner:
        if session.who.workspace is None and session.workspace:
            query = "&".join(filter(None, (query, urlencode({"workspace": session.workspace}))))
        said = {"authorization": f"Bearer {session.text}", "content-length": str(len(body)), **headers}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in said.items()]
        return Inner(method, path.encode(), query.encode(), raw, body, _nobody_goes)

    def _fresh_enough(self, session: Session, method: str, path: str) -> None:
        """Refuse what needs the key typed a short time ago, wherever a page asks it."""
        found = self._doors.router.find(path.encode())
        route = None if found is None else found[0].get(method)
        if route is not None and route.scope in FRESH and not session.fresh:
            raise Refused(403, {"code": "login_not_fresh", "detail": NOT_FRESH})


async def _nobody_goes() -> Any:
    await asyncio.Event().wait()
