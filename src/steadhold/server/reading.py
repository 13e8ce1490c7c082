"""What arrives on a connection of HTTP/1.1: requests, out of bytes, each with one meaning only."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NoReturn

import httptools

from steadhold.kit import limits
from steadhold.server.exchange import Exchange
from steadhold.web.ask import Problem

PIECE_BYTES: Final = 4_096
"""So much is parsed at a time: no more requests are made of what arrived than this holds."""
UNREAD_BYTES_MAX: Final = 65_536
"""A body that nobody has received yet is read no further than this."""
_SILENT_BYTES_MAX: Final = (
    limits.ADDRESS_BYTES_MAX + limits.HEADER_BYTES_MAX + 4 * limits.HEADER_FIELDS_MAX + 2 * PIECE_BYTES
)

_MALFORMED: Final = Problem("bad_request", "This is no HTTP/1.1 request that has one meaning only.")
_LARGE: Final = Problem("headers_too_large", f"The head of a request has at most {limits.HEADER_BYTES_MAX} bytes.")
_LONG: Final = Problem("uri_too_long", f"An address has at most {limits.ADDRESS_BYTES_MAX} bytes.")

_ABSOLUTE: Final = re.compile(rb"https?://([^/?#@]+)(/[^?#]*)?(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE)
_OBEYED: Final = frozenset({b"host", b"expect", b"transfer-encoding", b"connection"})
_HOST: Final = re.compile(rb"(?:\[[0-9A-Za-z:.%_~-]+\]|[A-Za-z0-9._~!$&'(),*+;=%-]*)(?::[0-9]*)?")


class Unreadable(Exception):
    """What arrives is no request. Nothing that follows can be read either; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class _Refused(Exception):
    """The parser is to stop here; what to answer is kept by the reading."""


class Reading(ABC):
    """Requests that arrive, one after the other, by the clock `now`, in seconds. `exchange` is the newest.

    `arriving_since` is when what is still arriving began (None: nothing is), `patience` how many seconds it may take.
    `sated` says that more of a body has come than is to lie here until somebody receives it.
    """

    __slots__ = (
        "_expects", "_head_bytes", "_headers", "_host", "_hosts", "_parser", "_problem", "_silent", "_upgrade",
        "arriving_since", "exchange", "in_body", "now", "patience", "sated", "url",
    )  # fmt: skip

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.exchange: Exchange | None = None
        self.in_body, self.sated = False, False
        self.arriving_since: float | None = now()
        self.patience: float = limits.HEADER_SECONDS_MAX
        self._problem = _MALFORMED
        self.url, self._headers = b"", list[tuple[bytes, bytes]]()
        self._head_bytes, self._hosts, self._expects = 0, 0, False
        self._silent = 0  # bytes since a request began, its head was whole, or some of its body came
        self._upgrade = False
        self._host = b""
        self._parser: Any = self._fresh()

    @abstractmethod
    def begun(self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]]) -> Exchange:
        """A request has begun: its head is there."""

    def feed(self, piece: bytes) -> None:
        """Read on. Raises Unreadable."""
        self._silent += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._without_upgrade(piece[upgrade.args[0] :])
        except httptools.HttpParserError:
            raise Unreadable(self._problem) from None
        if self._silent > _SILENT_BYTES_MAX:
            raise Unreadable(_LARGE)  # the parser would gather a field until it ends

    def end_of_reading(self) -> None:
        """Nothing arrives any more."""
        self._parser = self.exchange = None

    # --- the parser's

    def on_message_begin(self) -> None:
        """A request begins."""
        self.url, self._headers = b"", []
        self._head_bytes, self._hosts, self._expects, self._silent = 0, 0, False, 0
        self.arriving_since, self.patience = self.now(), limits.HEADER_SECONDS_MAX

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self.url += url
        if len(self.url) > limits.ADDRESS_BYTES_MAX:
            self._stop(_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head, or of a trailer, which says nothing to us."""
        name, value = name.lower(), value.rstrip(b" \t")  # the parser strips the other end only
        self._head_bytes += len(name) + len(value)
        if name in _OBEYED:
            self._obey(name, value)
        self._headers.append((name, value))
        if self._head_bytes > limits.HEADER_BYTES_MAX or len(self._headers) > limits.HEADER_FIELDS_MAX:
            self._stop(_LARGE)

    def _obey(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
            if value != self._host and not _HOST.fullmatch(value):
                self._stop(_MALFORMED)
            self._host = value
        elif name == b"expect":
            self._expects = value.lower() == b"100-continue"
        elif name == b"transfer-encoding" and value.lower() != b"chunked":
            self._stop(_MALFORMED)  # the parser takes other codings before it, and nobody here would undo them
        elif name == b"connection" and self.in_body:
            self._stop(_MALFORMED)  # in a trailer, the parser obeys it

    def on_headers_complete(self) -> None:
        """The head is there; the body follows."""
        method: str = self._parser.get_method().decode("ascii")
        if self._parser.should_upgrade():
            self._upgrade = True
            if method == "CONNECT":
                self._stop(_MALFORMED)
            return
        version: str = self._parser.get_http_version()
        if version not in {"1.0", "1.1"} or (self._hosts != 1 and version == "1.1"):
            self._stop(_MALFORMED)
        path, query = self._address()
        self.exchange = exchange = self.begun(method, path, query, self._headers)
        exchange.version = version
        exchange.keep_alive = version == "1.1" and self._parser.should_keep_alive()
        exchange.expects = self._expects and version == "1.1"
        self._headers = []  # for trailers
        self.in_body = True
        self._silent = 0
        self.arriving_since, self.patience = self.now(), limits.BODY_SECONDS_MAX

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._silent = 0
        exchange = self.exchange
        if exchange is not None and not exchange.complete:
            self.sated = exchange.take(body) > UNREAD_BYTES_MAX

    def on_message_complete(self) -> None:
        """The whole request is there."""
        if self._upgrade:
            return
        self.in_body = False
        self.arriving_since = None
        if self.exchange is not None:
            self.exchange.end()

    # --- what they need

    def _fresh(self) -> Any:
        parser: Any = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)  # it is never answered
        return parser

    def _without_upgrade(self, rest: bytes) -> None:
        """Read a request that would become another protocol as the one that it is without.

        The parser has read its head, and would have neither its body nor what follows.
        """
        self._upgrade = False
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        fields = b"".join(b"%b: %b\r\n" % field for field in self._headers if field[0] != b"upgrade")
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, fields)
        self._parser = self._fresh()
        self.feed(head)
        if rest:
            self.feed(rest)

    def _address(self) -> tuple[bytes, bytes]:
        url = self.url
        if not url.isascii():
            self._stop(_MALFORMED)
        if url.startswith(b"/") or url == b"*":
            path, _, query = url.partition(b"#")[0].partition(b"?")
            return path, query
        absolute = _ABSOLUTE.fullmatch(url)
        if absolute is None or (self._hosts and absolute[1].lower() != self._host.lower()):
            self._stop(_MALFORMED)
        return absolute[2] or b"/", absolute[3] or b""

    def _stop(self, problem: Problem) -> NoReturn:
        self._problem = problem
        raise _Refused
