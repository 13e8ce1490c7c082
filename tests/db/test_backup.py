"""A backup, taken and put back with PostgreSQL's own programs as `docs/operate.md` says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import asyncpg
import psycopg

from steadhold import state
from steadhold.db import house
from steadhold.testing.database import Database
from tests.db.conftest import FOUND


def run(database: Database, program: str, *words: object) -> None:
    """Run a program of PostgreSQL, of the server's version where that is here: a newer one says what it refuses."""
    with psycopg.connect(database.dsn) as conn:
        major = conn.info.server_version // 10_000
    subprocess.run([FOUND.get(major, FOUND[max(FOUND)]).folder / program, *map(str, words)], check=True)


def put(database: Database, workspace: str, body: bytes, expected: int | None) -> int:
    with database.enter(workspace) as conn, conn.transaction():
        return state.put(conn, workspace, "limits", body, expected).revision


async def test_no_revision_is_issued_twice_after_a_backup_was_put_back(fresh_database: Database, tmp_path: Path):
    """In the same server nothing shows that an older state was put back: `steadhold restored` is what tells."""
    database, dump = fresh_database, tmp_path / "dump"
    workspace = database.new_workspace()
    assert put(database, workspace, b"1", None) == 1
    run(database, "pg_dump", "--format=custom", "--file", dump, database.dsn)
    assert put(database, workspace, b"2", 1) == 2
    with database.connect() as conn:
        name = conn.info.dbname
    administrator = psycopg.conninfo.make_conninfo(database.dsn, dbname="postgres")
    with psycopg.connect(administrator, autocommit=True) as conn:
        conn.execute(f"drop database {name} with (force)".encode())
        conn.execute(f"create database {name}".encode())
    run(database, "pg_restore", "--exit-on-error", "--dbname", database.dsn, dump)
    conn = await asyncpg.connect(database.dsn)
    try:
        watch = house.Watch()
        await watch.check(conn)
        assert watch.house.incarnation == 0
        incarnation = (await house.restored(conn)).incarnation
    finally:
        await conn.close()
    assert put(database, workspace, b"3", 1) > incarnation << 32 > 2
