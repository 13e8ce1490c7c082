"""Toy rooms whose bodies come and go piece by piece, and a client that reads and sends them so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from steadhold.kit.plan import Call, Plan, operation
from steadhold.web import ranges, reply
from steadhold.web.ask import (
    REST,
    Answer,
    Ask,
    Pieces,
    Problem,
    Pull,
    Reply,
    Request,
    Route,
    Steps,
    Stream,
    Taking,
    Whole,
)
from tests.web.toy import World

PIECE = 4


@dataclass
class Flows(World):
    """Lines that are followed for ever, and files of bytes. `closed` are bodies that were let go, by what they were."""

    lines: list[bytes] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    kept: list[bytes] = field(default_factory=list)
    pulled: int = 0
    closed: list[str] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    watch: Callable[[], Any] = lambda: None

    def routes(self) -> tuple[Route, ...]:
        return (
            *super().routes(),
            Route("GET", "/v1/lines", self.follow, "things:read", "Follow", answers=("text/event-stream",)),
            Route("GET", "/v1/files/{id}", self.file, "things:read", "Fetch", headers=("range", "if-range")),
            Route("GET", "/v1/dumps/{id}", self.dump, "things:read", "Dump"),
            Route("PUT", "/v1/files/{id}", self.store, "things:write", "Store", receipt="optional", body="stream",
                  body_bytes_max=1_000_000_000),
            Route("PUT", "/v1/notes/{id}", self.store, "things:write", "Store", body="stream", body_bytes_max=10),
            Route("POST", "/v1/files/{id}", self.store, "things:write", "Store", receipt="required", body="stream"),
            Route("PUT", "/v1/walls/{id}", self.wall, "things:write", "Refuse", body="stream"),
        )  # fmt: skip

    def follow(self, ask: Request) -> Ask[Any]:
        def begin() -> Pieces:
            at = 0
            try:
                while True:
                    found = yield self._given.call(ask.workspace, self.lines[at:])
                    yield from found
                    at += len(found)
                    if not found:
                        yield REST
            finally:
                self.closed.append("lines")

        body = Stream(begin, endless=True, topics=(("lines",),), idle=b":\n\n")
        return Ask(
            self._given.call(ask.workspace, True), lambda _: Reply(200, content_type="text/event-stream", stream=body)
        )

    def file(self, ask: Request) -> Ask[Any]:
        def render(found: bytes) -> Answer:
            part = ranges.asked(ask, len(found), 7)
            first, end = part or (0, len(found))
            more = ranges.fields(first, end, len(found)) if part else ()
            body = Stream(lambda: self._sliced(ask, found[first:end]))
            return Reply(
                206 if part else 200,
                stream=body,
                length=end - first,
                content_type="text/plain",
                headers=more,
                revision=7,
            )

        return Ask(self._given.call(ask.workspace, self.files[ask.params["id"]]), render)

    def dump(self, ask: Request) -> Answer:
        return Reply(200, stream=Stream(lambda: self._sliced(ask, self.files[ask.params["id"]])))

    def _sliced(self, ask: Request, found: bytes) -> Pieces:
        try:
            size = max(PIECE, len(found) // 100)
            for at in range(0, len(found), size):
                self.pulled += 1
                yield (yield self._given.call(ask.workspace, found[at : at + size]))
        finally:
            self.closed.append("file")

    def store(self, ask: Request) -> Taking[Any]:
        name = ask.params["id"]

        def steps() -> Steps:
            yield self._given.call(ask.workspace, "reserved")
            size = 262_144 if name == "large" else PIECE
            try:
                while isinstance(piece := (yield Pull(size)), bytes):
                    yield self._keep.call(ask.workspace, piece if size == PIECE else b"%d" % len(piece))
            finally:
                self.closed.append("upload")
            assert isinstance(piece, Whole)
            told = {"length": piece.length, "sha256": piece.sha256.hex()}
            return Ask(self._given.call(ask.workspace, told), lambda made: reply.json(made, 201))

        return Taking(steps, self._after(ask))

    def wall(self, ask: Request) -> Taking[Any]:
        def steps() -> Steps:
            yield self._given.call(ask.workspace, "looked")
            return Problem("storage_exhausted", "It is full.")

        return Taking(steps, self._after(ask))

    def _after(self, ask: Request) -> Any:
        def after(outcome: Any) -> Call[Any] | None:
            self.after.append(outcome)
            return self._undo.call(ask.workspace, "upload") if outcome is None else None

        return after

    @property
    def _given(self):
        @operation
        def given(_workspace: str, value: Any) -> Plan[Any]:
            yield from ()
            return value

        return given

    @property
    def _keep(self):
        @operation
        def keep(_workspace: str, piece: bytes) -> Plan[None]:
            yield from ()
            self.kept.append(piece)
            self.watch()

        return keep


class Reader:
    """One request to an ASGI application whose answer is taken piece by piece, as fast as `gate` lets it."""

    def __init__(self, app: Any, method: str, path: str, body: list[bytes] | None = None, **headers: str) -> None:
        self.left, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.body: asyncio.Queue[Any] = asyncio.Queue()
        for piece in body or ():
            self.send(piece)
        if body is None:
            self.send(b"", last=True)
        fields = {"authorization": "Bearer anna", **headers}
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()],
        }  # fmt: skip
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    def send(self, piece: bytes, *, last: bool = False) -> None:
        self.body.put_nowait({"type": "http.request", "body": piece, "more_body": not last})

    def leave(self) -> None:
        self.left.set()
        self.body.put_nowait({"type": "http.disconnect"})

    async def _receive(self) -> Any:
        return await self.body.get()

    async def _send(self, message: Any) -> None:
        await self.gate.wait()
        self.sent.put_nowait(message)

    async def head(self) -> tuple[int, dict[bytes, bytes]]:
        start = await self.sent.get()
        return start["status"], dict(start["headers"])

    async def piece(self) -> bytes:
        return (await self.sent.get())["body"]

    async def rest(self) -> tuple[bytes, bool]:
        """All that is still sent, and whether it says that it is all."""
        async with asyncio.timeout(30):
            await self.task
        found = [self.sent.get_nowait() for _ in range(self.sent.qsize())]
        whole = bool(found) and not found[-1].get("more_body", False)
        return b"".join(message.get("body", b"") for message in found), whole
