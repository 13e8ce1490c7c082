"""The connections a caller may bring, for type checkers only: naming them imports no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import asyncpg
    import asyncpg.pool
    import psycopg
    import psycopg2.extensions
    import sqlalchemy
    import sqlalchemy.ext.asyncio
    import sqlalchemy.orm
    from django.db.backends.base.base import BaseDatabaseWrapper

    SyncConnection: TypeAlias = (
        psycopg.Connection[Any]
        | psycopg2.extensions.connection
        | sqlalchemy.Connection
        | sqlalchemy.orm.Session
        | BaseDatabaseWrapper
    )
    AsyncConnection: TypeAlias = (
        psycopg.AsyncConnection[Any]
        | asyncpg.Connection[Any]
        | asyncpg.pool.PoolConnectionProxy[Any]
        | sqlalchemy.ext.asyncio.AsyncConnection
        | sqlalchemy.ext.asyncio.AsyncSession
    )
