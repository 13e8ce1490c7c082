"""The doors of all rooms, as one ASGI application: one flow for every request.

Key, scope, rate, size and syntax are tested here, in this order; then the call is played, and in it replay,
fence, condition and rule. Nothing that goes wrong here shows its inside: it is logged under the request's id.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn

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
from steadhold.web.auth import bearer, refuse
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
        began = time.monotonic()
        turn = Turn(exchange, began)
        self.flights.begin(turn)
        try:
            try:
                asked = await self._asked(turn, exchange)
                answer = await self._play(turn, asked) if isinstance(asked, Ask) else asked
                if isinstance(answer, Reply) and answer.stream is not None and turn.method != "HEAD":
                    self.streams.take(turn.workspace)
                    turn.body = answer.stream
            except BaseException as error:  # noqa: BLE001 - what is not answered is raised again
                answer = self._instead(turn, error)
            if answer is not None and turn.body is None:
                await exchange.answer(*wire.written(answer, turn.fields, self.above.base or exchange.root))
        finally:
            self.flights.end(turn)
        self.above.on(_seen(turn, answer, time.monotonic() - began))
        if isinstance(answer, Reply) and turn.body is not None:
            try:
                await self.streams.send(turn, exchange, answer, turn.body)
            except Exception as error:  # noqa: BLE001 - the answer has begun, so it was cut
                self._troubled(turn, error)

    def _instead(self, turn: Turn, error: BaseException) -> Answer | None:
        """What is answered where this was raised. Whatever is unforeseen is logged, and never shown."""
        if isinstance(error, Stop):
            return error.problem
        if isinstance(error, ClientGone):
            return None
        if isinstance(error, asyncio.CancelledError) and turn.overdue:
            turn.forgive()
            return self._overdue(turn)
        if not isinstance(error, Exception):
            raise error
        return self._troubled(turn, error)

    async def _asked(self, turn: Turn, exchange: Exchange) -> Ask[Any] | Answer | None:
        """What is to be played for a request, or its answer where nothing is."""
        head = heads.heading(exchange.headers)
        turn.cause, turn.span = self.above.trace(head.fields.get("traceparent"))
        found = self.router.find(exchange.raw_path)
        if found is None or (door := found[0].capability) is None:
            turn.token = bearer(head)
            who = await self.above.authenticate(turn.token) or refuse()
        else:
            turn.token = found[1][door]
            who = await self.above.admit(turn.token) or _absent()
        route, params = self._find(turn, found)
        turn.route = route
        if not self._in_scope(route, who, params):
            stop("missing_scope", f"This key lacks the scope {route.scope}{self._for(route, who, params)}.",
                 scope=route.scope)  # fmt: skip
        if (limited := self.above.rate(who)) is not None:
            return limited
        most = bodies.inspect(route, head.fields)
        body = b"" if route.body == "stream" else exchange.whole()
        body = await bodies.read(exchange.receive, most) if body is None else bodies.within(body, most)
        bodies.inspect_type(route, head.fields, body)
        if failpoints.armed:
            failpoints.hit("received")
        if head.repeated:
            heads.refuse_repeated(head)
        query = heads.parameters(exchange.query)
        turn.workspace = who.workspace or ""
        if who.workspace is None or query:
            turn.workspace, query = await self._workspace(route, who, query)
        request = self._request(turn, route, who, params, query, head, body)
        asked = route.handle(request)
        if isinstance(asked, (Reply, Problem)):
            return asked
        if route.receipt == "required" and request.operation is None:
            stop("key_required", "This makes something new: send an Idempotency-Key, a UUIDv7 at best.")
        if isinstance(asked, Taking):
            return await self._take(turn, exchange, route, request, asked, most)
        return self._wrapped(turn, route, request, asked, body)

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
        self, turn: Turn, route: Route, who: Principal, params: Mapping[str, str], query: Mapping[str, str],
        head: Heading, body: bytes,
    ) -> Request:  # fmt: skip
        if query:
            heads.refuse_unknown(route, query)
        fenced = "fence" in head.fields and self.above.require is not None and guardable(route)
        guards = heads.guards(route, head, fenced=fenced)
        return Request(
            who, turn.workspace, params, query, head.fields, body, *guards, turn.method,
            turn.exchange.raw_path.decode("latin-1"),
            functools.partial(self.above.permits, who), functools.partial(self.above.reach, who), turn.cause,
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
        turn.fields = b"operation-id: %b\r\n" % request.operation.encode()
        target = turn.exchange.raw_path + b"?" + turn.exchange.query
        fields = request.headers
        guards = (fields.get("if-match"), fields.get("if-none-match"), fields.get("fence"))
        return self.above.receipted(route, request, asked, (request.who.subject, request.method, target, *guards, body))

    async def _play(self, turn: Turn, asked: Ask[Any]) -> Answer | None:
        turn.acting = turn.method not in {"GET", "HEAD"}
        outcome = await (self._hold(turn, asked, asked.wait) if asked.wait else self.above.play(asked.call))
        if not isinstance(outcome, Refusal):
            self._touch(asked, outcome)
        if asked.undo and (back := asked.undo(outcome)) and await is_gone(turn.exchange.receive):
            await self.above.play(back)
            return None
        return asked.render(outcome)

    def _touch(self, asked: Ask[Any], outcome: Any) -> None:
        topics = (*asked.touches, *asked.wakes(outcome)) if asked.wakes else asked.touches
        for topic in topics:
            self.hub.touch((asked.call.workspace, *topic))
            if topic[0] == "keys":
                self.above.forget(topic[1])

    async def _hold(self, turn: Turn, asked: Ask[Any], wait: Wait[Any]) -> Any:
        async def still_valid() -> bool:
            return await self.above.authenticate(turn.token) is not None

        try:
            return await hold(
                asked, wait, self.hub, play=self.above.play, receive=turn.exchange.receive, still_valid=still_valid
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


def _absent() -> NoReturn:
    raise Stop(MISSING)


def _seen(turn: Turn, answer: Answer | None, seconds: float) -> Seen:
    route = "" if turn.route is None else turn.route.path
    if isinstance(answer, Reply):
        return Seen(route, turn.method, answer.status, None, seconds, turn, answer.resource)
    if answer is None:
        return Seen(route, turn.method, 499, None, seconds, turn)
    return Seen(route, turn.method, PROBLEMS[answer.code].status, answer.code, seconds, turn)
