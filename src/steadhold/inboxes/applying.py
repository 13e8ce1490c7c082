"""Apply once: a consumer's own change and the identity of its event commit together, however often the event comes.

The table stands in the consumer's database, PostgreSQL or SQLite, which need not be ours. Nothing here commits.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from steadhold.inboxes.model import KEPT_SECONDS
from steadhold.kit.plan import Plan, maybe, one, rows
from steadhold.kit.sql import Sql
from steadhold.play.caller import OUTSIDE, player_for
from steadhold.play.trampoline import run

Order: TypeAlias = Literal["next", "duplicate", "stale", "gap"]
"""What an event is to its consumer, by the revisions of its aggregate."""

TABLES: Final = {
    "postgresql": """\
create table if not exists steadhold_applied (
  consumer_id text not null,
  event_id text not null,
  aggregate_id text,
  aggregate_revision bigint,
  outcome text,
  applied_at timestamptz not null default current_timestamp,
  primary key (consumer_id, event_id)
);
create index if not exists steadhold_applied_revisions
  on steadhold_applied (consumer_id, aggregate_id, aggregate_revision);
create index if not exists steadhold_applied_ages on steadhold_applied (applied_at);
""",
    "sqlite": """\
create table if not exists steadhold_applied (
  consumer_id text not null,
  event_id text not null,
  aggregate_id text,
  aggregate_revision integer,
  outcome text,
  applied_at text not null default current_timestamp,
  primary key (consumer_id, event_id)
) without rowid;
create index if not exists steadhold_applied_revisions
  on steadhold_applied (consumer_id, aggregate_id, aggregate_revision);
create index if not exists steadhold_applied_ages on steadhold_applied (applied_at);
""",
}
"""The one table, for a database of either kind: what `steadhold consumer-table` prints."""

_CLAIM: Final = Sql(
    "applied.claim",
    "insert into steadhold_applied (consumer_id, event_id, aggregate_id, aggregate_revision)"
    " values (:consumer_id::text, :event_id::text, :aggregate_id::text, :aggregate_revision::bigint)"
    " on conflict (consumer_id, event_id) do nothing returning 1",
    "read",
)
_KNOWN: Final = Sql(
    "applied.known",
    "select outcome from steadhold_applied where consumer_id = :consumer_id::text and event_id = :event_id::text",
    "read",
)
_LAST: Final = Sql(
    "applied.last",
    "select max(aggregate_revision) from steadhold_applied"
    " where consumer_id = :consumer_id::text and aggregate_id = :aggregate_id::text and event_id <> :event_id::text",
    "read",
)
_RECORD: Final = Sql(
    "applied.record",
    "update steadhold_applied set outcome = :outcome::text"
    " where consumer_id = :consumer_id::text and event_id = :event_id::text returning 1",
    "read",
)
_FORGET: Final = Sql(
    "applied.forget",
    "delete from steadhold_applied where consumer_id = :consumer_id::text and event_id = :event_id::text",
    "read",
)
_PRUNE: Final = Sql(
    "applied.prune",
    "delete from steadhold_applied where applied_at < current_timestamp - make_interval(secs => :seconds::float8)",
    "read",
)
_PRUNE_SQLITE: Final = Sql(
    "applied.prune_sqlite",
    "delete from steadhold_applied where applied_at < datetime('now', '-' || :seconds::float8 || ' seconds')",
    "read",
)
_PLACE: Final = re.compile(r"\$(\d+)::\w+")
_ENDED: Final = (
    "the handler ended the transaction: its change and the event's identity must commit together. "
    "Leave commit and rollback to whoever began."
)


class Identified(Protocol):
    """An event, as far as it matters here: as it was read from an inbox, or received from one."""

    @property
    def event_id(self) -> str: ...
    @property
    def aggregate_id(self) -> str | None: ...
    @property
    def aggregate_revision(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an event: what it was to the consumer, and what its handler answered, now or the first time."""

    order: Order
    outcome: Any


def apply_once(conn: Any, consumer_id: str, event: Identified, handler: Callable[[Order], Any]) -> Any:
    """Apply an event in the transaction of `conn`, unless this consumer has; `Applied`, or an awaitable of it.

    `handler(order)` makes the change on the same connection, and answers what JSON can say; for an asynchronous
    connection it is asynchronous. It is told whether the event is the `next` of its aggregate, `stale` (a newer one was
    applied) or comes after a `gap`: then read the authoritative aggregate instead of applying blindly. A `duplicate` is
    answered with the recorded outcome, and the handler is not called. An event without an aggregate is `next`.

    Twins wait for one another. Different events of one aggregate have to be applied one after the other.

    Raises:
        RuntimeError: the connection is in no transaction, or the handler ended it. TypeError: the handler is
            asynchronous, and the connection is not. Whatever the handler raises: then nothing is recorded.
    """
    play = _player(conn)
    steps = _steps(consumer_id, event)
    first = next(steps)
    with _table_named():
        answer: Any = play(first)
    if inspect.isawaitable(answer):
        return _aplayed(play, steps, answer, handler)
    return _played(play, steps, answer, handler)


