"""What type checkers know of the rooms in one's own transaction. This file is checked and never run."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, assert_type

import asyncpg
import psycopg
import psycopg2.extensions
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

from steadhold import jobs, state
from steadhold.state import Missing, Stored


def synchronous_connections_give_the_outcome(
    psyco: psycopg.Connection[Any],
    old: psycopg2.extensions.connection,
    core: sqlalchemy.Connection,
    session: sqlalchemy.orm.Session,
) -> None:
    assert_type(state.get(psyco, "acme", "a"), Stored | Missing)
    assert_type(state.get(old, "acme", "a"), Stored | Missing)
    assert_type(state.get(core, "acme", "a"), Stored | Missing)
    assert_type(state.get(session, "acme", "a"), Stored | Missing)
    assert_type(jobs.get(psyco, "acme", "id"), jobs.View | Missing)


async def asynchronous_connections_are_awaited(
    native: asyncpg.Connection[Any],
    pooled: asyncpg.pool.PoolConnectionProxy[Any],
    psyco: psycopg.AsyncConnection[Any],
    core: sqlalchemy.ext.asyncio.AsyncConnection,
    session: sqlalchemy.ext.asyncio.AsyncSession,
) -> None:
    assert_type(state.get(native, "acme", "a"), Awaitable[Stored | Missing])
    assert_type(await state.get(native, "acme", "a"), Stored | Missing)
    assert_type(await state.get(pooled, "acme", "a"), Stored | Missing)
    assert_type(await state.get(psyco, "acme", "a"), Stored | Missing)
    assert_type(await state.get(core, "acme", "a"), Stored | Missing)
    assert_type(await state.get(session, "acme", "a"), Stored | Missing)


def wrong_arguments_are_errors(conn: psycopg.Connection[Any]) -> None:
    # An ignore that silences nothing is an error of its own, so each of these must be one.
    state.put(conn, "acme", "a", "text", 1)  # pyright: ignore[reportCallIssue, reportArgumentType]
    state.put(conn, "acme", "a", b"1")  # pyright: ignore[reportCallIssue]
    state.get("not a connection", "acme", "a")  # pyright: ignore[reportCallIssue, reportArgumentType]
