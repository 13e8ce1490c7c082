"""One request on its way through the doors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steadhold.web.flights import Flight

if TYPE_CHECKING:
    from steadhold.web.ask import Route, Stream
    from steadhold.web.exchange import Exchange


class Turn(Flight):
    """What becomes known of a request as it is answered.

    `body`, of the answer, holds one of the streams' places. `cause` is the traceparent of what it causes, `span` what
    goes on meanwhile. `fields` are lines that its answer has besides its own.
    """

    __slots__ = (
        "acting", "body", "cause", "exchange", "fields", "method", "operation", "route", "span", "token", "workspace",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, began: float) -> None:
        super().__init__(exchange.task, began)
        self.exchange, self.method = exchange, exchange.method
        self.route: Route | None = None
        self.body: Stream | None = None
        self.operation: str | None = None
        self.acting = False
        self.cause: str | None = None
        self.span: Any = None
        self.token = self.workspace = ""
        self.fields = b""
