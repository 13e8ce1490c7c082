"""Apply once: a consumer's own change and the identity of its event commit together, however often the event comes.

The table stands in the consumer's database, PostgreSQL or SQLite, which need not be ours. Nothing here commits.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeAlias, get_type_hints

from steadhold.inboxes import applied_table
from steadhold.inboxes.model import KEPT_SECONDS
from steadhold.kit import exact
from steadhold.kit.plan import Plan, maybe, one, rows
from steadhold.kit.sql import Sql
from steadhold.play.caller import OUTSIDE, player_for
from steadhold.play.trampoline import run

Order: TypeAlias = Literal["next", "duplicate", "stale", "gap"]
"""What an event is to its consumer, by the revisions of its aggregate."""

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


_EVENT: Final = {
    name: get_type_hints(said.fget)["return"] for name, said in vars(Identified).items() if isinstance(said, property)
}


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an event: what it was to the consumer, and what its handler answered, now or the first time.

    The `outcome` is read from what is recorded, so both times it is the same: fractions are Decimal, tuples lists.
    """

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
        RuntimeError: the connection is in no transaction, or the handler ended it; or there is no table. TypeError:
            one of handler and connection is asynchronous, and the other is not; `event` is none; or the handler
            answered what JSON cannot say. Whatever the handler raises: then, too, nothing is recorded.
    """
    _check(consumer_id, event)
    play, kind = _player(conn), _kind(conn)
    steps = _steps(consumer_id, event)
    first = next(steps)
    with applied_table.told(kind):
        answer: Any = play(first)
    if inspect.isawaitable(answer):
        return _aplayed(play, steps, answer, handler, kind)
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
    kind = _kind(conn)
    forget = applied_table.PRUNE if kind == "postgresql" else applied_table.PRUNE_SQLITE
    with applied_table.told(kind):
        answer: Any = _player(conn)(rows(forget, seconds=float(kept_seconds)))
    return _atold(answer, kind) if inspect.isawaitable(answer) else answer


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
        outcome, said = yield _Handle(order)
    except BaseException:
        yield rows(applied_table.FORGET, **key)  # whoever commits all the same has not applied it
        raise
    if not (yield rows(applied_table.RECORD, **key, outcome=said)):
        raise RuntimeError(_ENDED)
    return Applied(order, outcome)


def _claimed(key: dict[str, str], event: Identified) -> Plan[tuple[Order, Any]]:
    of = {"aggregate_id": event.aggregate_id, "aggregate_revision": event.aggregate_revision}
    if not (yield from rows(applied_table.CLAIM, **key, **of)):
        outcome = yield from maybe(applied_table.KNOWN, _same, **key)
        return "duplicate", None if outcome is None else exact.decode(outcome.encode())
    if event.aggregate_id is None:
        return "next", None
    last = yield from one(applied_table.LAST, _same, **key, aggregate_id=event.aggregate_id)
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
            answer = _answered(_now(handler(step.order)))
        except BaseException as error:
            with suppress(Exception):  # where the transaction has failed, the identity goes with it
                play(steps.throw(error))
            raise


def _check(consumer_id: object, event: object) -> None:
    """Refuse what is no consumer or no event before the database is asked."""
    if not (isinstance(consumer_id, str) and consumer_id):
        raise TypeError(f"consumer_id is a text that names the consumer, as in 'billing'; {consumer_id!r} is none.")
    missing = object()
    for name, kinds in _EVENT.items():
        said = getattr(event, name, missing)
        if not isinstance(said, kinds) or said == "":
            what = f"it has no {name}" if said is missing else f"its {name} is {said!r}"
            raise TypeError(
                f"{type(event).__name__} is no event: {what}. Give what was read from an inbox, or received from one; "
                "of a gap (`item.gap`) read what it was about anew instead."
            )


def _answered(outcome: Any) -> tuple[Any, str]:
    """What a handler answered, as it will be read again, and its JSON."""
    try:
        said = exact.encode(outcome)
        return exact.decode(said), said.decode()
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"JSON cannot say what the handler answered, {type(outcome).__name__}: {error}. The event is not recorded "
            "as applied. Answer None, or text, numbers, lists and dicts of these."
        ) from error


def _now(answer: Any) -> Any:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("the handler is asynchronous, and the connection is not: give it a plain function")
    return answer


async def _later(answer: Awaitable[Any]) -> Any:
    if not inspect.isawaitable(answer):
        raise TypeError("the connection is asynchronous, and the handler is not: give it an `async def`")
    return await answer


async def _atold(answer: Awaitable[Any], kind: str) -> Any:
    with applied_table.told(kind):
        return await answer


async def _aplayed(
    play: Any, steps: _Steps, answer: Any, handler: Callable[[Order], Awaitable[Any]], kind: str
) -> Applied:
    got: Any = await _atold(answer, kind)
    while True:
        try:
            step = steps.send(got)
        except StopIteration as end:
            return end.value
        if not isinstance(step, _Handle):
            got = await play(step)
            continue
        try:
            got = _answered(await _later(handler(step.order)))
        except BaseException as error:
            with suppress(Exception):  # where the transaction has failed, the identity goes with it
                await play(steps.throw(error))
            raise


def _player(conn: Any) -> Callable[[Plan[Any]], Any]:
    bare = _sqlite_of(conn)
    return partial(player_for(conn), conn) if bare is None else partial(_play_sqlite, bare)


def _kind(conn: Any) -> Literal["postgresql", "sqlite"]:
    return "postgresql" if _sqlite_of(conn) is None else "sqlite"


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
