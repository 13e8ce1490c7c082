"""One request on its way through the doors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steadhold.web.ask import Headers, Route, Stream
    from steadhold.web.exchange import Exchange
    from steadhold.web.flights import Flight


class Turn:
    """What becomes known of a request as it is answered.

    `body`, of the answer, holds one of the streams' places. `cause` is the traceparent of what it causes, `span` what
    goes on meanwhile.
    """

    __slots__ = (
        "acting", "body", "cause", "flight", "headers", "method", "operation", "query", "raw_path", "receive", "route",
        "span", "token", "workspace",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, flight: Flight) -> None:
        self.method, self.raw_path, self.query = exchange.method, exchange.raw_path, exchange.query
        self.receive, self.flight = exchange.receive, flight
        self.route: Route | None = None
        self.body: Stream | None = None
        self.operation: str | None = None
        self.acting = False
        self.cause: str | None = None
        self.span: Any = None
        self.token = self.workspace = ""
        self.headers: Headers = ()
