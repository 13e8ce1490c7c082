"""The doors of all rooms, as one ASGI application: one flow for every request.

Key, scope, rate, size and syntax are tested here, in this order; then the call is played, and in it replay,
fence, condition and rule. Nothing that goes wrong here shows its inside: it is logged under the request's id.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from steadhold.kit import failpoints
from steadhold.kit.ids import new_id
from steadhold.kit.plan import Call, Refusal
from steadhold.web import body as bodies
from steadhold.web import heading as heads
from steadhold.web import wire
from steadhold.web.ask import Answer, Ask, Headers, Principal, Problem, Reply, Request, Route, Stop, Wait
from steadhold.web.auth import Authenticate, bearer, refuse
from steadhold.web.body import Receive
from steadhold.web.codes import PROBLEMS
from steadhold.web.exchange import Exchange, OverAsgi
from steadhold.web.flights import Flight, Flights
from steadhold.web.guard import Require, guardable, guarded
from steadhold.web.heading import Heading
from steadhold.web.hold import ClientGone, KeyGone, hold, is_gone
from steadhold.web.hub import Hub
from steadhold.web.problem import MISSING, stop
from steadhold.web.router import Router, allowed
from steadhold.web.wire import Send

T = TypeVar("T")
Said: TypeAlias = tuple[bytes | str | None, ...]
"""All that makes a request this request and no other; an operation's fingerprint is made of it."""

_SOON: Final[Headers] = (("retry-after", "1"),)
_UNREAD: Final = Problem("unavailable", "The database was lost while it was read; nothing was changed.", headers=_SOON)
_INTERNAL: Final = "This was not foreseen, so read what it would have changed. The log has more under the request's id."


