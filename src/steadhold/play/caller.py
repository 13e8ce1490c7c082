"""Play on a connection that somebody else opened, inside their transaction. Nothing here begins or commits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from steadhold.kit import plan as kit
from steadhold.kit.plan import Call, Plan
from steadhold.kit.sql import Item, Sql
from steadhold.play.orm import named, plain, play_django, play_sqlalchemy, play_sqlalchemy_async
from steadhold.play.trampoline import arun, run

T = TypeVar("T")

ENTER: Final = Sql(
    "play.enter",
    "select (select count(*) from steadhold.workspaces w where w.workspace = entered.workspace),"
    " current_setting('transaction_isolation')"
    " from (select set_config('steadhold.workspace', :workspace::text, true) as workspace offset 0) entered",
    "read",
)
FOUNDS: Final = frozenset({"access.create_workspace", "access.import_key", "access.known"})
"""The verbs about a workspace that need not be there: they found it, or tell whether it is."""
OUTSIDE: Final = (
    "this connection is in no transaction: begin one, call, then commit. "
    "A durable verb takes effect with your own writes, so it needs your transaction."
)
ISOLATION: Final = (
    "this transaction is {}: verbs that change something need `read committed`, for what they decide by is what "
    "stands once they have their locks. Verbs that only read take any isolation."
)


def entering(call: Call[T]) -> Plan[T]:
    """Name the workspace to the database for this transaction, then play; a workspace that is not there is told."""
    there, isolation = yield from kit.one(ENTER, lambda *row: row, workspace=call.workspace)
    if not there and call.name not in FOUNDS:
        raise LookupError(
            f"there is no workspace {call.workspace!r} in this database: create it with "
            f"`steadhold workspaces create {call.workspace}`, or name the one you mean"
        )
    plan = call.begin()
    return (yield from (plan if isolation in {"read committed", "read uncommitted"} else _reading(plan, isolation)))


def _reading(plan: Plan[T], isolation: str) -> Plan[T]:
    """Play what takes no lock. A snapshot that is older than a lock does not show what the lock waited for."""
    try:
        step = next(plan)
        while step.sql.rank == "read":
            step = plan.send((yield step))
    except StopIteration as end:
        return end.value
    raise RuntimeError(ISOLATION.format(isolation))


def play_asyncpg(conn: Any, plan: Plan[T]) -> Awaitable[T]:
    """Play on an asyncpg connection or pool proxy."""
    if not conn.is_in_transaction():
        raise RuntimeError(OUTSIDE)

    async def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
        return await conn.fetch(sql.numbered, *sql.bind(items))

    return arun(plan, ask)


def play_psycopg(conn: Any, plan: Plan[T]) -> T:
    """Play on a psycopg connection."""
    import psycopg
    from psycopg.rows import tuple_row

    _refuse_autocommit(conn)
    with psycopg.RawCursor(conn, row_factory=tuple_row) as cursor:

        def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
            cursor.execute(sql.numbered.encode(), sql.bind(items))
            return cursor.fetchall() if cursor.description else []

        return run(plan, ask)


async def play_psycopg_async(conn: Any, plan: Plan[T]) -> T:
    """Play on an asynchronous psycopg connection."""
    import psycopg
    from psycopg.rows import tuple_row

    _refuse_autocommit(conn)
    async with psycopg.AsyncRawCursor(conn, row_factory=tuple_row) as cursor:

        async def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
            await cursor.execute(sql.numbered.encode(), sql.bind(items))
            return await cursor.fetchall() if cursor.description else []

        return await arun(plan, ask)


def play_psycopg2(conn: Any, plan: Plan[T]) -> T:
    """Play on a psycopg2 connection."""
    import psycopg2.extras

    if conn.autocommit:
        raise RuntimeError(OUTSIDE)
    extras: Any = psycopg2.extras  # untyped
    extras.register_uuid(conn_or_curs=conn)
    with conn.cursor(cursor_factory=psycopg2.extensions.cursor) as cursor:

        def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
            cursor.execute(sql.percent, named(sql, items))
            return [plain(row) for row in cursor.fetchall()] if cursor.description else []

        return run(plan, ask)


def _refuse_autocommit(conn: Any) -> None:
    from psycopg.pq import TransactionStatus

    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        raise RuntimeError(OUTSIDE)


PLAYERS: Final[dict[tuple[str, bool], Callable[[Any, Plan[Any]], Any]]] = {
    ("asyncpg", False): play_asyncpg,
    ("psycopg", False): play_psycopg,
    ("psycopg", True): play_psycopg_async,
    ("psycopg2", False): play_psycopg2,
    ("sqlalchemy", False): play_sqlalchemy,
    ("sqlalchemy", True): play_sqlalchemy_async,
    ("django", False): play_django,
}
KINDS: Final = "a connection of psycopg, psycopg2, asyncpg, SQLAlchemy or Django"


def player_for(conn: object) -> Callable[[Any, Plan[Any]], Any]:
    """Choose by the connection's home module; no driver is imported to ask."""
    for base in type(conn).__mro__:
        home = base.__module__.partition(".")[0]
        if player := PLAYERS.get((home, base.__name__.startswith("Async"))):
            return player
    raise TypeError(f"no player for {type(conn).__qualname__}: pass {KINDS}")


def play(conn: Any, call: Call[T]) -> Any:
    """Play a call on the caller's connection: the outcome, or an awaitable of it where the driver is async."""
    return player_for(conn)(conn, entering(call))


kit.played_by(play)
