"""Admission on a real PostgreSQL, each test in a transaction that is rolled back."""

from __future__ import annotations

import hashlib

from steadhold import access, jobs
from steadhold.jobs import Complete, Configuration, Fail, Submission
from steadhold.kit.outcome import Missing, RevisionConflict

NOBODY = "0198f000-0000-7000-8000-000000000000"


def test_a_job_from_admission_to_its_end(desk):
    job = Submission("resize", b'{"n":1}')
    made = desk.submit(job)
    assert (made.id, made.configuration_revision) == (job.id, 0)
    (claimed,) = desk.claim("w1", ["resize"], 10)
    assert (claimed.id, claimed.input, claimed.attempt, claimed.revision) == (job.id, b'{"n":1}', 1, made.revision + 1)
    settled = desk.said(claimed, Complete(b"42"))
    assert (settled.state, settled.revision) == ("completed", claimed.revision + 1)
    reference = f"job:{job.id}/result#sha256:{hashlib.sha256(b'42').hexdigest()}"
    assert desk.get(job.id).job() == jobs.Completed(job.id, reference)
    assert desk.contents(job.id).result == b"42"
    assert [(what, cause) for what, _, cause in desk.history(job.id)] == [
        ("accepted", "submit"), ("running", "claim"), ("completed", "complete"),
    ]  # fmt: skip


def test_the_same_submission_is_the_same_job(desk):
    job = Submission("t", b"1")
    made = desk.submit(job)
    assert desk.submit(job) == jobs.Existing(job.id, made.revision, "accepted")
    assert desk.submit(Submission("t", b"2", id=job.id)) == jobs.KeyConflict(job.id)


def test_a_unique_key_is_held_until_the_end(desk):
    first = desk.running(unique_key="k", input=b"1")
    assert desk.submit(Submission("t", b"1", unique_key="k")).id == first.id
    assert desk.submit(Submission("t", b"2", unique_key="k")) == jobs.KeyConflict(first.id)
    desk.said(first, Complete())
    assert isinstance(desk.submit(Submission("t", b"2", unique_key="k")), jobs.Submitted)


def test_twins_of_one_key_in_one_batch(desk):
    twins = [
        Submission("t", b"1", unique_key="k"),
        Submission("t", b"1", unique_key="k"),
        Submission("t", b"2", unique_key="k"),
    ]
    made, same, other = desk.submit_all(twins)
    assert (made.id, same.id, other) == (twins[0].id, made.id, jobs.KeyConflict(made.id))


def test_a_batch_answers_each(desk):
    desk.configure("strict", Configuration(input_schema=b'{"type":"object","required":["n"]}'), None)
    ok, bad, free = desk.submit_all(
        [Submission("strict", b'{"n":1}'), Submission("strict", b"{}"), Submission("free", b"[]")]
    )
    assert isinstance(ok, jobs.Submitted)
    assert isinstance(free, jobs.Submitted)
    assert [pointer for pointer, _ in bad.faults] == [""]


def test_pointers_name_the_place(desk):
    schema = b'{"properties":{"a/b":{"type":"array","items":{"type":"integer"}}}}'
    desk.configure("t", Configuration(input_schema=schema), None)
    refused = desk.submit(Submission("t", b'{"a/b":[1,"x"]}'))
    assert [pointer for pointer, _ in refused.faults] == ["/a~1b/1"]


def test_entitlements_are_asked_before_anything_is_stored(desk, database, conn, workspace):
    with database.connect() as owner:
        owner.execute(
            "insert into steadhold.entitlements (workspace, revision, job_types, jobs_queued_max, changed_at)"
            " values (%s, 1, '{t}', 2, steadhold.clock())",
            [workspace],
        )
    assert isinstance(desk.submit(Submission("other")), access.NotEntitled)
    first, second, third = desk.submit_all([Submission("t") for _ in range(3)])
    assert isinstance(first, jobs.Submitted)
    assert isinstance(second, jobs.Submitted)
    assert third == access.QueueFull(2, 2)
    assert desk.submit(Submission("t")) == access.QueueFull(2, 2)


def test_what_is_pinned_stays(desk):
    made = desk.configure("t", Configuration(attempts_max=1, lease_seconds=7), None)
    old = desk.accepted()
    newer = desk.configure("t", Configuration(attempts_max=5, lease_seconds=9), made.revision)
    young = desk.accepted()
    claimed = {job.id: job for job in desk.claim("w", ["t"], 10)}
    assert (claimed[old].configuration_revision, claimed[old].lease_seconds) == (made.revision, 7)
    assert (claimed[young].configuration_revision, claimed[young].lease_seconds) == (newer.revision, 9)
    assert desk.said(claimed[old], Fail("boom")).state == "failed"
    assert desk.said(claimed[young], Fail("boom")).state == "accepted"


def test_a_configuration_has_one_winner(desk):
    made = desk.configure("t", Configuration(), None)
    assert desk.configure("t", Configuration(), None) == RevisionConflict(made.revision)
    assert desk.configure("t", Configuration(), made.revision + 5) == RevisionConflict(made.revision)
    assert desk.configure("none", Configuration(), 1) == Missing()
    assert [type.type for type in desk.job_types("", 10).items] == ["t"]
