"""Schedules and runs are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.play.transaction import opening
from steadhold.schedules.recording import SQL
from tests.operations.generic_plan import WHOLE, walks


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which the tables hold so much that a scan would never do."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute(
            "insert into steadhold.schedules (workspace, id, revision, spec, since, cursor, next_at, tables, made_at,"
            " changed_at) select %s, 's' || n, 1, '', c, c, c + n * interval '1 minute', 'x', c, c"
            " from generate_series(1, 5000) n, (select steadhold.clock() as c) now",
            [workspace],
        )
        conn.execute(
            "insert into steadhold.schedule_runs (workspace, schedule, scheduled_at, manual, last_at, count, local,"
            " window_start, trigger_id, revision, outcome, reason, live, recorded_at)"
            " select %s, 's' || n %% 10, c + n * interval '1 minute', false, c + n * interval '1 minute', 1, '', c,"
            " gen_random_uuid(), 1, 2, 'paused', false, c"
            " from generate_series(1, 5000) n, (select steadhold.clock() as c) now",
            [workspace],
        )
        conn.execute("analyze steadhold.schedules, steadhold.schedule_runs")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


APART = {"schedules.record", "schedules.glance"}
"""What only writes, and what walks so many of an index at most."""

LOOKING = [statement for statement in SQL if statement.name not in APART]


@pytest.mark.parametrize("statement", LOOKING, ids=lambda statement: statement.name)
def test_nothing_is_scanned(crowded, statement):
    found = walks(crowded, statement)
    assert [found[table] for table in ("schedules", "schedule_runs") if WHOLE & found.get(table, set())] == []


@pytest.mark.parametrize(
    "name, index",
    [("due", "schedules_next"), ("planned", "schedules_planned"), ("hold", "schedules_pkey")],
)
def test_schedules_are_found_by(crowded, name, index):
    assert walks(crowded, getattr(SQL, name))["schedules"] == {index}


@pytest.mark.parametrize(
    "name, index",
    [
        ("live", "schedule_runs_live"),
        ("ranges", "schedule_runs_pkey"),
        ("standing_there", "schedule_runs_pkey"),
        ("runs", "schedule_runs_pkey"),
        ("outlived", "schedule_runs_recorded"),
    ],
)
def test_runs_are_found_by(crowded, name, index):
    assert walks(crowded, getattr(SQL, name))["schedule_runs"] == {index}
