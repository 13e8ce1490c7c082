"""Play on the connection of an object-relational mapper: SQLAlchemy or Django, over whichever driver it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from steadhold.kit.plan import Plan
from steadhold.kit.sql import Item, Sql
from steadhold.play.trampoline import arun, run

T = TypeVar("T")
OUTSIDE = (
    "this connection commits each statement by itself: begin a transaction, call, then commit. "
    "A durable verb takes effect with your own writes, so it needs your transaction."
)


def named(sql: Sql, items: Sequence[Item]) -> dict[str, Any]:
    """The arguments of a statement by name, for drivers that write `%(name)s`."""
    return dict(zip(sql.params, sql.bind(items), strict=True))


def plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """Make bytes of the memory views in which some drivers hand them over."""
    return tuple([value.tobytes() if isinstance(value, memoryview) else value for value in row])


def _spoken(dialect: Any, sql: Sql, items: Sequence[Item]) -> tuple[str, Any]:
    if dialect.paramstyle == "numeric_dollar":
        return sql.numbered, tuple(sql.bind(items))
    return sql.percent, named(sql, items)


def _refuse_autocommit(conn: Any) -> None:
    if getattr(conn.connection.dbapi_connection, "autocommit", False):
        raise RuntimeError(OUTSIDE)


def play_sqlalchemy(conn: Any, plan: Plan[T]) -> T:
    """Play on a SQLAlchemy `Connection` or `Session`."""
    conn = conn.connection() if hasattr(conn, "get_bind") else conn
    _refuse_autocommit(conn)

    def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
        done = conn.exec_driver_sql(*_spoken(conn.dialect, sql, items))
        return [plain(row) for row in done] if done.returns_rows else []

    return run(plan, ask)


async def play_sqlalchemy_async(conn: Any, plan: Plan[T]) -> T:
    """Play on a SQLAlchemy `AsyncConnection` or `AsyncSession`."""
    conn = await conn.connection() if hasattr(conn, "get_bind") else conn
    _refuse_autocommit(conn.sync_connection)

    async def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
        done = await conn.exec_driver_sql(*_spoken(conn.dialect, sql, items))
        return [plain(row) for row in done] if done.returns_rows else []

    return await arun(plan, ask)


def play_django(conn: Any, plan: Plan[T]) -> T:
    """Play on Django's `connection`, inside `transaction.atomic()`."""
    if not conn.in_atomic_block and conn.get_autocommit():
        raise RuntimeError(OUTSIDE)
    with conn.cursor() as cursor:

        def ask(sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
            cursor.execute(sql.percent, named(sql, items))
            return [plain(row) for row in cursor.fetchall()] if cursor.description else []

        return run(plan, ask)
