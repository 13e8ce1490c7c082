"""pytest fixtures: name this module in `pytest_plugins` of your top conftest.py."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from steadhold.play.transaction import opening
from steadhold.testing import explorer
from steadhold.testing.clock import Clock
from steadhold.testing.database import Database, copied
from steadhold.testing.explorer import Explored
from steadhold.testing.run import Run, joined

if TYPE_CHECKING:
    import asyncpg

LOCK_TIMEOUT_MS = 5_000


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def server_run() -> Iterator[Run]:
    """The PostgreSQL of the whole run; it is started by whoever needs it first."""
    with joined(os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex) as run:
        yield run


@pytest.fixture(scope="session")
def database(server_run: Run) -> Iterator[Database]:
    """This test process's own database, migrated."""
    with copied(server_run, os.environ.get("PYTEST_XDIST_WORKER", "main")) as made:
        yield made


@pytest.fixture
def fresh_database(server_run: Run) -> Iterator[Database]:
    """A database that only this test uses: for a server whose loops look over all workspaces."""
    with copied(server_run, "fresh") as made:
        yield made


@pytest.fixture(scope="session")
def dsn(database: Database) -> str:
    """The URL of this test process's own database, as its owner, for asyncpg, psycopg and psql."""
    return database.dsn


@pytest.fixture
def workspace(database: Database) -> str:
    """A workspace that no other test uses."""
    return database.new_workspace()


@pytest.fixture
def clock(database: Database) -> Iterator[Clock]:
    """The database's clock: `clock.move(61)`. It tells the real time again after the test."""
    yield database.clock
    database.clock.reset()


@pytest.fixture
def conn(database: Database, workspace: str) -> Iterator[psycopg.Connection[Any]]:
    """A psycopg connection inside a transaction of the application in `workspace`; it is rolled back."""
    with database.connect() as made:
        made.execute(opening(workspace, LOCK_TIMEOUT_MS).encode())
        yield made
        made.rollback()


@pytest.fixture
async def aconn(dsn: str, workspace: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """An asyncpg connection inside a transaction of the application in `workspace`; it is rolled back."""
    import asyncpg

    made = await asyncpg.connect(dsn)
    try:
        await made.execute(opening(workspace, LOCK_TIMEOUT_MS))
        yield made
    finally:
        await made.close()


@pytest.fixture
def committed(database: Database, workspace: str) -> Iterator[psycopg.Connection[Any]]:
    """A psycopg connection of the application in `workspace` on which each statement commits.

    Plays of verbs need a transaction: `with committed.transaction(): put(committed, workspace, …)`.
    What is committed stays, in a workspace that nothing else uses.
    """
    with database.enter(workspace) as made:
        yield made


@pytest.fixture
def explore(database: Database) -> Callable[..., Explored]:
    """`steadhold.testing.explore` on this test process's own database."""
    return functools.partial(explorer.explore, database)
