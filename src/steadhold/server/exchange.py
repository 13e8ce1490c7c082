"""One request on a connection of ours, and its answer: at once for the doors, in ASGI's messages for all else."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import unquote

from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE

from steadhold.kit import failpoints
from steadhold.server.logs import shown
from steadhold.server.outgoing import Outgoing
from steadhold.telemetry.lines import logger
from steadhold.web.exchange import WRITE_BYTES_MAX
from steadhold.web.wire import pairs

log: Final = logger("steadhold.server")

Fields: TypeAlias = Sequence[tuple[bytes, bytes]]
Serve: TypeAlias = "Callable[[Exchange], Awaitable[None]]"

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Carrier(Protocol):
    """The connection, as far as an exchange asks of it."""

    out: Outgoing
    task: asyncio.Task[None] | None
    patience: float
    server: tuple[str, int | None] | None
    client: tuple[str, int] | None

    def opening(self, status: int) -> bytes:
        """The first line of an answer, and the fields that every answer has."""
        ...

    def want_more(self) -> None:
        """Read on, if reading was paused."""
        ...

    def answered(self) -> None:
        """An exchange is complete."""
        ...

    def end(self) -> None:
        """Close, once what was written is sent."""
        ...


class Exchange:
    """One request. `more` says that its body is still arriving; `gone`, that nobody is left to answer."""

    __slots__ = (
        "_arrived", "_body", "_event", "_left", "_mute", "_start", "carrier", "complete", "expects", "gone", "headers",
        "keep_alive", "method", "more", "query", "raw_path", "root", "slow", "started", "version",
    )  # fmt: skip

    def __init__(self, carrier: Carrier, method: str, raw_path: bytes, query: bytes, headers: Fields) -> None:
        self.carrier, self.method, self.raw_path, self.query, self.headers = carrier, method, raw_path, query, headers
        self.root, self.version, self.keep_alive, self.expects = "", "1.1", True, False
        self.more, self.gone, self.started, self.complete = True, False, False, False
        self.slow = False  # its body is taken piece by piece
        self._body: bytes | bytearray = b""
        self._arrived = False
        self._event: asyncio.Event | None = None
        self._start: Any = None
        self._mute = method == "HEAD"
        self._left: int | None = None  # bytes of an announced body that are still to be sent; -1: it goes in chunks

    async def run(self, serve: Serve) -> None:
        """Have it answered, by a plain 500 if whoever should do so fails."""
        try:
            await serve(self)
        except asyncio.CancelledError:
            log.warning("cut off before its answer", path=shown(self.raw_path))
            await self._fail()
            raise
        except Exception:
            log.exception("unforeseen")
            await self._fail()
        else:
            if not self.complete and not self._left_alone():
                log.error("left without a whole answer", path=shown(self.raw_path))
                await self._fail()

    async def _fail(self) -> None:
        self.keep_alive = False
        if self.started or self.carrier.out.full is not None:
            self.carrier.end()
        else:
            self._start = None
            await self.answer(500, b"content-type: text/plain; charset=utf-8\r\ncontent-length: 21\r\n", (_FAILED,))

    @property
    def task(self) -> asyncio.Task[None] | None:
        """Who answers it."""
        return self.carrier.task

    # --- what arrives

    def take(self, piece: bytes) -> int:
        """A piece of the body has arrived; how many bytes wait to be received."""
        self.expects = False
        if not self._body:
            self._body = piece
        elif isinstance(self._body, bytearray):
            self._body += piece
        else:
            self._body = bytearray(self._body + piece)  # which grows without a copy for each piece
        self.notify()
        return len(self._body)

    def end(self) -> None:
        """The body is whole."""
        self.more = self.expects = False
        self.notify()

    def leave(self) -> None:
        """The client has gone."""
        self.gone = True
        self.notify()

    def notify(self) -> None:
        """Wake who receives."""
        self._arrived = True
        if self._event is not None:
            self._event.set()

    def whole(self) -> bytes | None:
        """The body, if all of it is there."""
        if self.more:
            return None
        self._arrived = self.gone
        self.carrier.want_more()
        return bytes(self._body)

    async def receive(self) -> dict[str, Any]:
        """As ASGI: the next of the body, or, once that is over, the word that the client has gone."""
        if not self.gone and not self.complete:
            if self.expects:
                self.expects = False
                self.carrier.out.write(CONTINUE)
            self.carrier.want_more()
            await self._arrival()
        if self.gone or self.complete:
            return {"type": "http.disconnect"}
        body, self._body = self._body, b""
        return {"type": "http.request", "body": bytes(body), "more_body": self.more}

    async def _arrival(self) -> None:
        if not self._arrived:
            self._event = self._event or asyncio.Event()
            self._event.clear()
            await self._event.wait()
        self._arrived = False

    # --- what is sent

    async def answer(self, status: int, fields: bytes, pieces: tuple[bytes, ...]) -> None:
        """Answer whole. `fields` are lines as they are sent; a HEAD gets no body."""
        if self.carrier.out.full is not None:
            await self.carrier.out.full.wait()
        if self._left_alone():
            return
        self.started = True
        if self.slow and self.more:
            self.keep_alive = False
        pieces, close = () if self._mute else pieces, b"" if self.keep_alive else _CLOSE
        head, length = (self.carrier.opening(status), fields, close, b"\r\n"), sum(map(len, pieces))
        if length > WRITE_BYTES_MAX and not failpoints.armed:
            self.carrier.out.write(b"".join(head), *pieces)
            self._finish()
            return
        whole = b"".join((*head, *pieces))
        if failpoints.armed and length:
            half = len(whole) - length // 2
            self.carrier.out.write(whole[:half])
            failpoints.hit("reply_half_sent")
            whole = whole[half:]
        self.carrier.out.say(whole)
        self._finish()

    async def begin(self, status: int, fields: bytes, *, closes: bool) -> None:
        """Begin an answer whose body comes in pieces; after one that `closes` the connection ends."""
        self.keep_alive = self.keep_alive and not closes
        await self.send({"type": "http.response.start", "status": status, "headers": pairs(fields)})

    async def piece(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece, once the connection takes more; a large one in parts, of which one lies there as a copy."""
        whole = memoryview(body)
        for at in range(0, max(len(body), 1), WRITE_BYTES_MAX):
            part, end = whole[at : at + WRITE_BYTES_MAX], at + WRITE_BYTES_MAX
            await self.send({"type": "http.response.body", "body": part, "more_body": not last or end < len(body)})

    async def cut(self, *, whole: bool) -> None:
        """End in the middle. A client that has not taken what was sent gets nothing more of it."""
        if self.carrier.out.full is not None:
            self.gone = True
            self.carrier.out.transport.abort()
        elif whole:
            await self.piece(b"", last=True)
        else:
            self.gone = True
            self.keep_alive = False
            self.carrier.end()

    def take_slowly(self) -> None:
        """Leave it to the receiver how long the body takes; one that it does not take whole ends the connection."""
        self.slow = True
        if self.more:
            self.carrier.patience = math.inf

    async def send(self, message: Any) -> None:
        """As ASGI. The head goes out with the first of the body."""
        if self.carrier.out.full is not None:
            await self.carrier.out.full.wait()
        if self._left_alone():
            return
        if self.complete:
            raise RuntimeError(f"{message['type']} was sent after the answer was complete")
        if message["type"] == "http.response.start":
            self._start = message
            return
        body: bytes = message.get("body", b"")
        last = not message.get("more_body", False)
        head = [] if self.started else self._head(self._start)
        pieces = [*head, *self._framed(body, last=last)]
        self.started = True
        self.carrier.out.write(b"".join(pieces))
        if last:
            self._finish()

    def _head(self, start: Any) -> list[bytes]:
        status: int = start["status"]
        pieces = [self.carrier.opening(status)]
        for name, value in start.get("headers", ()):
            if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
                raise RuntimeError(f"the field {name!r} cannot be {value!r}")
            lower = name.lower()
            if lower == b"content-length":
                self._left = int(value)
            elif lower == b"connection":
                self.keep_alive = self.keep_alive and b"close" not in value.lower()
                continue
            pieces += (lower, b": ", value, b"\r\n")
        self._mute = self._mute or status in {204, 304}
        if self._left is None and not self._mute and self.version == "1.1":
            self._left = -1
            pieces.append(b"transfer-encoding: chunked\r\n")
        return [*pieces, b"" if self.keep_alive else _CLOSE, b"\r\n"]

    def _framed(self, body: bytes, *, last: bool) -> list[bytes]:
        if self._mute or self._left is None:
            return [] if self._mute else [body]
        if self._left < 0:
            return [*((b"%x\r\n" % len(body), body, b"\r\n") if body else ()), b"0\r\n\r\n" if last else b""]
        self._left -= len(body)
        if self._left < 0 or (last and self._left):
            raise RuntimeError("the body is not as long as it was announced")
        return [body]

    def _left_alone(self) -> bool:
        return self.gone or self.carrier.out.transport.is_closing()

    def _finish(self) -> None:
        self.complete = True
        self.notify()
        if not self.keep_alive:
            self.carrier.end()
        self.carrier.answered()

    # --- for ASGI

    def scope(self) -> dict[str, Any]:
        """What ASGI calls the scope of the request."""
        path = self.raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self.version,
            "server": self.carrier.server,
            "client": self.carrier.client,
            "scheme": "http",
            "root_path": "",
            "method": self.method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            "headers": self.headers,
            "state": {},
        }


_CLOSE: Final = b"connection: close\r\n"
_FAILED: Final = b"Internal Server Error"
