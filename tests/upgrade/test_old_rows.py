"""What an older release wrote, after an upgrade: it says what it said."""

from __future__ import annotations

import asyncpg

from steadhold.db.embedded import Embedded
from steadhold.db.migrate import files, migrate
from tests.upgrade.test_crash import new

RELEASED = 9
"""The last migration of the release that wrote these rows."""

JOBS = """
insert into steadhold.jobs (
  workspace, id, root, type, configuration_revision, state, priority, revision, attempts_max, lease_seconds, run_at,
  created_at, input_digest, ended_at, settled_digest, result, result_ref)
select 'w', id, id, 't', 1, state, 5, 1, 3, 30, now(), now(), '', ended, digest, result, ref
from (values
  ('0198f000-0000-7000-8000-000000000000'::uuid, 0, null::timestamptz, null::bytea, null::bytea, null),
  ('0198f000-0000-7000-8000-000000000001', 3, now(), '\\x01', '\\x31', 'job:1/result#sha256:old'),
  ('0198f000-0000-7000-8000-000000000002', 3, now(), '\\x01', null, 's3:x'),
  ('0198f000-0000-7000-8000-000000000003', 5, now(), '\\x01', null, null)
) as j(id, state, ended, digest, result, ref)
"""
NAMED = """
select steadhold.result_ref(j.id, j.state, j.result_ref, j.settled_digest) as named from steadhold.jobs j order by j.id
"""


async def test_results_of_an_older_release_keep_their_names(server: Embedded) -> None:
    known, dsn = files(), await new(server, "older")
    await migrate(dsn, known=tuple(m for m in known if m.number <= RELEASED))
    conn = await asyncpg.connect(dsn)
    await conn.execute(JOBS)
    await migrate(dsn, known=known)
    assert [row["named"] for row in await conn.fetch(NAMED)] == [None, "job:1/result#sha256:old", "s3:x", None]
    await conn.close()
