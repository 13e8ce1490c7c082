"""Locks and tickets are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.locks.plans import SQL
from steadhold.play.transaction import opening
from tests.operations.generic_plan import WHOLE, walks


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which the tables hold so much that a scan would never do."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute(
            "insert into steadhold.grants"
            " (workspace, subject, fence, holder, length_seconds, until, check_at, revision)"
            " select %s, 'lock:n' || n, 1, 'h', 30, c, c, 1 from generate_series(1, 5000) n, steadhold.clock() c",
            [workspace],
        )
        conn.execute(
            "insert into steadhold.lock_tickets (workspace, operation, subject, fence, request, placed_at, asked_at,"
            " live_until, check_at) select %s, 'o' || n, 'lock:n' || n, nullif(n %% 3, 0), 'r', c, c, c, c"
            " from generate_series(1, 5000) n, steadhold.clock() c",
            [workspace],
        )
        conn.execute("analyze steadhold.grants, steadhold.lock_tickets")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


@pytest.mark.parametrize("name", [sql.name.partition(".")[2] for sql in SQL if sql.name != "locks.stand"])
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert found
    for table in ("grants", "lock_tickets"):
        assert not WHOLE & found.get(table, set())


@pytest.mark.parametrize(
    ("name", "table", "index"),
    [
        ("take", "grants", "grants_pkey"),
        ("release", "grants", "grants_pkey"),
        ("look", "grants", "grants_pkey"),
        ("names", "grants", "grants_pkey"),
        ("release", "lock_tickets", "lock_tickets_in_line"),
        ("look", "lock_tickets", "lock_tickets_in_line"),
        ("leave", "lock_tickets", "lock_tickets_pkey"),
    ],
)
def test_by_which_index(crowded, name, table, index):
    found = walks(crowded, getattr(SQL, name)).get(table, set())
    assert found <= {index}


def test_taking_finds_the_line_and_the_operation_each_by_its_index(crowded):
    assert walks(crowded, SQL.take)["lock_tickets"] <= {"lock_tickets_pkey", "lock_tickets_in_line"}


def test_who_may_see_a_few_does_not_read_through_all(crowded):
    crowded.execute(f"prepare asked as {SQL.few.numbered}".encode())
    given = {
        "workspace": "'w'",
        "only": "'{lock:n1,lock:n9}'",
        "after": "'lock:'",
        "first": "'lock:'",
        "last": "'lock:x'",
        "limit": "9",
    }
    asked = ", ".join(given[name] for name in SQL.few.params)
    way = "\n".join(line for (line,) in crowded.execute(f"explain execute asked({asked})"))
    (found,) = [line for line in way.splitlines() if "Index Cond" in line]
    assert "ANY" in found, way