class Play(Protocol):
    """Plays a call in a transaction of its own, or with others', and answers once that has committed."""

    def __call__(self, call: Call[T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class Seen:
    """A request that was answered, for whoever counts. `route` is the template, "" where none was found."""

    route: str
    method: str
    status: int
    code: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Above:
    """What the floors above hand down when the server starts.

    `trouble` says which exceptions are expected and what they mean, `alarm` logs the others. `known` tells
    whether there is a workspace, `forget` that a key was touched (topic `("keys", id)`), `require` relies on grants
    (without it, only rooms that do so themselves take `Fence`). `house` is the workspace of routes that belong to
    none, `base` the address under which the server is known outside.
    """

    play: Play
    authenticate: Authenticate
    permits: Callable[[Principal, str, str | None], bool]
    receipted: Callable[[Route, Request, Ask[Any], Said], Ask[Any]]
    trouble: Callable[[Exception], Problem | None]
    reach: Callable[[Principal, str], tuple[str, ...]] = lambda _who, _scope: ("",)
    rate: Callable[[Principal], Problem | None] = lambda _: None
    known: Callable[[str], Awaitable[bool]] | None = None
    forget: Callable[[str], None] = lambda _: None
    require: Require | None = None
    on: Callable[[Seen], None] = lambda _: None
    alarm: Callable[[Exception, Mapping[str, str]], None] = lambda _error, _facts: None
    house: str = ""
    base: str = ""


class _Turn:
    """One request on its way."""

    __slots__ = ("acting", "headers", "method", "operation", "raw_path", "receive", "route", "token")

    def __init__(self, exchange: Exchange) -> None:
        self.method, self.raw_path, self.receive = exchange.method, exchange.raw_path, exchange.receive
        self.route: Route | None = None
        self.operation: str | None = None
        self.acting = False
        self.token = ""
        self.headers: Headers = ()


class Doors:
    """Answers requests to the routes of all rooms."""

    def __init__(self, routes: Iterable[Route], above: Above, *, hub: Hub, flights: Flights) -> None:
        self.router, self.above, self.hub, self.flights = Router(routes), above, hub, flights

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request that an ASGI server carries."""
        await self.answer(OverAsgi(scope, receive, send))

    async def answer(self, exchange: Exchange) -> None:
        """Answer one request."""
        turn = _Turn(exchange)
        loop = asyncio.get_running_loop()
        began = loop.time()
        flight = self.flights.begin(began)
        try:
            answer = await self._answered(turn, exchange, flight)
            if answer is not None:
                await exchange.answer(*wire.written(answer, turn.headers, self.above.base))
        finally:
            self.flights.end(flight)
        self.above.on(_seen(turn, answer, loop.time() - began))

    async def _answered(self, turn: _Turn, exchange: Exchange, flight: Flight) -> Answer | None:
        try:
            return await self._answer(turn, exchange)
        except Stop as stopped:
            return stopped.problem
        except ClientGone:
            return None
        except asyncio.CancelledError:
            if not flight.overdue:
                raise
            flight.forgive()
            return self._overdue(turn)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged, and never shown
            return self._troubled(turn, error)

    async def _answer(self, turn: _Turn, exchange: Exchange) -> Answer | None:
        head = heads.heading(exchange.headers)
        turn.token = bearer(head)
        who = await self.above.authenticate(turn.token) or refuse()
        route, params = self._find(turn)
        turn.route = route
        if not self._in_scope(route, who, params):
            stop("missing_scope", f"This key lacks the scope {route.scope}{self._for(route, who, params)}.",
                 scope=route.scope)  # fmt: skip
        if (limited := self.above.rate(who)) is not None:
            return limited
        most = bodies.inspect(route, head.fields)
        whole = exchange.whole()
        body = await bodies.read(exchange.receive, most) if whole is None else bodies.within(whole, most)
        bodies.inspect_type(route, head.fields, body)
        if failpoints.armed:
            failpoints.hit("received")
        if head.repeated:
            heads.refuse_repeated(head)
        query = heads.parameters(exchange.query)
        workspace = who.workspace
        if workspace is None or query:
            workspace, query = await self._workspace(route, who, query)
        request = self._request(exchange, route, who, workspace, params, query, head, body)
        asked = route.handle(request)
        if isinstance(asked, (Reply, Problem)):
            return asked
        if request.fences and self.above.require is not None and guardable(route):
            asked = guarded(asked, request.fences, self.above.require)
        return await self._play(turn, self._receipted(turn, route, request, asked, exchange.query))

    def _in_scope(self, route: Route, who: Principal, params: Mapping[str, str]) -> bool:
        if not route.scope:
            return True
        if route.narrows:
            return bool(self.above.reach(who, route.scope))
        return self.above.permits(who, route.scope, params.get(route.scoped) if route.scoped else None)

    def _for(self, route: Route, who: Principal, params: Mapping[str, str]) -> str:
        """The name that a scope is lacking for, where the key has it for other names."""
        named = params.get(route.scoped) if route.scoped else None
        return f" for {named!a}" if named and self.above.reach(who, route.scope) else ""

    def _find(self, turn: _Turn) -> tuple[Route, dict[str, str]]:
        found = self.router.find(turn.raw_path)
        if found is None:
            raise Stop(MISSING)
        doors, params = found
        route = doors.get(turn.method)
        if route is None:
            allow = allowed(doors)
            raise Stop(Problem("method_not_allowed", f"Here are: {allow}.", headers=(("allow", allow),)))
        return route, params

    def _request(
        self, exchange: Exchange, route: Route, who: Principal, workspace: str, params: Mapping[str, str],
        query: Mapping[str, str], head: Heading, body: bytes,
    ) -> Request:  # fmt: skip
        if query:
            heads.refuse_unknown(route, query)
        guards = heads.guards(route, head, fenced=self.above.require is not None and guardable(route))
        fresh = new_id() if route.method == "POST" else ""
        return Request(
            who, workspace, params, query, head.fields, body, guards.operation, guards.fences, guards.if_match,
            guards.if_none_match, fresh, exchange.method, exchange.raw_path.decode("latin-1"),
            functools.partial(self.above.permits, who), functools.partial(self.above.reach, who),
        )  # fmt: skip

    async def _workspace(self, route: Route, who: Principal, query: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        named = query.get("workspace")
        if named is not None:
            query = {name: value for name, value in query.items() if name != "workspace"}
        if who.workspace is not None:
            if named not in {None, who.workspace}:
                raise Stop(MISSING)
            return who.workspace, query
        if route.house:
            return self.above.house, query
        if not named:
            stop("workspace_required", "An operator's key belongs to no workspace: name one by ?workspace=.")
        if self.above.known is not None and not await self.above.known(named):
            raise Stop(MISSING)
        return named, query

    def _receipted(self, turn: _Turn, route: Route, request: Request, asked: Ask[Any], query: bytes) -> Ask[Any]:
        if route.receipt == "none":
            return asked
        if request.operation is None:
            if route.receipt == "required":
                stop("key_required", "This makes something new: send an Idempotency-Key, a UUIDv7 at best.")
            return asked
        turn.operation = request.operation
        turn.headers = (("operation-id", request.operation),)
        target = turn.raw_path + b"?" + query
        fields = request.headers
        guards = (fields.get("if-match"), fields.get("if-none-match"), fields.get("fence"))
        return self.above.receipted(
            route, request, asked, (request.who.subject, request.method, target, *guards, request.body)
        )

    async def _play(self, turn: _Turn, asked: Ask[Any]) -> Answer | None:
        turn.acting = turn.method not in {"GET", "HEAD"}
        outcome = await (self._hold(turn, asked, asked.wait) if asked.wait else self.above.play(asked.call))
        if not isinstance(outcome, Refusal):
            self._touch(asked, outcome)
        if asked.undo and (back := asked.undo(outcome)) and await is_gone(turn.receive):
            await self.above.play(back)
            return None
        return asked.render(outcome)

    def _touch(self, asked: Ask[Any], outcome: Any) -> None:
        for topic in (*asked.touches, *(asked.wakes(outcome) if asked.wakes else ())):
            self.hub.touch((asked.call.workspace, *topic))
            if topic[0] == "keys":
                self.above.forget(topic[1])

    async def _hold(self, turn: _Turn, asked: Ask[Any], wait: Wait[Any]) -> Any:
        async def still_valid() -> bool:
            return await self.above.authenticate(turn.token) is not None

        try:
            return await hold(
                asked, wait, self.hub, play=self.above.play, receive=turn.receive, still_valid=still_valid
            )
        except KeyGone:
            refuse()

    def _overdue(self, turn: _Turn) -> Problem:
        if not turn.acting:
            return Problem("unavailable", "The answer took too long.", headers=_SOON)
        return self._known_by(turn, Problem("outcome_unknown", "The answer took too long; it may have taken effect."))

    def _troubled(self, turn: _Turn, error: Exception) -> Problem:
        problem = self.above.trouble(error)
        if problem is not None and problem.code == "outcome_unknown" and not turn.acting:
            return _UNREAD
        if problem is not None:
            return self._known_by(turn, problem)
        request_id = new_id()
        facts = {"request_id": request_id, "method": turn.method, "route": turn.route.path if turn.route else ""}
        self.above.alarm(error, facts)
        return Problem("internal", _INTERNAL, {"request_id": request_id})

    def _known_by(self, turn: _Turn, problem: Problem) -> Problem:
        if problem.code != "outcome_unknown" or turn.operation is None:
            return problem
        return replace(problem, extras={**problem.extras, "operation_id": turn.operation})


def _seen(turn: _Turn, answer: Answer | None, seconds: float) -> Seen:
    code = answer.code if isinstance(answer, Problem) else None
    status = 499 if answer is None else PROBLEMS[answer.code].status if isinstance(answer, Problem) else answer.status
    return Seen(turn.route.path if turn.route else "", turn.method, status, code, seconds)
