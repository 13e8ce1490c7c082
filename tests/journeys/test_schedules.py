"""A schedule as one uses it: a report each second, worked by a worker, while its servers come and go."""

from __future__ import annotations

import itertools

import pytest

from steadhold.kit.exact import decode
from steadhold.sdk import Client
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys
RUNS = 8


def worked(client, done):
    """Work what there is; the window of each run comes with its job."""
    for job in client.jobs.claim("w", ["report"], limit=10, wait_seconds=2):
        done.append(job)
        client.jobs.complete(job.job_id, job.fence, evidence_at=job.evidence_not_before)


def test_each_second_is_reported_once(house, key):  # noqa: F811 - fixtures
    """Each instant has one run, in time; windows follow each other without a gap; and who asks later is told."""
    done = []
    with server(house.dsn) as one, server(house.dsn) as two, Client(one.url, key) as client:
        client.schedules.put("r", "report", {"of": "sales"}, every_seconds=1, overlap="enqueue", freshness_seconds=60)
        while len(done) < RUNS // 2:
            worked(client, done)
        one.kill()
        with Client(two.url, key) as other:
            while len(done) < RUNS:
                worked(other, done)
            paused = other.schedules.pause("r")
            runs = [run for run in other.schedules.runs("r") if run.outcome in ("started", "waiting")][::-1]
    assert paused.paused
    assert len({job.correlation_id for job in done}) == len(done)
    told = {run.trigger_id: run for run in runs}
    assert all(told[job.correlation_id].job_id == job.job_id for job in done)
    assert all(job.inputs[-1].startswith("schedule:r?trigger_id=") for job in done)
    assert decode(done[0].input_raw) == {"of": "sales"}
    for before, after in itertools.pairwise(runs):
        assert after.window.start == before.window.end
    late = [(run.recorded_at - run.scheduled_at).total_seconds() for run in runs]
    assert min(late) >= 0, "nothing runs before its time"
