"""A connection that bounds what its client may send, and how slowly: uvicorn's own, with limits and plain answers."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from typing import Any, ClassVar, Final, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from steadhold.kit import limits
from steadhold.server.cork import corked
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS
from steadhold.web.problem import MEDIA_TYPE, encode

_MALFORMED: Final = Problem("bad_request", "This is no HTTP/1.1 request that has one meaning only.")
_LARGE: Final = Problem("headers_too_large", f"The head of a request has at most {limits.HEADER_BYTES_MAX} bytes.")
_LONG: Final = Problem("uri_too_long", f"An address has at most {limits.ADDRESS_BYTES_MAX} bytes.")
_SLOW: Final = Problem("request_timeout", "The request did not arrive in time.")
_FULL: Final = Problem(
    "unavailable", "This server has all the connections that it takes.", headers=(("retry-after", "1"),)
)


class _Refused(Exception):
    """The parser is to stop here; what to answer is kept by the connection."""


class Connection(HttpToolsProtocol):
    """One client's connection. `arriving_since` is when what is still arriving began; None: nothing is."""

    from_address: ClassVar[Counter[str]] = Counter()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take the connection, unless there are too many already."""
        super().connection_made(transport)
        self.arriving_since: float | None = self.loop.time()
        self.patience = float(limits.HEADER_SECONDS_MAX)
        self.problem = _MALFORMED
        self.head_bytes, self.hosts = 0, 0
        self.in_body = False
        self.address = self.client[0] if self.client else ""
        self.from_address[self.address] += 1
        if len(self.connections) > limits.CONNECTIONS_MAX:
            self.refuse(_FULL)
        elif self.address and self.from_address[self.address] > limits.CONNECTIONS_PER_ADDRESS_MAX:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.from_address[self.address] -= 1
        if not self.from_address[self.address]:
            del self.from_address[self.address]
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.head_bytes, self.hosts = 0, 0
        self._await(limits.HEADER_SECONDS_MAX)

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        super().on_url(url)
        if len(self.url) > limits.ADDRESS_BYTES_MAX:
            self._stop(_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head, or of a trailer."""
        super().on_header(name, value)
        self.head_bytes += len(name) + len(value)
        self.hosts += name.lower() == b"host"
        if self.head_bytes > limits.HEADER_BYTES_MAX or len(self.headers) > limits.HEADER_FIELDS_MAX:
            self._stop(_LARGE)

    def on_headers_complete(self) -> None:
        """The head is there; the body follows."""
        version = cast("Any", self.parser).get_http_version()
        if version not in {"1.0", "1.1"} or (self.hosts != 1 and version == "1.1"):
            self._stop(_MALFORMED)
        super().on_headers_complete()
        self.in_body = True
        self._await(limits.BODY_SECONDS_MAX)

    def on_message_complete(self) -> None:
        """The whole request is there."""
        super().on_message_complete()
        self.in_body = False
        self.arriving_since = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, functools.partial(corked, cycle, app))

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser would not take, or what was refused while it arrived."""
        del msg  # uvicorn's, which has no code
        self.refuse(self.problem)

    def end_if_slow(self, now: float) -> None:
        """End a connection whose request arrives too slowly."""
        if self.arriving_since is not None and now - self.arriving_since > self.patience:
            self.arriving_since = None
            self.refuse(_SLOW)

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem and close, unless an answer is already on its way."""
        if self.transport.is_closing():
            return
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or not cycle.response_started or (cycle.response_complete and not self.in_body):
            self.transport.write(_bytes(problem))
        self.transport.close()

    def _await(self, seconds: float) -> None:
        self.arriving_since, self.patience = self.loop.time(), float(seconds)

    def _stop(self, problem: Problem) -> None:
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
