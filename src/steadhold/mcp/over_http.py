"""`/mcp`: a message of the protocol comes by POST, and its answer is the answer; nothing is remembered between two."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from steadhold.kit import limits
from steadhold.mcp.asking import Answered, Asked, Send
from steadhold.mcp.speaker import Context, Speaker
from steadhold.web import body as bodies
from steadhold.web import wire
from steadhold.web.above import Above
from steadhold.web.ask import Principal, Problem, Stop
from steadhold.web.auth import bearer, refuse
from steadhold.web.body import Receive
from steadhold.web.heading import heading, refuse_repeated
from steadhold.web.problem import stop

Scope: TypeAlias = MutableMapping[str, Any]
Asgi: TypeAlias = Callable[[Scope, Receive, wire.Send], Any]

CALL: Final = "tools/call"
COUNTED: Final = "/v1/"
"""Where requests go that a door counts against the workspace's rate."""

SENDS: Final = "steadhold.send"
"""Where the scope of a message holds how its tools reach the server."""

_KEPT: Final = frozenset({b"authorization", b"host", b"traceparent"})
_ONLY_POST: Final = Problem("method_not_allowed", "Here is: POST.", headers=(("allow", "POST"),))

logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of each malformed message, at a client's will


class _Message(msgspec.Struct):
    method: str = ""


class OverHttp:
    """The door of agents. Requests of tools go through `app` as any other: its keys, scopes and limits hold."""

    def __init__(self, app: Asgi, above: Above, document: bytes, hosts: tuple[str, ...]) -> None:
        async def described(_: Send) -> bytes:
            return document

        self._app, self._above, self._hosts = app, above, hosts
        self._owing: set[str | None] = set()  # workspaces with a call that asked nothing, and was not counted yet
        self._speaker = Speaker(_sends, described)

    async def __call__(self, scope: Scope, receive: Receive, send: wire.Send) -> None:
        """Answer one message."""
        try:
            who, body = await self._admitted(scope, receive)
        except Stop as stopped:
            await wire.send(send, stopped.problem, base=self._above.base or quote(scope.get("root_path", "")))
            return
        gone, counted = asyncio.Event(), asyncio.Event()
        watch = asyncio.ensure_future(_watch(receive, gone))
        try:
            inner = {**scope, SENDS: self._sending(scope, gone, counted)}
            manager = StreamableHTTPSessionManager(
                self._speaker.server, json_response=True, stateless=True, max_request_body_size=limits.BODY_BYTES_MAX
            )
            async with manager.run():  # nothing of it outlives the message
                await manager.handle_request(inner, _once(body, gone), send)
        finally:
            if _method(body) == CALL and not counted.is_set():
                self._owing.add(who.workspace)
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch

    async def _admitted(self, scope: Scope, receive: Receive) -> tuple[Principal, bytes]:
        """Whoever may come in, and the whole message. Raises Stop."""
        head = heading(scope["headers"])
        who = await self._above.authenticate(bearer(head)) or refuse()
        self._same_origin(head.fields)
        if scope["method"] != "POST":
            raise Stop(_ONLY_POST)
        refuse_repeated(head)
        body = await bodies.read(receive, limits.BODY_BYTES_MAX)
        if _method(body) != CALL or who.workspace in self._owing:  # a call is counted at its door
            if (limited := self._above.rate(who)) is not None:
                raise Stop(limited)
            self._owing.discard(who.workspace)
        return who, body

    def _same_origin(self, fields: Mapping[str, str]) -> None:
        """Refuse what a page of another site sends, which a browser says."""
        origin = fields.get("origin")
        if origin is not None and _netloc(origin) not in {fields.get("host", "").lower(), *self._hosts}:
            stop("foreign_origin", "A page of another site may not ask here.")

    def _sending(self, scope: Scope, gone: asyncio.Event, counted: asyncio.Event) -> Send:
        kept = [(name, value) for name, value in scope["headers"] if name in _KEPT]

        async def send(asked: Asked) -> Answered:
            if asked.target.startswith(COUNTED):
                counted.set()
            return await inside(self._app, scope, kept, asked, gone)

        return send


def _sends(context: Context) -> Send:
    if context.request is None:
        raise AssertionError("a message over HTTP has its request")
    return context.request.scope[SENDS]


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return "?"


def _method(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Message).method
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    except RecursionError:
        stop("bad_json", "The message is nested too deeply.")


async def _watch(receive: Receive, gone: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _once(body: bytes, gone: asyncio.Event) -> Receive:
    """The body, which was read, and then the word that the client has gone."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if left:
            return left.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    return receive


async def inside(
    app: Asgi, scope: Mapping[str, Any], kept: list[tuple[bytes, bytes]], asked: Asked, gone: asyncio.Event
) -> Answered:
    """Send a request to the application itself, with what is kept of the message's header fields."""
    path, _, query = asked.target.partition("?")
    fields = [(name.encode(), value.encode("latin-1")) for name, value in asked.headers.items()]
    root: str = scope.get("root_path", "")
    own = {
        "type": "http",
        "asgi": scope.get("asgi", {"version": "3.0"}),
        "http_version": "1.1",
        "scheme": scope.get("scheme", "http"),
        "server": scope.get("server"),
        "client": scope.get("client"),
        "root_path": root,
        "method": asked.method,
        "path": root + path,
        "raw_path": (root + path).encode(),
        "query_string": query.encode(),
        "headers": [*kept, *fields, (b"content-length", str(len(asked.body)).encode())],
    }
    came: list[Any] = []

    async def take(message: Any) -> None:
        came.append(message)

    await app(own, _once(asked.body, gone), take)
    return answered(came)


def answered(came: list[Any]) -> Answered:
    """An answer of ASGI's messages; one that never came is told as such: its client had gone."""
    if not came:
        return Answered(503, {}, b"")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in came[0]["headers"]}
    return Answered(came[0]["status"], headers, b"".join(each.get("body", b"") for each in came[1:]))
