"""A small world for the doors: routes over a dict, a player that runs plans without a database, a client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Call, Plan, operation
from steadhold.web import conditions, decode, query, reply
from steadhold.web.ask import Answer, Ask, Principal, Problem, Reply, Request, Route
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.problem import MISSING, refused
from steadhold.web.serve import Above, Doors, Seen

ANNA = Principal("acme", "anna", "k1", "service", ("things:read", "things:write"))
OPERATOR = Principal(None, "olga", "k2", "operator", ("*:*",))
READER = Principal("acme", "rita", "k3", "service", ("things:read",))


class Thing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: int
    note: msgspec.Raw = msgspec.Raw(b"null")


@dataclass
class World:
    """What the toy rooms keep, and knobs to make the player misbehave."""

    things: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    keys: dict[str, Principal] = field(default_factory=lambda: {"anna": ANNA, "olga": OPERATOR, "rita": READER})
    played: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    alarms: list[tuple[Exception, Mapping[str, str]]] = field(default_factory=list)
    fail: Exception | None = None
    stall: asyncio.Event | None = None
    hub: Hub = field(default_factory=Hub)
    flights: Flights = field(default_factory=Flights)

    async def play(self, call: Call[Any]) -> Any:
        self.played.append(call.name)
        if self.stall:
            await self.stall.wait()
        if self.fail:
            raise self.fail
        plan = call.begin()
        try:
            next(plan)
        except StopIteration as end:
            return end.value
        raise AssertionError("a toy plan asks no database")

    async def authenticate(self, token: str) -> Principal | None:
        return self.keys.get(token)

    def doors(self, **changes: Any) -> Doors:
        above = Above(
            play=self.play,
            authenticate=self.authenticate,
            permits=lambda who, scope, _target: "*:*" in who.scopes or scope in who.scopes,
            receipted=lambda _route, _request, asked, said: replace(
                asked, render=lambda outcome: _marked(asked.render(outcome), said)
            ),
            trouble=lambda error: Problem("unavailable", "Later.") if isinstance(error, OSError) else None,
            on=self.seen.append,
            alarm=lambda error, facts: self.alarms.append((error, facts)),
            house="~house",
            known=self.known,
        )
        return Doors(self.routes(), replace(above, **changes), hub=self.hub, flights=self.flights)

    async def known(self, workspace: str) -> bool:
        return workspace == "acme"

    def routes(self) -> tuple[Route, ...]:
        return (
            Route("GET", "/v1/things", self.list, "things:read", "List", query=("limit", "cursor", "prefix")),
            Route(
                "GET", "/v1/things/{name:path}", self.get, "things:read", "Read", scoped="name",
                query=("wait_seconds",), headers=("if-none-match",),
            ),
            Route(
                "PUT", "/v1/things/{name:path}", self.put, "things:write", "Write", scoped="name", receipt="optional",
                body="raw", media=("application/json",), body_bytes_max=1000, headers=("if-match", "if-none-match"),
            ),
            Route("POST", "/v1/things:make", self.make, "things:write", "Make", receipt="required", body="json"),
            Route("POST", "/v1/boxes/{id}/take", self.take, "things:write", "Take", query=("wait_seconds",)),
            Route("POST", "/v1/boxes/{id}/free", self.free, "things:write", "Free"),
            Route("GET", "/v1/jobs/{id:uuid}", self.job, "", "Job"),
            Route("POST", "/v1/houses", self.house, "houses:create", "House", house=True),
        )  # fmt: skip

    def list(self, ask: Request) -> Answer:
        from steadhold.kit.page import page

        query.cursor(ask, "things", str)
        found = page(sorted(self.things), query.limit(ask), "things", lambda name: (name,))
        return reply.listing(ask, found, lambda name: {"name": name})

    def get(self, ask: Request) -> Ask[Any]:
        name = query.path(ask, "name")

        def render(found: tuple[int, bytes] | Missing) -> Answer:
            if isinstance(found, Missing):
                return refused(found)
            if conditions.unchanged(ask, found[0]):
                return reply.not_modified(found[0])
            return Reply(200, found[1], revision=found[0])

        wait = conditions.watch(ask, ("thing", name), lambda found: None if isinstance(found, Missing) else found[0])
        return Ask(self._get.call(ask.workspace, name), render, wait=wait)

    def put(self, ask: Request) -> Ask[Any]:
        name = query.path(ask, "name")
        expected, body = conditions.put(ask), decode.exact(ask)

        def render(found: int | RevisionConflict) -> Answer:
            if isinstance(found, RevisionConflict):
                return refused(found)
            return reply.json({"revision": found}, 201 if expected is None else 200, revision=found)

        return Ask(self._put.call(ask.workspace, name, expected, body), render, touches=(("thing", name),))

    def make(self, ask: Request) -> Ask[Any]:
        thing = decode.body(ask, Thing)
        return Ask(
            self._const.call(ask.workspace, {"id": ask.fresh, "size": thing.size, "note": thing.note}),
            lambda made: reply.json(made, 201, resource=f"thing:{ask.fresh}"),
        )

    def take(self, ask: Request) -> Ask[Any]:
        from steadhold.web.ask import Wait

        box = ask.params["id"]
        wait = Wait[Any](query.wait_seconds(ask), ("box", box), bool, alone=True)
        return Ask(
            self._take.call(ask.workspace, box), reply.json, wait=wait,
            undo=lambda taken: self._undo.call(ask.workspace, taken) if taken else None,
        )  # fmt: skip

    def free(self, ask: Request) -> Ask[Any]:
        box = ask.params["id"]
        return Ask(self._put.call(ask.workspace, box, None, b"1"), reply.json, touches=(("box", box),))

    def job(self, _ask: Request) -> Answer:
        return MISSING

    def house(self, ask: Request) -> Answer:
        return reply.json({"workspace": ask.workspace, "subject": ask.who.subject})

    @property
    def _get(self):
        @operation
        def get(_workspace: str, name: str) -> Plan[Any]:
            yield from ()
            return self.things.get(name, Missing())

        return get

    @property
    def _put(self):
        @operation
        def put(_workspace: str, name: str, expected: int | None, body: bytes) -> Plan[Any]:
            yield from ()
            current = self.things.get(name, (None, b""))[0]
            if current != expected:
                return RevisionConflict(current)
            self.things[name] = ((current or 0) + 1, body)
            return (current or 0) + 1

        return put

    @property
    def _take(self):
        @operation
        def take(_workspace: str, box: str) -> Plan[Any]:
            yield from ()
            return box if self.things.pop(box, None) else None

        return take

    @property
    def _undo(self):
        @operation
        def undo(_workspace: str, box: str) -> Plan[Any]:
            yield from ()
            self.undone.append(box)

        return undo

    @property
    def _const(self):
        @operation
        def const(_workspace: str, value: Any) -> Plan[Any]:
            yield from ()
            return value

        return const


def _marked(answer: Answer, said: Any) -> Answer:
    return (
        replace(answer, headers=(*answer.headers, ("x-said", str(len(said))))) if isinstance(answer, Reply) else answer
    )


@dataclass
class Got:
    """An answer, as a client sees it."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.json["status"] == self.status
        return self.json["code"]


