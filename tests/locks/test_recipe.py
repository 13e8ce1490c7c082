"""docs/recipes/protected-table.md is run as it stands, and is what steadhold.testing gives."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import psycopg
import pytest

from steadhold.sdk import Client
from steadhold.testing.protected import TABLE, WRITE, ProtectedTable
from tests.sdk.site import key, site  # noqa: F401 - fixtures

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[2] / "docs" / "recipes" / "protected-table.md").read_text(encoding="utf-8")
SQL = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def conn(database):
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute("drop schema if exists theirs cascade; create schema theirs; set search_path = theirs")
        yield made
        made.execute("drop schema theirs cascade")


def test_it_is_what_testing_has():
    assert [statement.strip() for statement in SQL[:2]] == [TABLE.strip(), WRITE.strip()]


def test_a_stale_fence_changes_nothing(conn):
    table = ProtectedTable(conn)
    table.create()
    assert table.read("site") is None
    assert [table.write("site", fence, f"v{n}") for n, fence in enumerate([3, 3, 5, 4, 3, 5])] == [
        True, True, True, False, False, True,
    ]  # fmt: skip
    assert table.read("site") == (5, "v5")


def test_a_write_that_waited_for_a_higher_fence_is_refused(conn, database):
    """The older write began first, and waits for the newer one's transaction."""
    ProtectedTable(conn).create()
    ProtectedTable(conn).write("site", 1, "v1")
    old = psycopg.connect(database.dsn, autocommit=True, options="-c search_path=theirs")
    with old, psycopg.connect(database.dsn, options="-c search_path=theirs") as new:
        assert ProtectedTable(new).write("site", 3, "new")
        wrote = []
        waiting = threading.Thread(target=lambda: wrote.append(ProtectedTable(old).write("site", 2, "old")))
        waiting.start()
        blocked = "select count(*) from pg_stat_activity where %s = any(pg_blocking_pids(pid))"
        while not conn.execute(blocked, [new.info.backend_pid]).fetchone()[0]:
            pass
        new.commit()
        waiting.join()
    assert wrote == [False]
    assert ProtectedTable(conn).read("site") == (3, "new")


def test_its_program_runs(conn, site, key):  # noqa: F811
    conn.execute(SQL[0])
    with Client(site.url, key.key) as client:
        told = {"client": client, "conn": conn, "WRITE": SQL[1]}
        exec(PROGRAM, told)
        assert ProtectedTable(conn).read("site") == (1, "v42")
        conn.execute(SQL[1], ["site", 9, "newer"])
        with pytest.raises(SystemExit, match="replaced"):
            exec(PROGRAM, told)


def test_the_row_of_several_tables(conn):
    conn.execute(SQL[2])
    seen = [conn.execute(SQL[3], ["deploy", fence]).fetchone() for fence in (2, 1, 2, 3)]
    assert seen == [(2,), None, (2,), (3,)]
