"""Locks and tickets are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.locks.plans import SQL
from tests.operations.generic_plan import WHOLE, conditions, crowd, walks

crowded = crowd("""
insert into steadhold.grants (workspace, subject, fence, holder, length_seconds, until, check_at, revision)
  select %(w)s, 'lock:n' || n, 1, 'h', 30, c, c, 1 from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.lock_tickets
    (workspace, operation, subject, fence, request, placed_at, asked_at, live_until, check_at)
  select %(w)s, 'o' || n, 'lock:n' || n, nullif(n %% 3, 0), 'r', c, c, c, c
  from generate_series(1, 5000) n, steadhold.clock() c
""")


@pytest.mark.parametrize("name", [sql.name.partition(".")[2] for sql in SQL if sql.name != "locks.stand"])
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
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
    (found,) = conditions(crowded, SQL.few, "grants_pkey")
    assert "subject = ANY" in found
