"""The verbs on a real PostgreSQL, each test in a transaction that is rolled back."""

from __future__ import annotations

from steadhold import jobs
from steadhold.jobs import Complete, Settlement, Submission


def test_a_job_from_admission_to_its_end(conn, workspace):
    job = Submission("resize", b'{"n":1}')
    made = jobs.submit(conn, workspace, job)
    assert made.id == job.id
    assert jobs.submit(conn, workspace, job).state == "accepted"
    (claimed,) = jobs.claim(conn, workspace, "w1", ["resize"], 10)
    assert (claimed.id, claimed.input, claimed.attempt) == (job.id, b'{"n":1}', 1)
    settled = jobs.settle(conn, workspace, Settlement(job.id, claimed.fence, Complete(b"42")))
    assert settled.state == "completed"
    again = jobs.settle(conn, workspace, Settlement(job.id, claimed.fence, Complete(b"42")))
    assert (again.state, again.repeated, again.revision) == ("completed", True, settled.revision)
    assert jobs.get(conn, workspace, job.id).job().result_ref.startswith(f"job:{job.id}/result#sha256:")
