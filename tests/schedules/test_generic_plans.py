"""Schedules and runs are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.schedules.recording import SQL
from tests.operations import due
from tests.operations.generic_plan import WHOLE, crowd, reached, walks

crowded = crowd("""
insert into steadhold.schedules
    (workspace, id, revision, spec, since, cursor, next_at, tables, made_at, changed_at)
  select %(w)s, 's' || n, 1, '', c, c, c + n * interval '1 minute', 'x', c, c
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.schedule_runs
    (workspace, schedule, scheduled_at, manual, last_at, count, local, window_start, trigger_id, revision, outcome,
    reason, live, recorded_at)
  select %(w)s, 's' || n %% 10, c + n * interval '1 minute', false, c + n * interval '1 minute', 1, '', c,
    gen_random_uuid(), 1, 2, 'paused', false, c
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.jobs
    (workspace, id, root, type, configuration_revision, priority, revision, attempts_max, lease_seconds, run_at,
    created_at, input_digest)
  select %(w)s, md5(n::text)::uuid, md5(n::text)::uuid, 't', 0, 5, 1, 10, 30, c, c, ''
  from generate_series(1, 5000) n, steadhold.clock() c
""")


APART = {"schedules.record", "schedules.glance"}
"""What only writes, and what walks so many of an index at most."""

LOOKING = [statement for statement in SQL if statement.name not in APART]


@pytest.mark.parametrize("statement", LOOKING, ids=lambda statement: statement.name)
def test_nothing_is_scanned(crowded, statement):
    found = walks(crowded, statement)
    assert [found[table] for table in ("schedules", "schedule_runs", "jobs") if WHOLE & found.get(table, set())] == []


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


def test_whether_anything_is_due_reads_no_jobs_but_those_of_old_runs(crowded):
    found = reached(crowded, due.planned(crowded, "due_schedules"))
    assert found["jobs"] == {"jobs_pkey"}
    assert not WHOLE & (found["schedules"] | found["schedule_runs"])
