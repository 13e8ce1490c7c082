"""A connection of HTTP/1.1: how much and how slowly its client may send and read, and the task that answers it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Any, ClassVar, Final, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from steadhold.kit import limits
from steadhold.server.exchange import Exchange, Fields, Serve
from steadhold.server.outgoing import Outgoing
from steadhold.server.reading import PIECE_BYTES, UNREAD_BYTES_MAX, Reading, Unreadable
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS
from steadhold.web.problem import MEDIA_TYPE, SOON, encode

FAREWELL_SECONDS: Final = 2
"""How long a client that was told off while it still sent has to read that and close."""

_openings: dict[int, tuple[Fields, bytes]] = {}
"""By status: what was written last, and of which fields. uvicorn makes others each second, for the date."""

_SLOW: Final = Problem("request_timeout", "The request did not arrive in time.")
_FULL: Final = Problem("unavailable", "This server has all the connections that it takes.", headers=SOON)


class Connection(Reading, asyncio.Protocol):
    """One client's connection.

    Exchanges that are not answered yet stand in `queue`, the first of them being answered. While there are more than
    one, what arrives is kept in `behind` as it came, so that it is still seen when the client leaves; only when that is
    full, nothing more is read. `deaf` says that what arrives means nothing any more, `leaving_since` that all is said,
    and only the client has still to close.
    """

    __slots__ = (
        "address", "behind", "bell", "client", "connections", "deaf", "idle_since", "keep_alive_seconds",
        "leaving_since", "loop", "out", "paused", "queue", "serve", "server", "state", "task", "tasks", "transport",
    )  # fmt: skip

    from_address: ClassVar[Counter[str]] = Counter()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        del app_state  # of lifespan, which is not uvicorn's business here
        self.serve: Serve = cast("Any", config.app).serve
        self.keep_alive_seconds = config.timeout_keep_alive
        self.state, self.connections, self.tasks = server_state, server_state.connections, server_state.tasks
        self.loop = _loop or asyncio.get_running_loop()
        super().__init__(self.loop.time)
        self.queue: deque[Exchange] = deque()
        self.behind = bytearray()
        self.task: asyncio.Task[None] | None = None
        self.bell: asyncio.Future[None] | None = None  # what the task waits for when there is nothing to answer
        self.paused, self.deaf = False, False
        self.leaving_since: float | None = None

    def opening(self, status: int) -> bytes:
        """The first line of an answer, and the fields that every answer has."""
        always, written = self.state.default_headers, _openings.get(status)
        if written is None or written[0] is not always:
            line = STATUS_LINE[status] + b"".join([b"%b: %b\r\n" % field for field in always])
            written = _openings[status] = always, line
        return written[1]

    # --- the transport's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many already."""
        self.connections.add(cast("Any", self))
        self.transport = cast("asyncio.Transport", transport)
        self.out = Outgoing(self.transport, self.loop)
        self.server, self.client = get_local_addr(self.transport), get_remote_addr(self.transport)
        self.idle_since = self.now()
        self.address = self.client[0] if self.client else ""
        self.from_address[self.address] += 1
        if len(self.connections) > limits.CONNECTIONS_MAX:
            self.out.write(_bytes(_FULL))
            self.out.close()
        elif self.address and self.from_address[self.address] > limits.CONNECTIONS_PER_ADDRESS_MAX:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell whoever still answers that nobody listens."""
        del exc
        self.from_address[self.address] -= 1
        if not self.from_address[self.address]:
            del self.from_address[self.address]
        self.connections.discard(cast("Any", self))
        for exchange in self.queue:
            exchange.leave()
        self.resume_writing()
        self._ring()
        self.behind.clear()
        self.end_of_reading()

    def data_received(self, data: bytes) -> None:
        """Read what has arrived."""
        if self.deaf:
            return
        if self.behind or self.sated or len(data) > PIECE_BYTES or len(self.queue) > 1:
            self.behind += data
            self._read_on()
        else:
            self._read(data)

    def eof_received(self) -> None:
        """Close: a client that has ended has gone. What was said is sent."""
        self.out.send()

    def pause_writing(self) -> None:
        """Hold answers back: the client reads too slowly."""
        self.out.hold()

    def resume_writing(self) -> None:
        """Let answers go on."""
        self.out.go_on()

    # --- reading

    def _read(self, piece: bytes) -> None:
        try:
            self.feed(piece)
        except Unreadable as unreadable:
            self.refuse(unreadable.problem)

    def _read_on(self) -> None:
        while self.behind and len(self.queue) <= 1 and not self.sated and not self.deaf:
            piece = bytes(self.behind[:PIECE_BYTES])
            del self.behind[:PIECE_BYTES]
            self._read(piece)
        if self.transport.is_closing():
            return
        if not self.paused and len(self.behind) > UNREAD_BYTES_MAX:
            self.paused = True
            self.transport.pause_reading()
        elif self.paused and len(self.behind) <= UNREAD_BYTES_MAX:
            self.paused = False
            self.transport.resume_reading()

    def begun(self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]]) -> Exchange:
        """Queue a request whose head is there."""
        exchange = Exchange(self, method, path, query, headers)
        self.queue.append(exchange)
        if self.task is None:
            self.task = self.loop.create_task(self._answer())
            self.tasks.add(self.task)
            self.task.add_done_callback(self.tasks.discard)
        self._ring()
        return exchange

    # --- answering

    async def _answer(self) -> None:
        """Answer requests one after the other, until the connection has ended."""
        while not self._ended():
            if self.queue:
                await self.queue[0].run(self.serve)
                if not self.queue.popleft().keep_alive:
                    self.end()  # it may have been asked of one that was answered, but not yet done
                elif self.queue:
                    await asyncio.sleep(0)  # it is others' turn, however fast these are answered
            else:
                self.bell = self.loop.create_future()
                await self.bell

    def _ended(self) -> bool:
        return self.leaving_since is not None or self.transport.is_closing()

    def _ring(self) -> None:
        if self.bell is not None and not self.bell.done():
            self.bell.set_result(None)

    def answered(self) -> None:
        """An exchange is complete."""
        self.state.total_requests += 1
        self.idle_since = self.now()
        self.want_more()

    def want_more(self) -> None:
        """Read on, unless there are requests enough."""
        self.sated = False
        if self.behind and len(self.queue) <= 1:
            if self.arriving_since is not None:
                self.arriving_since = self.now()  # that it lay here is not its client's fault
            self._read_on()

    # --- ending

    def end(self) -> None:
        """Close. A client that may still be sending gets time to read what it was told: a reset would take it away."""
        if self._ended():
            return
        if not (self.deaf or self.in_body or self.behind):
            self.out.close()
            return
        self._hear_no_more()
        self.leaving_since = self.now()
        for exchange in self.queue:
            if not exchange.complete:
                exchange.leave()
        if self.paused:
            self.transport.resume_reading()
        self.out.end()

    def _hear_no_more(self) -> None:
        self.deaf = True
        self.arriving_since = None
        self.behind.clear()

    def shutdown(self) -> None:
        """End as soon as what was asked is answered."""
        if self.queue and self.leaving_since is None:
            self.queue[-1].keep_alive = False
        else:
            self.out.close()

    def end_if_slow(self, now: float) -> None:
        """End a connection whose request arrives or whose answer leaves too slowly, or that nobody uses any more."""
        self.out.abort_if_unread(now)
        if self.leaving_since is not None:
            if now - self.leaving_since > FAREWELL_SECONDS:
                self.out.close()
        elif self.arriving_since is not None:
            if not self.behind and now - self.arriving_since > self.patience:
                self.refuse(_SLOW)
        elif not self.queue and now - self.idle_since > self.keep_alive_seconds:
            self.out.close()

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem and close, unless an answer is already on its way.

        Whole requests that came before get their answers, and nothing follows the last of them.
        """
        if self._ended():
            return
        self._hear_no_more()
        if whole := [exchange for exchange in self.queue if not exchange.more]:
            whole[-1].keep_alive = False
            return
        exchange = self.exchange
        if exchange is None or not exchange.started or (exchange.complete and not self.in_body):
            self.out.write(_bytes(problem))
        self.end()


def _bytes(problem: Problem) -> bytes:
    body = encode(problem)
    fields = (
        ("content-type", MEDIA_TYPE),
        ("content-length", str(len(body))),
        ("connection", "close"),
        *problem.headers,
    )
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in fields)
    return STATUS_LINE[PROBLEMS[problem.code].status] + lines + b"\r\n" + body


def end_slow(connections: set[Any], now: float) -> None:
    """End the connections whose requests arrive too slowly, and those that nobody uses."""
    for connection in list(connections):
        cast("Connection", connection).end_if_slow(now)
