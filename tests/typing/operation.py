"""What type checkers know of an operation. This file is checked and never run."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, assert_type

import asyncpg
import psycopg

from steadhold.kit.plan import Call, Plan, operation, rows
from steadhold.kit.sql import Sql

LOOK = Sql("typing.look", "select :name::text", "read")


@operation
def look(workspace: str, name: str, *, twice: bool = False) -> Plan[int | None]:
    """Look."""
    found = yield from rows(LOOK, workspace=workspace, name=name)
    return len(found) * (2 if twice else 1) or None


def a_synchronous_connection_gives_the_outcome(conn: psycopg.Connection[Any]) -> None:
    assert_type(look(conn, "acme", "a"), int | None)
    assert_type(look(conn, "acme", "a", twice=True), int | None)


async def an_asynchronous_connection_gives_it_when_awaited(
    native: asyncpg.Connection[Any], pooled: asyncpg.pool.PoolConnectionProxy[Any], psyco: psycopg.AsyncConnection[Any]
) -> None:
    assert_type(look(native, "acme", "a"), Awaitable[int | None])
    assert_type(await look(native, "acme", "a"), int | None)
    assert_type(await look(pooled, "acme", "a"), int | None)
    assert_type(await look(psyco, "acme", "a"), int | None)


def a_call_and_a_plan_know_their_outcome() -> None:
    assert_type(look.call("acme", "a"), Call[int | None])
    assert_type(look.plan("acme", "a", twice=True), Plan[int | None])


def wrong_arguments_are_errors(conn: psycopg.Connection[Any]) -> None:
    # An ignore that silences nothing is an error of its own, so each of these must be one.
    look(conn, "acme", 7)  # pyright: ignore[reportCallIssue, reportArgumentType]
    look(conn, "acme")  # pyright: ignore[reportCallIssue]
    look(conn, "acme", "a", True)  # pyright: ignore[reportCallIssue]
    look("not a connection", "acme", "a")  # pyright: ignore[reportCallIssue, reportArgumentType]
