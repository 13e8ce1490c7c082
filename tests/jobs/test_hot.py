"""The two statements that most jobs pass through: what is claimed and completed at once is as if done step by step."""

from __future__ import annotations

from datetime import timedelta

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Configuration, Fail, JobEnd, Release, Settlement, Wait
from steadhold.jobs.model import Concurrency
from steadhold.jobs.settling import complete_all, plain
from tests.jobs.racing import FAR

OWN = (
    "id", "root", "run_at", "created_at", "claimed_at", "ended_at", "subject", "until", "check_at", "occurred_at",
    "aggregate_id", "matched_at", "type", "slotted", "configuration_revision",
)  # fmt: skip
"""What differs between two jobs of two types that have had the same fate."""


def completed(desk, *claimed, result=b"null"):
    return complete_all(desk.conn, desk.workspace, [Settlement(c.id, c.fence, Complete(result)) for c in claimed])


def rows(desk, id):
    """Everything that is kept of a job, and what of it is an instant, as whether it is there."""
    kept = {}
    for table, where in (
        ("jobs", f"t.id = '{id}'"),
        ("grants", f"t.subject = 'job:{id}'"),
        ("events", f"t.aggregate_id = 'job:{id}' and t.aggregate_revision > 1"),
    ):
        found = desk.conn.execute(
            f"select to_jsonb(t) from steadhold.{table} t where {where} order by to_jsonb(t)::text"
        )
        kept[table] = [
            {column: value is not None if column in OWN else value for column, value in row.items()} for (row,) in found
        ]
    return kept


def told(desk, id):
    found = desk.conn.execute(
        "select type, convert_from(data, 'utf8') from steadhold.events where aggregate_id = %s order by"
        " aggregate_revision offset 1",
        [f"job:{id}"],
    )
    return found.fetchall()


@pytest.fixture
def pair(desk):
    """A job that is started at once, and one that is picked first since its type has a limit, which is not reached."""
    desk.configure("limited", Configuration(concurrency=Concurrency(type_max=9)), None)
    return [desk.running(type, worker="anna") for type in ("unlimited", "limited")]


def test_what_is_started_at_once_is_as_what_is_picked_first(desk, pair):
    at_once, picked = pair
    assert told(desk, at_once.id) == told(desk, picked.id)
    assert rows(desk, at_once.id)["grants"] == rows(desk, picked.id)["grants"]
    both = [rows(desk, job.id) for job in pair]
    assert {**both[0]["jobs"][0], "slotted": True} == {**both[1]["jobs"][0], "slotted": True}
    assert both[0]["events"] == both[1]["events"]
    assert (at_once.lease_seconds, at_once.fence, at_once.revision, at_once.attempt) == (30, 1, 2, 1)
    granted = desk.conn.execute("select until from steadhold.grants where subject = %s", [f"job:{at_once.id}"])
    assert granted.fetchone() == (at_once.lease_expires_at,)


def test_a_claim_of_both_kinds_goes_by_priority_and_time(desk, pair):
    ids = [
        desk.accepted(type, priority=priority) for priority in (7, 3) for type in ("limited", "unlimited", "limited")
    ]
    got = desk.claim("w", ["unlimited", "limited"], 5)
    assert [job.id for job in got] == [*ids[3:], *ids[:2]]
    assert [job.id for job in desk.claim("w", ["unlimited", "limited"], 5)] == ids[2:3]


def test_a_lease_is_cut_by_what_the_job_is_held_to(desk, clock):
    job = desk.running(deadline_seconds=7)
    assert job.lease_seconds == pytest.approx(7, abs=0.01)
    desk.accepted("u")
    (short,) = desk.claim("w", ["u"], 1, 3)
    assert short.lease_seconds == 3
    desk.configure("v", Configuration(timeout_seconds=2), None)
    held = desk.running("v")
    assert (held.lease_seconds, held.timeout_at) == (2, held.lease_expires_at)


def test_a_key_is_counted_whatever_else_is_claimed(desk):
    for key in (None, "k", "k", None):
        desk.accepted(concurrency_key=key)
    assert len(desk.claim("w", ["t"], 10)) == 3
    assert desk.conn.execute("select key from steadhold.job_slots").fetchall() == [("key:k",)]


def test_what_is_completed_at_once_is_as_what_is_settled(desk):
    at_once, settled = (desk.running(type) for type in ("a", "b"))
    assert completed(desk, at_once, result=b'{"n":1}') == [jobs.Settled(at_once.id, "completed", 3)]
    desk.said(settled, Complete(b'{"n":1}'))
    assert rows(desk, at_once.id) == rows(desk, settled.id)
    assert told(desk, at_once.id) == told(desk, settled.id)
    assert rows(desk, at_once.id)["grants"] == []
    assert desk.get(at_once.id).job() != desk.get(settled.id).job()
    again = desk.said(at_once, Complete(b'{"n":1}'))
    assert (again.state, again.repeated) == ("completed", True)


def ended(desk):
    job = desk.running()
    desk.said(job, Fail("x", klass="permanent"))
    return job


def stale(desk):
    job = desk.running()
    desk.said(job, Release())
    desk.claim("w", ["t"], 1)
    return job


def counted(desk):
    return desk.running(concurrency_key="k")


def awaited(desk):
    job, waiter = desk.running("u"), desk.running()
    desk.said(waiter, Wait("end", JobEnd(job.id), FAR))
    return job


def held_to_evidence(desk):
    now = desk.conn.execute("select steadhold.clock()").fetchone()[0]
    return desk.running(evidence_not_before=now - timedelta(hours=1))


@pytest.mark.parametrize("job_of", [ended, stale, counted, awaited, held_to_evidence])
def test_what_is_not_plain_is_left_as_it_was(desk, job_of):
    job, other = job_of(desk), desk.running("other")
    before = rows(desk, job.id)
    assert completed(desk, job, other) == [None, jobs.Settled(other.id, "completed", 3)]
    assert rows(desk, job.id) == before


def test_an_ended_lease_completes_nothing(desk, clock):
    job = desk.running()
    before = rows(desk, job.id)
    clock.move(31)
    assert completed(desk, job) == [None]
    assert rows(desk, job.id) == before


def test_a_job_that_was_claimed_before_is_completed_at_once_too(desk):
    job = desk.running()
    desk.said(job, Release())
    (again,) = desk.claim("w", ["t"], 1)
    assert again.fence > job.fence
    assert completed(desk, again) == [jobs.Settled(job.id, "completed", again.revision + 1)]


def test_plain_is_what_brings_nothing_but_a_result():
    id = "019a7d3c-0000-7000-8000-000000000000"
    assert plain(Settlement(id, 1, Complete(b"1")))
    for said in (
        Complete(None, "s3://x"),
        Complete(b"1", evidence_at=FAR),
        Complete(b"1", coverage=jobs.Coverage("complete")),
    ):
        assert not plain(Settlement(id, 1, said))
    assert not plain(Settlement(id, 1, Release()))
    assert not plain(Settlement(id, 1, Complete(b"1"), revision=2))
