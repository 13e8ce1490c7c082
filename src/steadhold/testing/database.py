"""The database of one test process: a copy of the run's template."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from steadhold.db.migrate import migrate
from steadhold.testing.clock import SQL as CLOCK
from steadhold.testing.clock import Clock
from steadhold.testing.run import Run

ENTER: Final = "select set_config('role', 'steadhold_app', false), set_config('steadhold.workspace', %s, false)"


class Database:
    """A database of its own for one test process, on which it may do as it likes.

    `dsn` is a URL for asyncpg, psycopg and psql, of the database's owner. Tests share it one after the
    other, so each works in a workspace of its own.
    """

    def __init__(self, dsn: str, conn: psycopg.Connection[Any]) -> None:
        self.dsn, self._conn = dsn, conn
        self.clock = Clock(conn)
        self._numbers = itertools.count(1)

    def connect(self) -> psycopg.Connection[Any]:
        """Connect as the owner; each statement commits."""
        return psycopg.connect(self.dsn, autocommit=True)

    def enter(self, workspace: str) -> psycopg.Connection[Any]:
        """Connect as the application, confined to a workspace; each statement commits."""
        conn = self.connect()
        conn.execute(ENTER, (workspace,))
        return conn

    def new_workspace(self) -> str:
        """Make a workspace that nothing has used."""
        name = f"test-{next(self._numbers)}"
        with self._conn.transaction():
            self._conn.execute("select set_config('steadhold.workspace', %s, true)", (name,))
            make = "insert into steadhold.workspaces (workspace, created_at) values (%s, steadhold.clock())"
            self._conn.execute(make, (name,))
        return name


@contextmanager
def copied(run: Run, label: str) -> Iterator[Database]:
    """Copy the template, for one test process or one test, and drop the copy afterwards.

    The label, of at most 27 letters, tells whose copy it is; two test processes may use one at a time.
    """
    name = f"{run.prefix}_{label}_{uuid.uuid4().hex[:8]}"
    dsn = dsn_of(run, name)
    with psycopg.connect(run.dsn, autocommit=True) as administrator:
        administrator.execute(_create(name, run.template))
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                yield Database(dsn, conn)
        finally:
            administrator.execute(drop(name))


def make_template(run: Run) -> None:
    """Make the database that the others are copies of: migrated, with a clock that can be moved."""
    with psycopg.connect(run.dsn, autocommit=True) as conn:
        conn.execute(_create(run.template, "template1"))
    dsn = dsn_of(run, run.template)
    asyncio.run(migrate(dsn))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(CLOCK.read_bytes())


def dsn_of(run: Run, database: str) -> str:
    """The URL of another database of the same server."""
    return urlsplit(run.dsn)._replace(path=f"/{database}").geturl()


def drop(name: str) -> sql.Composed:
    """Drop a database, whoever is connected to it."""
    return sql.SQL("drop database {} with (force)").format(sql.Identifier(name))


def _create(name: str, template: str) -> sql.Composed:
    return sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template))
