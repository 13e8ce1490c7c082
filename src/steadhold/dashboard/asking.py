"""A page asks the rooms' doors within the process: scopes, limits and receipts are those of whoever sits there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from steadhold import access
from steadhold.access.authenticate import actor
from steadhold.kit.plan import Call, Plan, Refusal
from steadhold.web import wire
from steadhold.web.above import Above
from steadhold.web.ask import Answer, Ask, Principal, Problem, Request, Route, Taking
from steadhold.web.serve import Doors
from steadhold.web.wire import Send

T = TypeVar("T")
Fields: TypeAlias = Sequence[tuple[bytes, ...]]
Handler: TypeAlias = Callable[[Request], "Ask[Any] | Taking[Any] | Answer"]

FRESH: Final = frozenset({"approvals:vote"})
"""Scopes that a session may use only while its login is fresh."""

READS: Final = frozenset({"GET", "HEAD"})


def doors(routes: Sequence[Route], above: Above, like: Doors, authenticate: Callable[[str], Awaitable[Any]]) -> Doors:
    """The rooms' doors for sessions: what changes something leaves a row in the audit, in the same transaction.

    A page is counted against the workspace's rate once, so what it asks is not.
    """
    own = replace(above, authenticate=authenticate, rate=_uncounted)
    return Doors(
        [_audited(route) for route in routes if route.capability is None], own, hub=like.hub, flights=like.flights
    )


def _uncounted(_: Principal) -> Problem | None:
    return None


def _audited(route: Route) -> Route:
    return route if route.method in READS else replace(route, handle=_recording(route, route.handle))


def _recording(route: Route, handle: Handler) -> Handler:
    def recorded(asked: Ask[Any] | Answer, ask: Request) -> Ask[Any] | Answer:
        return replace(asked, call=_with_row(asked.call, route, ask)) if isinstance(asked, Ask) else asked

    def handled(ask: Request) -> Ask[Any] | Taking[Any] | Answer:
        found = handle(ask)
        if not isinstance(found, Taking):
            return recorded(found, ask)

        def steps() -> Any:
            return recorded((yield from found.steps()), ask)

        return replace(found, steps=steps)

    return handled


def _with_row(call: Call[T], route: Route, ask: Request) -> Call[T]:
    def plan() -> Plan[T]:
        outcome = yield from call.begin()
        if not isinstance(outcome, Refusal):
            yield from access.audit(call.workspace, actor(ask), kind_of(route), resource=ask.path)
        return outcome

    return call.around(plan)


def kind_of(route: Route) -> str:
    """What the audit calls an action of a person: `dashboard.jobs.cancel`, `dashboard.schedules.put`."""
    parts = route.path.split("/")
    room = route.scope.partition(":")[0] or parts[2].partition(":")[0]
    last = "" if parts[-1].startswith("{") else parts[-1].rpartition(":")[2]
    return f"dashboard.{room}.{last if last not in {'', room} else route.method.lower()}"


def target(path: str, segments: Sequence[str], query: Mapping[str, Any]) -> tuple[str, str]:
    """An address and its query. Segments are what an address names; what is None in a query is left out."""
    whole = "/".join([path, *(quote(one, safe="/:@~") for one in segments)])
    asked = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }
    return whole, urlencode(asked, quote_via=quote)


@dataclass(slots=True)
class Inner:
    """One request of a page. `out` takes an answer that goes to the browser as it comes: a download."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    gone: Callable[[], Awaitable[Any]]
    out: Send | None = None
    shown: Callable[[Fields], Fields] | None = None
    taken: bool = False
    root: str = ""
    status: int = 0
    fields: Fields = ()
    came: bytes = b""
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)

    async def receive(self) -> Any:
        """The body, which was there from the beginning; then the word that the client has gone, once it has."""
        if not self.taken:
            return {"type": "http.request", "body": self.whole(), "more_body": False}
        return await self.gone()

    def whole(self) -> bytes | None:
        """The body."""
        self.taken = True
        return self.body

    async def answer(self, status: int, fields: bytes, pieces: tuple[bytes, ...]) -> None:
        """Keep the answer, or hand it on."""
        self.status, self.fields, self.came = status, wire.pairs(fields), b"".join(pieces)
        if self.out is not None and status < 400:
            await self._begin(status)
            await self.piece(b"" if self.method == "HEAD" else self.came, last=True)

    async def begin(self, status: int, fields: bytes, *, closes: bool) -> None:
        """Begin what comes in pieces: handed on, or gathered."""
        del closes
        self.status, self.fields = status, wire.pairs(fields)
        if self.out is not None:
            await self._begin(status)

    async def _begin(self, status: int) -> None:
        assert self.out is not None, "a download goes out"
        assert self.shown is not None, "a download has a head of its own"
        await self.out({"type": "http.response.start", "status": status, "headers": self.shown(self.fields)})

    async def piece(self, body: bytes, *, last: bool = False) -> None:
        """A piece of it."""
        if self.out is None:
            self.came += body
        else:
            await self.out({"type": "http.response.body", "body": body, "more_body": not last})

    async def cut(self, *, whole: bool) -> None:
        """It ends early: what ASGI leaves open, a server cuts."""
        if self.out is None and not whole:
            self.status, self.came = 503, b""

    def take_slowly(self) -> None:
        """The whole body is here."""
