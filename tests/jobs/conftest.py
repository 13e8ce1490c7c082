from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.jobs.house import House


class Desk:
    """The verbs of jobs on one connection, one method each, so that a test reads as what happens."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def __getattr__(self, verb):
        return lambda *args, **kw: getattr(jobs, verb)(self.conn, self.workspace, *args, **kw)

    def accepted(self, type="t", **kw):
        """Admit a job and answer its id."""
        return jobs.submit(self.conn, self.workspace, jobs.Submission(type, **kw)).id

    def running(self, type="t", worker="w", **kw):
        """Admit a job and claim it."""
        id = self.accepted(type, **kw)
        (claimed,) = [job for job in self.claim(worker, [type], 100) if job.id == id]
        return claimed

    def said(self, claimed, said, **kw):
        """Settle what was claimed."""
        return self.settle(jobs.Settlement(claimed.id, claimed.fence, said, **kw))

    def state(self, id):
        return self.get(id).state

    def history(self, id):
        found = self.conn.execute(
            "select type, aggregate_revision, convert_from(data, 'utf8')::json->>'cause' from steadhold.events"
            " where aggregate_id = %s order by aggregate_revision",
            [f"job:{id}"],
        )
        return [(type.removeprefix("job."), revision, cause) for type, revision, cause in found]


@pytest.fixture
def desk(conn, workspace):
    return Desk(conn, workspace)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield await House(Single(pool), workspace).enter()
