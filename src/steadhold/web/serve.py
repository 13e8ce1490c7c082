"""The doors of all rooms, as one ASGI application: one flow for every request.

Key, scope, rate, size and syntax are tested here, in this order; then the call is played, and in it replay,
fence, condition and rule. Nothing that goes wrong here shows its inside: it is logged under the request's id.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from steadhold.kit import failpoints
from steadhold.kit.ids import new_id
from steadhold.kit.plan import Refusal
from steadhold.web import body as bodies
from steadhold.web import heading as heads
from steadhold.web import wire
from steadhold.web.above import Above, Seen
from steadhold.web.ask import (
    Answer,
    Ask,
    Principal,
    Problem,
    Reply,
    Request,
    Route,
    Stop,
    Taking,
    Wait,
)
from steadhold.web.auth import asker, refuse
from steadhold.web.body import Receive
from steadhold.web.codes import PROBLEMS
from steadhold.web.exchange import Exchange, OverAsgi
from steadhold.web.flights import Flights
from steadhold.web.guard import guardable, guarded
from steadhold.web.heading import Heading
from steadhold.web.hold import ClientGone, KeyGone, hold, is_gone
from steadhold.web.hub import Hub
from steadhold.web.problem import MISSING, SOON, stop
from steadhold.web.router import Found, Router, allowed
from steadhold.web.streaming import Streams
from steadhold.web.taking import Incoming, ended, noted, taken
from steadhold.web.turn import Turn
from steadhold.web.wire import Send

_UNREAD: Final = Problem("unavailable", "The database was lost while it was read; nothing was changed.", headers=SOON)
_INTERNAL: Final = "This was not foreseen, so read what it would have changed. The log has more under the request's id."


class Doors:
    """Answers requests to the routes of all rooms."""

    def __init__(self, routes: Iterable[Route], above: Above, *, hub: Hub, flights: Flights) -> None:
        self.router, self.above, self.hub, self.flights = Router(routes), above, hub, flights
        self.streams = Streams(above, hub)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request that an ASGI server carries."""
        await self.answer(OverAsgi(scope, receive, send))

    async def answer(self, exchange: Exchange) -> None:
        """Answer one request."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        flight = self.flights.begin(began)
        turn = Turn(exchange, flight)
        try:
            answer = await self._answered(turn, exchange)
            if answer is not None and turn.body is None:
                await exchange.answer(*wire.written(answer, turn.headers, self.above.base or exchange.root))
        finally:
            self.flights.end(flight)
        self.above.on(_seen(turn, answer, loop.time() - began))
        if isinstance(answer, Reply) and turn.body is not None:
            try:
                await self.streams.send(turn, exchange, answer, turn.body)
            except Exception as error:  # noqa: BLE001 - the answer has begun, so it was cut
                self._troubled(turn, error)

    async def _answered(self, turn: Turn, exchange: Exchange) -> Answer | None:
        try:
            answer = await self._answer(turn, exchange)
            if isinstance(answer, Reply) and answer.stream is not None and turn.method != "HEAD":
                self.streams.take(turn.workspace)
                turn.body = answer.stream
            return answer
        except Stop as stopped:
            return stopped.problem
        except ClientGone:
            return None
        except asyncio.CancelledError:
            if not turn.flight.overdue:
                raise
            turn.flight.forgive()
            return self._overdue(turn)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged, and never shown
            return self._troubled(turn, error)

    async def _answer(self, turn: Turn, exchange: Exchange) -> Answer | None:
        head = heads.heading(exchange.headers)
        turn.cause, turn.span = self.above.trace(head.fields.get("traceparent"))
        found = self.router.find(turn.raw_path)
        turn.token, who = await asker(head, found, self.above.authenticate, self.above.admit)
        route, params = self._find(turn, found)
        turn.route = route
        if not self._in_scope(route, who, params):
            stop("missing_scope", f"This key lacks the scope {route.scope}{self._for(route, who, params)}.",
                 scope=route.scope)  # fmt: skip
        if (limited := self.above.rate(who)) is not None:
            return limited
        most = bodies.inspect(route, head.fields)
        body = b"" if route.body == "stream" else await _body(exchange, most)
        bodies.inspect_type(route, head.fields, body)
        if failpoints.armed:
            failpoints.hit("received")
        if head.repeated:
            heads.refuse_repeated(head)
        query = heads.parameters(exchange.query)
        turn.workspace = workspace = who.workspace or ""
        if who.workspace is None or query:
            workspace, query = await self._workspace(route, who, query)
            turn.workspace = workspace
        request = self._request(exchange, route, who, workspace, params, query, head, body, turn.cause)
        asked = route.handle(request)
        if isinstance(asked, (Reply, Problem)):
            return asked
        if route.receipt == "required" and request.operation is None:
            stop("key_required", "This makes something new: send an Idempotency-Key, a UUIDv7 at best.")
        if isinstance(asked, Taking):
            return await self._take(turn, exchange, route, request, asked, most)
        return await self._play(turn, self._wrapped(turn, route, request, asked, body))

    def _wrapped(self, turn: Turn, route: Route, request: Request, asked: Ask[Any], body: bytes) -> Ask[Any]:
        """What is asked, under the grants that it relies on, and once only under its operation's id."""
        if request.fences and self.above.require is not None and guardable(route):
            asked = guarded(asked, request.fences, self.above.require)
        return self._receipted(turn, route, request, asked, body)

    async def _take(
        self, turn: Turn, exchange: Exchange, route: Route, request: Request, taking: Taking[Any], most: int
    ) -> Answer | None:
        """Let a route take its body piece by piece, and then play what it asks."""
        came_to: list[Any] = []
        self.streams.take(turn.workspace)
        try:
            asked, digest = await taken(taking, Incoming(turn, exchange, most, self.above, self.hub))
            if not isinstance(asked, Ask):
                return asked
            return await self._play(turn, noted(self._wrapped(turn, route, request, asked, digest), came_to))
        finally:
            self.streams.leave(turn.workspace)
            await ended(taking, came_to, self.above)

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

    def _find(self, turn: Turn, found: Found | None) -> tuple[Route, dict[str, str]]:
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
        query: Mapping[str, str], head: Heading, body: bytes, trace: str | None,
    ) -> Request:  # fmt: skip
        if query:
            heads.refuse_unknown(route, query)
        guards = heads.guards(route, head, fenced=self.above.require is not None and guardable(route))
        fresh = new_id() if route.method == "POST" or route.body == "stream" else ""
        return Request(
            who, workspace, params, query, head.fields, body, guards.operation, guards.fences, guards.if_match,
            guards.if_none_match, fresh, exchange.method, exchange.raw_path.decode("latin-1"),
            functools.partial(self.above.permits, who), functools.partial(self.above.reach, who), trace,
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

    def _receipted(self, turn: Turn, route: Route, request: Request, asked: Ask[Any], body: bytes) -> Ask[Any]:
        if route.receipt == "none" or request.operation is None:
            return asked
        turn.operation = request.operation
        turn.headers = (("operation-id", request.operation),)
        target = turn.raw_path + b"?" + turn.query
        fields = request.headers
        guards = (fields.get("if-match"), fields.get("if-none-match"), fields.get("fence"))
        return self.above.receipted(route, request, asked, (request.who.subject, request.method, target, *guards, body))

    async def _play(self, turn: Turn, asked: Ask[Any]) -> Answer | None:
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

    async def _hold(self, turn: Turn, asked: Ask[Any], wait: Wait[Any]) -> Any:
        async def still_valid() -> bool:
            return await self.above.authenticate(turn.token) is not None

        try:
            return await hold(
                asked, wait, self.hub, play=self.above.play, receive=turn.receive, still_valid=still_valid
            )
        except KeyGone:
            refuse()

    def _overdue(self, turn: Turn) -> Problem:
        if not turn.acting:
            return Problem("unavailable", "The answer took too long.", headers=SOON)
        return self._known_by(turn, Problem("outcome_unknown", "The answer took too long; it may have taken effect."))

    def _troubled(self, turn: Turn, error: Exception) -> Problem:
        problem = self.above.trouble(error)
        if problem is not None and problem.code == "outcome_unknown" and not turn.acting:
            return _UNREAD
        if problem is not None:
            return self._known_by(turn, problem)
        request_id = new_id()
        facts = {"request_id": request_id, "method": turn.method, "route": turn.route.path if turn.route else ""}
        self.above.alarm(error, facts)
        return Problem("internal", _INTERNAL, {"request_id": request_id})

    def _known_by(self, turn: Turn, problem: Problem) -> Problem:
        if problem.code != "outcome_unknown" or turn.operation is None:
            return problem
        return replace(problem, extras={**problem.extras, "operation_id": turn.operation})


async def _body(exchange: Exchange, most: int) -> bytes:
    whole = exchange.whole()
    return await bodies.read(exchange.receive, most) if whole is None else bodies.within(whole, most)


def _seen(turn: Turn, answer: Answer | None, seconds: float) -> Seen:
    code = answer.code if isinstance(answer, Problem) else None
    status = 499 if answer is None else PROBLEMS[answer.code].status if isinstance(answer, Problem) else answer.status
    about = answer.resource if isinstance(answer, Reply) else None
    return Seen(turn.route.path if turn.route else "", turn.method, status, code, seconds, turn, about)