def prune_applied(conn: Any, kept_seconds: float = KEPT_SECONDS, *, horizon_seconds: float = KEPT_SECONDS) -> Any:
    """Forget what was applied longer ago than `kept_seconds`, in the transaction of `conn`.

    Raises:
        ValueError: that is below the horizon within which an event may come again.
    """
    if kept_seconds < horizon_seconds:
        raise ValueError(
            f"kept_seconds is {kept_seconds}, and an event may come again for {horizon_seconds}: it would be applied"
            " twice. Keep it longer."
        )
    forget = _PRUNE if _sqlite_of(conn) is None else _PRUNE_SQLITE
    return _player(conn)(rows(forget, seconds=float(kept_seconds)))


def order_of(last: int | None, revision: int | None) -> Order:
    """What a revision is to a consumer that has applied `last` of the aggregate, or none."""
    if revision is None or revision == (last or 0) + 1:
        return "next"
    return "stale" if revision <= (last or 0) else "gap"


@dataclass(frozen=True, slots=True)
class _Handle:
    """It is the handler's turn."""

    order: Order


_Steps: TypeAlias = Generator[Any, Any, Applied]


def _steps(consumer_id: str, event: Identified) -> _Steps:
    """Plans to play, and between them the handler's turn."""
    key = {"consumer_id": consumer_id, "event_id": event.event_id}
    order, outcome = yield _claimed(key, event)
    if order == "duplicate":
        return Applied(order, outcome)
    try:
        outcome = yield _Handle(order)
    except BaseException:
        yield rows(_FORGET, **key)  # whoever commits all the same has not applied it
        raise
    if not (yield rows(_RECORD, **key, outcome=msgspec.json.encode(outcome).decode())):
        raise RuntimeError(_ENDED)
    return Applied(order, outcome)


def _claimed(key: dict[str, str], event: Identified) -> Plan[tuple[Order, Any]]:
    of = {"aggregate_id": event.aggregate_id, "aggregate_revision": event.aggregate_revision}
    if not (yield from rows(_CLAIM, **key, **of)):
        outcome = yield from maybe(_KNOWN, _same, **key)
        return "duplicate", None if outcome is None else msgspec.json.decode(outcome)
    if event.aggregate_id is None:
        return "next", None
    last = yield from one(_LAST, _same, **key, aggregate_id=event.aggregate_id)
    return order_of(last, event.aggregate_revision), None


def _same(value: Any) -> Any:
    return value


def _played(play: Any, steps: _Steps, answer: Any, handler: Callable[[Order], Any]) -> Applied:
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value
        if not isinstance(step, _Handle):
            answer = play(step)
            continue
        try:
            answer = _now(handler(step.order))
        except BaseException as error:
            with suppress(Exception):  # where the transaction has failed, the identity goes with it
                play(steps.throw(error))
            raise


@contextmanager
def _table_named() -> Iterator[None]:
    """Say, beside what a database says of a table that is not there, where the table comes from."""
    try:
        yield
    except Exception as error:
        if "steadhold_applied" in str(error):
            error.add_note("`steadhold consumer-table` prints the table in which a consumer keeps what it applied.")
        raise


def _now(answer: Any) -> Any:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("the handler is asynchronous, and the connection is not: give it a plain function")
    return answer


async def _aplayed(play: Any, steps: _Steps, answer: Any, handler: Callable[[Order], Awaitable[Any]]) -> Applied:
    with _table_named():
        got = await answer
    while True:
        try:
            step = steps.send(got)
        except StopIteration as end:
            return end.value
        if not isinstance(step, _Handle):
            got = await play(step)
            continue
        try:
            got = await handler(step.order)
        except BaseException as error:
            with suppress(Exception):  # where the transaction has failed, the identity goes with it
                await play(steps.throw(error))
            raise


def _player(conn: Any) -> Callable[[Plan[Any]], Any]:
    bare = _sqlite_of(conn)
    return partial(player_for(conn), conn) if bare is None else partial(_play_sqlite, bare)


def _sqlite_of(conn: Any) -> Any:
    """The connection of SQLite below one of sqlite3, SQLAlchemy or Django; None below any other."""
    homes = {base.__module__.partition(".")[0] for base in type(conn).__mro__}
    if "sqlite3" in homes:
        return conn
    if "django" in homes and conn.vendor == "sqlite":
        conn.ensure_connection()
        return conn.connection
    if "sqlalchemy" in homes and hasattr(conn, "execute") and not type(conn).__name__.startswith("Async"):
        mapped = conn.connection() if hasattr(conn, "get_bind") else conn
        return mapped.connection.dbapi_connection if mapped.dialect.name == "sqlite" else None
    return None


def _play_sqlite(conn: Any, plan: Plan[Any]) -> Any:
    by_itself = conn.isolation_level is None or getattr(conn, "autocommit", None) is True
    if by_itself and not conn.in_transaction:
        raise RuntimeError(OUTSIDE)

    def ask(sql: Sql, items: Any) -> Any:
        return conn.execute(_PLACE.sub(r"?\1", sql.numbered), sql.bind(items)).fetchall()

    return run(plan, ask)
