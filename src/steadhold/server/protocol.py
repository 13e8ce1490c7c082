"""A connection of HTTP/1.1: what its client may send, how slowly, and the one task that answers it in order."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Any, ClassVar, Final, NoReturn, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from steadhold.kit import limits
from steadhold.server.exchange import Exchange, Fields, Serve
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS
from steadhold.web.problem import MEDIA_TYPE, encode

_MALFORMED: Final = Problem("bad_request", "This is no HTTP/1.1 request that has one meaning only.")
_LARGE: Final = Problem("headers_too_large", f"The head of a request has at most {limits.HEADER_BYTES_MAX} bytes.")
_LONG: Final = Problem("uri_too_long", f"An address has at most {limits.ADDRESS_BYTES_MAX} bytes.")
_SLOW: Final = Problem("request_timeout", "The request did not arrive in time.")
UNREAD_BYTES_MAX: Final = 65_536
"""A body that nobody has received yet is read no further than this."""

_FULL: Final = Problem(
    "unavailable", "This server has all the connections that it takes.", headers=(("retry-after", "1"),)
)


class _Refused(Exception):
    """The parser is to stop here; what to answer is kept by the connection."""


class Connection(asyncio.Protocol):
    """One client's connection. `arriving_since` is when what is still arriving began; None: nothing is.

    `exchange` is the newest. Those that are not answered yet stand in `queue`, the first of them being answered; while
    there are more than one, nothing more is read.
    """

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
        self.parser: Any = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # it is never answered
        self.exchange: Exchange | None = None
        self.queue: deque[Exchange] = deque()
        self.task: asyncio.Task[None] | None = None
        self.bell: asyncio.Future[None] | None = None  # what the task waits for when there is nothing to answer
        self.full: asyncio.Event | None = None
        self.paused = False
        self.problem = _MALFORMED
        self.url, self.in_body = b"", False
        self.headers: list[tuple[bytes, bytes]] = []
        self.head_bytes, self.hosts, self.expects = 0, 0, False

    @property
    def always(self) -> Fields:
        """The date, which uvicorn writes anew each second."""
        return self.state.default_headers

    # --- the transport's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many already."""
        self.connections.add(cast("Any", self))
        self.transport = cast("asyncio.Transport", transport)
        self.server, self.client = get_local_addr(self.transport), get_remote_addr(self.transport)
        self.idle_since = self.loop.time()
        self.arriving_since: float | None = self.idle_since
        self.patience = float(limits.HEADER_SECONDS_MAX)
        self.address = self.client[0] if self.client else ""
        self.from_address[self.address] += 1
        if len(self.connections) > limits.CONNECTIONS_MAX:
            self.refuse(_FULL)
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
        self.parser = None

    def data_received(self, data: bytes) -> None:
        """Read what has arrived."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.refuse(self.problem)
        except httptools.HttpParserUpgrade:
            pass  # to nothing: it was taken as the request that it is without

    def eof_received(self) -> None:
        """Close: a client that has ended has gone."""

    def pause_writing(self) -> None:
        """Hold answers back: the client reads too slowly."""
        self.full = self.full or asyncio.Event()

    def resume_writing(self) -> None:
        """Let answers go on."""
        if self.full is not None:
            self.full.set()
            self.full = None

    # --- the parser's

    def on_message_begin(self) -> None:
        """A request begins."""
        self.url, self.headers = b"", []
        self.head_bytes, self.hosts, self.expects = 0, 0, False
        self._await(limits.HEADER_SECONDS_MAX)

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self.url += url
        if len(self.url) > limits.ADDRESS_BYTES_MAX:
            self._stop(_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head, or of a trailer, which says nothing to us."""
        name = name.lower()
        self.head_bytes += len(name) + len(value)
        if name == b"host":
            self.hosts += 1
        elif name == b"expect":
            self.expects = value.lower() == b"100-continue"
        self.headers.append((name, value))
        if self.head_bytes > limits.HEADER_BYTES_MAX or len(self.headers) > limits.HEADER_FIELDS_MAX:
            self._stop(_LARGE)

    def on_headers_complete(self) -> None:
        """The head is there; the body follows."""
        version: str = self.parser.get_http_version()
        if version not in {"1.0", "1.1"} or (self.hosts != 1 and version == "1.1"):
            self._stop(_MALFORMED)
        path, query = self._address()
        method: str = self.parser.get_method().decode("ascii")
        exchange = Exchange(self, method, path, query, self.headers)
        exchange.version = version
        exchange.keep_alive = version == "1.1" and self.parser.should_keep_alive()
        exchange.expects = self.expects
        self.headers = []  # for trailers
        self.in_body = True
        self._await(limits.BODY_SECONDS_MAX)
        self._begin(exchange)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        exchange = self.exchange
        if exchange is not None and not exchange.complete and exchange.take(body) > UNREAD_BYTES_MAX:
            self._pause()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self.in_body = False
        self.arriving_since = None
        if self.exchange is not None:
            self.exchange.end()

    def _address(self) -> tuple[bytes, bytes]:
        url = self.url
        if not url.isascii():
            self._stop(_MALFORMED)
        if url.startswith(b"/") and b"#" not in url:
            path, _, query = url.partition(b"?")
            return path, query
        parsed: Any = httptools.parse_url(url)
        if parsed.path is None:
            self._stop(_MALFORMED)
        return parsed.path, parsed.query or b""

    # --- answering

    def _begin(self, exchange: Exchange) -> None:
        if self.queue:
            self._pause()
        self.exchange = exchange
        self.queue.append(exchange)
        if self.task is None:
            self.task = self.loop.create_task(self._answer())
            self.tasks.add(self.task)
            self.task.add_done_callback(self.tasks.discard)
        self._ring()

    async def _answer(self) -> None:
        """Answer requests one after the other, until the connection has ended."""
        while not self.transport.is_closing():
            if self.queue:
                await self.queue[0].run(self.serve)
                if not self.queue.popleft().keep_alive:
                    self.transport.close()  # it may have been asked of one that was answered, but not yet done
            else:
                self.bell = self.loop.create_future()
                await self.bell

    def _ring(self) -> None:
        if self.bell is not None and not self.bell.done():
            self.bell.set_result(None)

    def answered(self) -> None:
        """An exchange is complete."""
        self.state.total_requests += 1
        self.idle_since = self.loop.time()
        self.want_more()

    def want_more(self) -> None:
        """Read on, unless there are requests enough."""
        if self.paused and len(self.queue) <= 1 and not self.transport.is_closing():
            self.paused = False
            self.transport.resume_reading()

    def _pause(self) -> None:
        if not self.paused:
            self.paused = True
            self.transport.pause_reading()

    # --- ending

    def shutdown(self) -> None:
        """End as soon as what was asked is answered."""
        if self.queue:
            self.queue[-1].keep_alive = False
        else:
            self.transport.close()

    def end_if_slow(self, now: float) -> None:
        """End a connection whose request arrives too slowly, or that nobody uses any more."""
        if self.arriving_since is not None:
            if now - self.arriving_since > self.patience:
                self.arriving_since = None
                self.refuse(_SLOW)
        elif not self.queue and now - self.idle_since > self.keep_alive_seconds:
            self.transport.close()

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem and close, unless an answer is already on its way.

        Whole requests that came before get their answers, and nothing follows the last of them.
        """
        if self.transport.is_closing():
            return
        if whole := [exchange for exchange in self.queue if not exchange.more]:
            whole[-1].keep_alive = False
            return
        exchange = self.exchange
        if exchange is None or not exchange.started or (exchange.complete and not self.in_body):
            self.transport.write(_bytes(problem))
        self.transport.close()

    def _await(self, seconds: float) -> None:
        self.arriving_since, self.patience = self.loop.time(), float(seconds)

    def _stop(self, problem: Problem) -> NoReturn:
        self.problem = problem
        raise _Refused


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
    """End the connections whose requests arrive too slowly."""
    for connection in list(connections):
        cast("Connection", connection).end_if_slow(now)
