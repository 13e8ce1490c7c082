"""A verb takes part in the caller's transaction, whichever library opened it, and commits nothing."""

from __future__ import annotations

import contextlib
import os

import asyncpg
import django
import psycopg
import psycopg2
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.play import toy


class Rolled(Exception):
    """Raised to make a caller's transaction roll back."""


def url(dsn: str, driver: str) -> str:
    parts = conninfo_to_dict(dsn)
    made = sqlalchemy.URL.create(f"postgresql+{driver}", username=parts["user"], database=parts["dbname"])
    if driver == "asyncpg":
        return made.set(query={"host": parts["host"]}).render_as_string()
    return made.set(query={"host": parts["host"], "port": str(parts.get("port", 5432))}).render_as_string()


@contextlib.contextmanager
def in_psycopg(dsn):
    with psycopg.connect(dsn) as conn, conn.transaction():
        yield conn


@contextlib.contextmanager
def in_psycopg2(dsn):
    with contextlib.closing(psycopg2.connect(dsn)) as conn, conn:
        yield conn


@contextlib.contextmanager
def in_sqlalchemy(address, session):
    engine = sqlalchemy.create_engine(address)
    try:
        if session:
            with Session(engine) as opened, opened.begin():
                yield opened
        else:
            with engine.begin() as opened:
                yield opened
    finally:
        engine.dispose()


@contextlib.contextmanager
def in_django(dsn):
    parts = conninfo_to_dict(dsn)
    settings = {"ENGINE": "django.db.backends.postgresql", "NAME": parts["dbname"], "USER": parts["user"],
                "HOST": parts["host"], "PORT": str(parts.get("port", 5432))}  # fmt: skip
    from django.conf import settings as django_settings

    if not django_settings.configured:
        django_settings.configure(DATABASES={"default": settings}, USE_TZ=True)
        django.setup()
    from django.db import connection, connections, transaction

    connections["default"].settings_dict.update(settings)
    try:
        with transaction.atomic():
            yield connection
    finally:
        connection.close()


@contextlib.asynccontextmanager
async def in_psycopg_async(dsn):
    async with await psycopg.AsyncConnection.connect(dsn) as conn, conn.transaction():
        yield conn


@contextlib.asynccontextmanager
async def in_asyncpg(dsn, pooled):
    if pooled:
        async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool, pool.acquire() as conn, conn.transaction():
            yield conn
    else:
        conn = await asyncpg.connect(dsn)
        try:
            async with conn.transaction():
                yield conn
        finally:
            await conn.close()


@contextlib.asynccontextmanager
async def in_sqlalchemy_async(dsn, driver, session):
    engine = create_async_engine(url(dsn, driver))
    try:
        if session:
            async with AsyncSession(engine) as opened, opened.begin():
                yield opened
        else:
            async with engine.begin() as opened:
                yield opened
    finally:
        await engine.dispose()


SYNC = {
    "psycopg": in_psycopg,
    "psycopg2": in_psycopg2,
    "sqlalchemy connection, psycopg": lambda dsn: in_sqlalchemy(url(dsn, "psycopg"), session=False),
    "sqlalchemy session, psycopg": lambda dsn: in_sqlalchemy(url(dsn, "psycopg"), session=True),
    "sqlalchemy connection, psycopg2": lambda dsn: in_sqlalchemy(url(dsn, "psycopg2"), session=False),
    "sqlalchemy session, psycopg2": lambda dsn: in_sqlalchemy(url(dsn, "psycopg2"), session=True),
    "django": in_django,
}
ASYNC = {
    "psycopg": in_psycopg_async,
    "asyncpg": lambda dsn: in_asyncpg(dsn, pooled=False),
    "asyncpg pool proxy": lambda dsn: in_asyncpg(dsn, pooled=True),
    "sqlalchemy connection, psycopg": lambda dsn: in_sqlalchemy_async(dsn, "psycopg", session=False),
    "sqlalchemy session, psycopg": lambda dsn: in_sqlalchemy_async(dsn, "psycopg", session=True),
    "sqlalchemy connection, asyncpg": lambda dsn: in_sqlalchemy_async(dsn, "asyncpg", session=False),
    "sqlalchemy session, asyncpg": lambda dsn: in_sqlalchemy_async(dsn, "asyncpg", session=True),
}


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("kind", SYNC)
def test_sync(kind, commits, dsn, counters, workspace, revision_of):
    """What a verb wrote is there exactly if the caller committed."""
    counters("n")
    with contextlib.suppress(Rolled), SYNC[kind](dsn) as conn:
        assert toy.swap(conn, workspace, "n", 1) == toy.Swapped(2)
        assert toy.swap(conn, workspace, "n", 1) == toy.Lost(2)
        assert toy.refused_after_write(conn, workspace, "n") == toy.Lost(0)
        if not commits:
            raise Rolled
    assert revision_of("n") == (2 if commits else 1)


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("kind", ASYNC)
async def test_async(kind, commits, dsn, counters, workspace, revision_of):
    """What a verb wrote is there exactly if the caller committed."""
    counters("n")
    with contextlib.suppress(Rolled):
        async with ASYNC[kind](dsn) as conn:
            assert await toy.swap(conn, workspace, "n", 1) == toy.Swapped(2)
            assert await toy.swap(conn, workspace, "n", 1) == toy.Lost(2)
            assert await toy.refused_after_write(conn, workspace, "n") == toy.Lost(0)
            if not commits:
                raise Rolled
    assert revision_of("n") == (2 if commits else 1)


def test_a_connection_that_commits_by_itself_is_refused(dsn, counters, workspace):
    """Outside a transaction a verb could not be confined to the caller's own, and says so."""
    counters("n")
    engine = sqlalchemy.create_engine(url(dsn, "psycopg"), isolation_level="AUTOCOMMIT")
    with psycopg.connect(dsn, autocommit=True) as plain, engine.connect() as mapped:
        for conn in (plain, mapped):
            with pytest.raises(RuntimeError, match="begin "):
                toy.swap(conn, workspace, "n", 1)
    engine.dispose()


def test_an_unknown_connection_is_refused(workspace):
    """A connection of another library is a TypeError that names those that work."""
    with pytest.raises(TypeError, match="psycopg, psycopg2, asyncpg, SQLAlchemy or Django"):
        toy.swap(os, workspace, "n", 1)


def test_a_workspace_that_is_not_there_is_told(dsn, counters):
    """What was written into it would never be seen again."""
    with psycopg.connect(dsn) as conn, pytest.raises(LookupError, match="workspaces create nowhere"):
        toy.swap(conn, "nowhere", "n", 1)