class Client:
    """Speaks ASGI to an application; `leave()` is the client closing its connection."""

    def __init__(self, app: Any, key: str | None = "anna", *, root: str = "") -> None:
        self.app, self.key, self.root = app, key, root
        self.left = asyncio.Event()

    def leave(self) -> None:
        self.left.set()

    async def __call__(
        self, method: str, target: str, body: bytes = b"", *, pieces: list[bytes] | None = None,
        ends: bool = True, **headers: str,
    ) -> Got:  # fmt: skip
        raw, _, search = target.partition("?")
        lines = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
        if self.key is not None and "authorization" not in headers:
            lines.append((b"authorization", f"Bearer {self.key}".encode()))
        if body and "content_type" not in headers:
            lines.append((b"content-type", b"application/json"))
        scope = {
            "type": "http", "method": method, "path": raw, "raw_path": raw.encode(), "root_path": self.root,
            "query_string": search.encode(), "headers": lines, "http_version": "1.1", "client": ("127.0.0.1", 1),
        }  # fmt: skip
        queue = list(pieces) if pieces is not None else [body]
        sent: list[Any] = []

        async def receive() -> Any:
            if queue:
                piece = queue.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(queue) or not ends}
            if ends:
                await self.left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return Got(0, {}, b"")
        fields = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        cookies = tuple(value.decode("latin-1") for name, value in sent[0]["headers"] if name == b"set-cookie")
        return Got(sent[0]["status"], fields, b"".join(message.get("body", b"") for message in sent[1:]), cookies)
