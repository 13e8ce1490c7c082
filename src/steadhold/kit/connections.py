"""The connections a caller may bring, for type checkers only: naming them imports no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import asyncpg
    import asyncpg.pool
    import psycopg
    import psycopg2.extensions
    import sqlalchemy
    import sqlalchemy.ext.asyncio
    import sqlalchemy.orm

    class DjangoConnection(Protocol):
        """Django's `connection`, by what we use of it: Django ships no types."""

        in_atomic_block: bool

        def get_autocommit(self) -> bool: ...
        def cursor(self) -> Any: ...

    SyncConnection: TypeAlias = (
        psycopg.Connection[Any]
        | psycopg2.extensions.connection
        | sqlalchemy.Connection
        | sqlalchemy.orm.Session
        | DjangoConnection
    )
    AsyncConnection: TypeAlias = (
        psycopg.AsyncConnection[Any]
        | asyncpg.Connection[Any]
        | asyncpg.pool.PoolConnectionProxy[Any]
        | sqlalchemy.ext.asyncio.AsyncConnection
        | sqlalchemy.ext.asyncio.AsyncSession
    )
