"""What a job may have at most, told when it is too much; the job goes on."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.jobs import StagesFull
from steadhold.kit.limits import STAGES_MAX


@pytest.fixture
def full(desk):
    """A running job with as many stages as it may have, and one of them."""
    job = desk.running()
    desk.checkpoint(job.id, job.fence, "there", b"1")
    desk.conn.execute("update steadhold.jobs set stages = %s where id = %s", [STAGES_MAX, job.id])
    return job


def test_a_job_has_so_many_stages(desk, full):
    assert desk.checkpoint(full.id, full.fence, "one-too-many", b"1") == StagesFull(full.id)
    assert desk.checkpoint(full.id, full.fence, "there", b"1").again
    assert desk.said(full, jobs.Wait("another", jobs.Timer(1))) == StagesFull(full.id)
    assert desk.said(full, jobs.Complete()).state == "completed"
