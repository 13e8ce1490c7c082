"""What a receiver does once per event: `@dedupe` keeps an event's id and what was done by it in one transaction."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

from steadhold.inboxes import apply_once
from steadhold.kit import limits


class Received(Protocol):
    """A delivery that was verified: what `Webhook.verify` answers."""

    @property
    def event_id(self) -> str: ...
    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Event:
    event_id: str
    aggregate_id: str | None = None
    aggregate_revision: int | None = None


class _Said(msgspec.Struct):
    aggregate_id: Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX, pattern=r"^[^\x00]*$")]
    aggregate_revision: Annotated[int, Meta(ge=1, le=limits.FENCE_NUMBER_MAX)]


_READER: Final = msgspec.json.Decoder(_Said)


def dedupe(consumer_id: str) -> Callable[[Callable[..., Any]], Callable[[Any, Received], Any]]:
    """Make a handler of deliveries take effect once per event and `consumer_id`, however often the event comes.

    The handler is `handler(conn, delivery, order)`, and what it becomes is called `handler(conn, delivery)` in a
    transaction of `conn`, which is the caller's to begin and to commit. It answers an `Applied`: what the handler
    answered (JSON can say it), now or the first time. The id of the event and whatever the handler wrote by `conn`
    commit together, or neither does; what it did elsewhere is not undone, and may be done again. `order` is what
    the event is to this consumer by the revisions of its aggregate, as of `inboxes.apply_once`: a webhook that
    takes some of the types sees a `gap` where one of the others was. Of another sender's events it is `next`.

    `conn` is of sqlite3, psycopg, psycopg2, asyncpg, SQLAlchemy or Django; with an asynchronous one the handler is
    asynchronous, and what it becomes is awaited. The database has the table that `steadhold consumer-table` prints.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[[Any, Received], Any]:
        if inspect.iscoroutinefunction(handler):

            @functools.wraps(handler)
            async def later(conn: Any, delivery: Received) -> Any:
                async def turn(order: str) -> Any:
                    return await handler(conn, delivery, order)

                return await apply_once(conn, consumer_id, _event(delivery), turn)

            return later

        @functools.wraps(handler)
        def now(conn: Any, delivery: Received) -> Any:
            return apply_once(conn, consumer_id, _event(delivery), lambda order: handler(conn, delivery, order))

        return now

    return decorate


def _event(delivery: Received) -> _Event:
    """What matters here of an event. Its id is the one that was signed, whatever the body says."""
    try:
        said = _READER.decode(delivery.body)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError):
        return _Event(delivery.event_id)
    return _Event(delivery.event_id, said.aggregate_id, said.aggregate_revision)
