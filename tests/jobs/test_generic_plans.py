"""What belongs to jobs is reached by index, and nobody's but that of the jobs that are named."""

from __future__ import annotations

import pytest

from steadhold.jobs.moving import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

TABLES = (
    "jobs", "checkpoints", "job_signals", "job_configurations", "job_types", "job_tags", "waits",
    "inboxes",
)  # fmt: skip
crowded = crowd("""
insert into steadhold.jobs
    (workspace, id, root, type, configuration_revision, priority, revision, attempts_max, lease_seconds, run_at,
    created_at, input_digest, retry_of)
  select %(w)s, md5(n::text)::uuid, md5(n::text)::uuid, 't' || n %% 20, 0, n %% 10, 1, 10, 30, c, c, '',
    case when n %% 4 = 0 then md5('r' || n)::uuid end
  from generate_series(1, 20000) n, steadhold.clock() c;
insert into steadhold.checkpoints (workspace, root, stage, job, fence, digest, result_ref, committed_at)
  select %(w)s, md5(n::text)::uuid, 's' || k, md5(n::text)::uuid, 1, '', 'r', c
  from generate_series(1, 5000) n, generate_series(1, 4) k, steadhold.clock() c;
insert into steadhold.job_signals (workspace, job, n, name, sent_at)
  select %(w)s, md5(n::text)::uuid, 1, 'go', c from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.job_claims select %(w)s, 'k' || n, array[md5(n::text)::uuid], array[1], c
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.job_configurations select %(w)s, 't' || n, 1, '{}', c
  from generate_series(1, 2000) n, steadhold.clock() c;
insert into steadhold.job_types select %(w)s, 't' || n, 1, null, 1, c
  from generate_series(1, 2000) n, steadhold.clock() c;
insert into steadhold.job_slots select %(w)s, 'k' || n %% 50, md5(n::text)::uuid, 1 from generate_series(1, 5000) n;
insert into steadhold.job_tags select %(w)s, 'g' || n %% 50, md5(n::text)::uuid from generate_series(1, 5000) n;
insert into steadhold.waits (workspace, job_id, stage, what, inbox, epoch, seen)
  select %(w)s, md5(n::text)::uuid, 's', '', 'i' || n %% 100, 'e', n from generate_series(1, 5000) n;
insert into steadhold.inboxes (workspace, name, id, revision, present, epoch, incarnation, made_at, changed_at)
  select %(w)s, 'i' || n, gen_random_uuid(), 1, true, 'e', 0, c, c from generate_series(1, 5000) n, steadhold.clock() c
""")


WRITES = {"claim_once", "keep", "moment", "occupy", "tag", "turn", "watch"}
"""What reads no table, or only writes."""

BOUNDED = {"admission", "forget_rest", "glance_failed", "glance_queues", "matching", "types_page"}
"""What walks so many at most: pages, sweeps, gauges, and how full a queue is."""

RARE = {"unpin"}
"""What says of itself that it reads all jobs, once a day."""

NAMES = {sql.name.partition(".")[2] for sql in SQL} - WRITES - BOUNDED - RARE


@pytest.mark.parametrize("name", sorted(NAMES))
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [(table, found[table]) for table in TABLES if WHOLE & found.get(table, set())] == []
