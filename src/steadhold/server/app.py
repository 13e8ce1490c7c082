"""The server as an ASGI application: `asgi(settings)` runs under any ASGI server, or mounted inside another app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec

from steadhold.kit import limits
from steadhold.kit.duty import Duty
from steadhold.server import agents, mounting, outward, people, rooms
from steadhold.server.capabilities import VERSION
from steadhold.server.engine import Engine, alarm, running
from steadhold.server.exchange import Exchange
from steadhold.server.pages import Pages
from steadhold.server.settings import Settings
from steadhold.server.sources import load
from steadhold.server.trouble import trouble
from steadhold.web import openapi, wire
from steadhold.web.ask import Problem, Route

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]

_CAPABILITIES: Final = "/v1/capabilities"
_TOO_LONG: Final = Problem("uri_too_long", f"An address has at most {limits.ADDRESS_BYTES_MAX} bytes.")
_TOO_LARGE: Final = Problem(
    "headers_too_large",
    f"Header fields have at most {limits.HEADER_BYTES_MAX} bytes together, and are at most {limits.HEADER_FIELDS_MAX}.",
)
_ELSEWHERE: Final = Problem(
    "misdirected_request", "The Host field names another server; `hosts` lists this one's names."
)


class App:
    """One ASGI application. It opens its parts at the lifespan's start, or at the first request without one."""

    def __init__(
        self, settings: Settings, *, routes: Iterable[Route] | None = None, duties: Iterable[Duty] | None = None
    ) -> None:
        self.settings = settings
        self.engine: Engine | None = None
        self._routes = tuple(rooms.routes(settings.retention, outward.handed(settings)) if routes is None else routes)
        self._duties = duties
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._pages: Pages | None = None
        self._agents: agents.Agents | None = None
        self._people: people.People | None = None

    async def start(self) -> Engine:
        """Open all parts, once. Raises a DatabaseError, whose message says what to do."""
        async with self._opening:
            if self.engine is None:
                parts = running(self.settings, routes=self._routes, duties=self._duties)
                engine = await self._stack.enter_async_context(parts)
                described = msgspec.json.encode(openapi.document(self._routes, version=VERSION))
                self._pages = Pages(
                    self.settings, engine.health, engine.tallies, engine.hub, engine.pool.house, described
                )
                self._agents = agents.Agents(self, engine, described, self.settings.hosts)
                self._people = people.People(engine, self._routes, self.settings)
                self.engine = engine
            return self.engine

    def stop_waiting(self) -> None:
        """Answer all long polls now and take no new work: the server is about to stop."""
        if self.engine is not None:
            self.engine.hub.stop()

    async def stop(self) -> None:
        """Close all parts."""
        self.stop_waiting()
        await self._stack.aclose()

    @asynccontextmanager
    async def lifespan(self, _outer: Any = None) -> AsyncIterator[None]:
        """All parts are open as long as the block runs: for an application in which this one is mounted.

        Frameworks tell what is mounted in them nothing of their beginning and end.
        """
        if self.engine is not None and self.engine.hub.stopping:
            self.engine = None  # it ended before, and begins anew
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live through a lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            answering = mounting.Answering(send)
            await self._served(mounting.whole(scope), receive, answering)
            await answering.end()
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})  # before it is accepted: the server answers 403
        else:
            raise ValueError(f"steadhold speaks HTTP, not {scope['type']}")

    def serve(self, exchange: Exchange) -> Awaitable[None]:
        """Answer one request of our own server: the rooms' go to their doors without ASGI's messages between."""
        path, engine, hosts = exchange.raw_path, self.engine, self.settings.hosts
        if (
            engine is None
            or not path.startswith(b"/v1/")
            or path == _CAPABILITIES.encode()
            or (hosts and _host(exchange.headers) not in hosts)
        ):
            return self(exchange.scope(), exchange.receive, exchange.send)
        return engine.doors.answer(exchange)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            engine = self.engine or await self.start()
        except Exception as error:
            if (away := trouble(error)) is None:
                raise
            alarm(error, {})
            await wire.send(send, away, base=self._base(scope), head=scope["method"] == "HEAD")
        else:
            await self._answer(engine, scope, receive, send)

    def _base(self, scope: Scope) -> str:
        return self.settings.public_url.rstrip("/") or quote(scope.get("root_path", ""))

    async def _answer(self, engine: Engine, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refused(scope)
        root: str = scope.get("root_path", "")
        path: str = scope["path"][len(root) :] or "/"
        if refused is None and path.startswith("/v1/") and path != _CAPABILITIES:
            await engine.doors(scope, receive, send)
            return
        if refused is None and path == agents.PATH and self._agents is not None:
            await self._agents(scope, receive, send)
            return
        if refused is None and self._people and people.here(self.settings, path, root, _host(scope["headers"])):
            await self._people(scope, receive, send)
            return
        if self._pages is None:
            raise AssertionError("an application that has started has its pages")
        method: str = scope["method"]
        answer = refused or await self._pages.answer(method, path, dict(scope["headers"]), quote(root))
        await wire.send(send, mounting.linked(answer, quote(root)), base=self._base(scope), head=method == "HEAD")

    def _refused(self, scope: Scope) -> Problem | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.ADDRESS_BYTES_MAX:
            return _TOO_LONG
        if len(headers) > limits.HEADER_FIELDS_MAX:
            return _TOO_LARGE
        if sum([len(name) + len(value) for name, value in headers]) > limits.HEADER_BYTES_MAX:
            return _TOO_LARGE
        if self.settings.hosts and _host(headers) not in self.settings.hosts:
            return _ELSEWHERE
        return None

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


def asgi(settings: Settings | None = None, /, **values: Any) -> App:
    """The server as an ASGI application, for any ASGI server to run or another application to mount.

    `values` are settings by their names (`database_url="postgresql://…"`).

    Raises:
        SettingError: one of them is wrong, as its message says. TypeError: settings are given both ways.
    """
    if settings is not None and values:
        raise TypeError("Give Settings, or settings by their names, and not both.")
    return App(load(values).settings if settings is None else settings)


def _host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The name in the Host field without its port; "" when the field is missing or came twice."""
    found = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(found) != 1:
        return ""
    name, colon, port = found[0].rpartition(":")
    return (name if colon and port.isdecimal() else found[0]).lower()
