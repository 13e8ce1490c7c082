"""Each test has a workspace of its own in a database of its own process, and what it does not commit is gone."""

from __future__ import annotations

import asyncpg
import psycopg
import pytest


def role_and_workspace(conn: psycopg.Connection):
    return conn.execute("select current_user, current_setting('steadhold.workspace')").fetchone()


def test_conn_is_the_application_in_its_workspace(conn, workspace):
    assert role_and_workspace(conn) == ("steadhold_app", workspace)
    assert conn.execute("select workspace from steadhold.workspaces").fetchall() == [(workspace,)]


def test_conn_may_not_change_the_schema(conn):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("drop table steadhold.workspaces")


def test_conn_commits_nothing(database, conn, workspace):
    conn.execute("update steadhold.workspaces set revisions_kept = 77")
    with database.enter(workspace) as other:
        assert other.execute("select revisions_kept from steadhold.workspaces").fetchone() == (10,)
    conn.rollback()
    conn.execute("select set_config('steadhold.workspace', %s, false)", (workspace,))
    assert conn.execute(
        "select revisions_kept from steadhold.workspaces where workspace = %s", (workspace,)
    ).fetchone() == (10,)


async def test_aconn_is_the_application_in_its_workspace(aconn, workspace):
    row = await aconn.fetchrow("select current_user, current_setting('steadhold.workspace')")
    assert tuple(row) == ("steadhold_app", workspace)
    assert aconn.is_in_transaction()


async def test_committed_is_seen_by_others(committed, dsn, workspace):
    assert role_and_workspace(committed) == ("steadhold_app", workspace)
    committed.execute("update steadhold.workspaces set revisions_kept = 77")
    other = await asyncpg.connect(dsn)
    look = "select workspace from steadhold.workspaces where revisions_kept = 77"
    assert [row["workspace"] for row in await other.fetch(look)] == [workspace]
    await other.close()


def test_workspaces_differ(database, workspace):
    assert database.new_workspace() != workspace


def test_a_fresh_database_is_migrated_and_nobody_elses(fresh_database, database):
    assert fresh_database.dsn != database.dsn
    with fresh_database.connect() as conn:
        assert conn.execute("select count(*) from steadhold.workspaces").fetchone() == (0,)
    with fresh_database.enter(fresh_database.new_workspace()) as conn:
        assert role_and_workspace(conn) == ("steadhold_app", "test-1")
