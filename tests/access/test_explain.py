"""A page of the audit, which is kept for ever, is found by the index of what is asked."""

from __future__ import annotations

import pytest

from steadhold.access.plans import SQL


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which many have done much."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute(
            "insert into steadhold.audit (workspace, at, subject, kind, resource)"
            " select %s, steadhold.clock(), 's' || n, 'k' || n %% 7, 'r' || n from generate_series(1, 9000) n",
            [workspace],
        )
        conn.execute("analyze steadhold.audit")
        conn.execute("set local plan_cache_mode = force_custom_plan")
        yield conn


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"subject": "'s7'"}, "audit_subjects"),
        ({"resource": "'r7'"}, "audit_resources"),
        ({"subject": "'s7'", "kind": "'k1'"}, "audit_subjects"),
        ({}, "audit_pkey"),
    ],
)
def test_it_is_planned_for_what_is_asked(crowded, workspace, asked, index):
    assert SQL.trail.anew
    said = {"workspace": f"'{workspace}'", "before": "'infinity'", "number": "0", "limit": "101", **asked}
    crowded.execute(f"prepare asked as {SQL.trail.numbered}".encode())
    values = ", ".join(said.get(param, "null") for param in SQL.trail.params)
    lines = [line for (line,) in crowded.execute(f"explain execute asked({values})".encode()).fetchall()]
    assert any(f"using {index} " in line or f"on {index} " in line for line in lines), "\n".join(lines)
