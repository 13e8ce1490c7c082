"""The connections a caller may bring, for type checkers only: naming them imports no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import asyncpg
    import asyncpg.pool
    import psycopg

    SyncConnection: TypeAlias = psycopg.Connection[Any]
    AsyncConnection: TypeAlias = (
        psycopg.AsyncConnection[Any] | asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]
    )
