"""The verbs of a worker on a real PostgreSQL, each test in a transaction that is rolled back."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Configuration, Fail, JobEnd, Release, Retry, Settlement, Timer, Wait
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.play.caller import play

NOBODY = "0198f000-0000-7000-8000-000000000000"


def test_claims_go_by_priority_then_time(desk, clock):
    late = desk.accepted(priority=5)
    urgent = desk.accepted("u", priority=0)
    last = desk.accepted(priority=5)
    assert [job.id for job in desk.claim("w", ["t", "u"], 10)] == [urgent, late, last]


def test_nothing_is_claimed_before_its_time(desk, clock):
    id = desk.accepted(run_at=clock.now() + timedelta(seconds=60))
    assert desk.claim("w", ["t"], 10) == []
    clock.move(61)
    assert [job.id for job in desk.claim("w", ["t"], 10)] == [id]


def test_a_floor_passes_over_what_lies_below(desk, clock):
    low = desk.accepted()
    clock.move(10)
    high = desk.accepted()
    assert [job.id for job in desk.claim("w", ["t"], 1, floor=clock.now() - timedelta(seconds=5))] == [high]
    assert [job.id for job in desk.claim("w", ["t"], 1)] == [low]


def test_a_claim_repeated_under_its_key_takes_nothing_more(desk):
    ids = [desk.accepted() for _ in range(3)]
    first = desk.claim("w", ["t"], 2, key="op-1")
    again = desk.claim("w", ["t"], 2, key="op-1")
    assert [(job.id, job.fence) for job in again] == [(job.id, job.fence) for job in first]
    desk.said(first[0], Complete())
    assert [job.id for job in desk.claim("w", ["t"], 2, key="op-1")] == [first[1].id]
    assert [job.id for job in desk.claim("w", ["t"], 2, key="op-2")] == [ids[2]]


def test_a_claim_may_only_shorten_the_lease(desk):
    desk.accepted()
    desk.accepted()
    assert desk.claim("w", ["t"], 1, 5)[0].lease_seconds == 5
    assert desk.claim("w", ["t"], 1, 500)[0].lease_seconds == 30


def test_versions_go_to_workers_that_know_them(desk):
    desk.configure("t", Configuration(versions=("2", "3")), None)
    id = desk.accepted()
    assert desk.claim("w", ["t"], 10) == []
    assert desk.claim("w", ["t"], 10, versions=["1"]) == []
    assert [job.id for job in desk.claim("w", ["t"], 10, versions=["1", "3"])] == [id]


def test_keys_and_types_have_so_many_slots(desk):
    desk.configure("t", jobs.Configuration(concurrency=jobs.Concurrency(type_max=3, key_max=2)), None)
    for key in ("a", "a", "a", "b", None):
        desk.accepted(concurrency_key=key)
    first = desk.claim("w", ["t"], 10)
    assert [desk.get(job.id).concurrency_key for job in first] == ["a", "a", "b"]
    assert desk.claim("w", ["t"], 10) == []
    desk.said(first[2], Complete())
    assert [desk.get(job.id).concurrency_key for job in desk.claim("w", ["t"], 10)] == [None]
    assert desk.claim("w", ["t"], 10) == []
    desk.said(first[0], Release(5))
    assert [desk.get(job.id).concurrency_key for job in desk.claim("w", ["t"], 10)] == ["a"]


def test_a_schedules_key_has_one_slot_whatever_the_type_says(desk):
    desk.configure("t", jobs.Configuration(concurrency=jobs.Concurrency(key_max=5)), None)
    for _ in range(3):
        mine = jobs.Submission("t", concurrency_key="schedule:s")  # as a schedule does: a user may not
        play(desk.conn, jobs.submit.call(desk.workspace, mine))
    assert len(desk.claim("w", ["t"], 10)) == 1
    assert desk.claim("w", ["t"], 10) == []


def test_a_saturated_key_does_not_hide_what_lies_behind_it(desk):
    for _ in range(5):
        desk.accepted(concurrency_key="a")
    behind = desk.accepted()
    assert behind in [job.id for job in desk.claim("w", ["t"], 2)]


def test_a_workspace_runs_so_many_at_once(desk, database, workspace):
    with database.connect() as owner:
        owner.execute(
            "insert into steadhold.entitlements (workspace, revision, jobs_running_max, changed_at)"
            " values (%s, 1, 2, steadhold.clock())",
            [workspace],
        )
    for _ in range(3):
        desk.accepted()
    assert len(desk.claim("w", ["t"], 10)) == 2
    assert desk.claim("w", ["t"], 10) == []


def test_heartbeats_renew_and_raise_no_revision(desk, clock):
    job = desk.running()
    clock.move(20)
    beaten = desk.heartbeat(job.id, job.fence, b'{"done":3}')
    assert (beaten.lease_expires_at - beaten.server_time).total_seconds() == 30
    assert (desk.get(job.id).revision, desk.get(job.id).progress) == (job.revision, b'{"done":3}')
    clock.move(31)
    assert desk.heartbeat(job.id, job.fence) == StaleFence(f"job:{job.id}")


def test_a_lease_never_outlives_timeout_or_deadline(desk, clock):
    desk.configure("t", Configuration(timeout_seconds=40), None)
    job = desk.running(deadline_seconds=50)
    clock.move(25)
    beaten = desk.heartbeat(job.id, job.fence)
    assert beaten.lease_expires_at <= job.timeout_at + timedelta(seconds=1)


def test_heartbeats_answer_each(desk):
    one, two = desk.running(), desk.running()
    desk.cancel(two.id, "me")
    beats = desk.heartbeat_all(
        [
            jobs.Beat(one.id, one.fence),
            jobs.Beat(two.id, two.fence + 1),
            jobs.Beat(two.id, two.fence),
            jobs.Beat(NOBODY, 1),
        ]
    )
    assert [getattr(beat, "cancel_requested", beat) for beat in beats] == [
        False, StaleFence(f"job:{two.id}"), True, StaleFence(f"job:{NOBODY}"),
    ]  # fmt: skip


def test_stages_are_committed_once(desk):
    job = desk.running()
    made = desk.checkpoint(job.id, job.fence, "walk", b"[1]", input_digest=b"i" * 32)
    assert (made.again, made.revision) == (False, job.revision + 1)
    assert desk.checkpoint(job.id, job.fence, "walk", b"[1]", input_digest=b"i" * 32).again
    conflict = jobs.CheckpointConflict("walk", made.digest)
    assert desk.checkpoint(job.id, job.fence, "walk", b"[2]", input_digest=b"i" * 32) == conflict
    assert desk.checkpoint(job.id, job.fence, "walk", b"[1]", input_digest=b"j" * 32) == conflict
    assert desk.get(job.id).revision == made.revision
    assert desk.checkpoint_of(job.id, "walk").result == b"[1]"
    assert desk.checkpoint(job.id, job.fence + 1, "hash") == StaleFence(f"job:{job.id}")
    assert desk.checkpoint(job.id, job.fence, "hash", revision=1) == RevisionConflict(made.revision)


def test_a_replacement_resumes_from_the_stages(desk, clock):
    job = desk.running()
    for stage in ("b", "a"):
        desk.checkpoint(job.id, job.fence, stage)
    clock.move(31)
    assert desk.lapse(10) == 1
    (next_,) = desk.claim("w", ["t"], 1)
    assert [stage for stage, _ in next_.stages] == ["b", "a"]
    assert next_.fence > job.fence
    assert desk.checkpoint(job.id, job.fence, "late") == StaleFence(f"job:{job.id}")
    assert [stage.stage for stage in desk.checkpoints(job.id, "", 10).items] == ["a", "b"]


def test_settling_twice(desk):
    job = desk.running()
    done = desk.said(job, Complete(b"1"))
    again = desk.said(job, Complete(b"1"))
    assert (again.state, again.revision, again.repeated) == ("completed", done.revision, True)
    assert desk.said(job, Complete(b"2")) == jobs.JobEnded(job.id, "completed")
    assert desk.settle(Settlement(job.id, job.fence + 1, Complete(b"1"))) == StaleFence(f"job:{job.id}")
    assert desk.settle(Settlement(NOBODY, 1, Complete())) == Missing()


def test_a_completion_is_known_again_by_the_words_of_an_older_release(desk):
    job = desk.running()
    desk.said(job, Complete(b"1"))
    words = repr(("Complete", hashlib.sha256(b"1").digest(), None, None, None)).encode()
    desk.conn.execute(
        "update steadhold.jobs set settled_digest = %s, result_ref = 'job:older' where id = %s",
        [hashlib.sha256(words).digest(), job.id],
    )
    assert desk.said(job, Complete(b"1")).repeated
    assert desk.said(job, Complete(b"2")) == jobs.JobEnded(job.id, "completed")
    assert desk.get(job.id).result_ref == "job:older"


def test_a_repeat_where_the_job_lives_on(desk):
    job = desk.running()
    released = desk.said(job, Release(60))
    assert (released.state, desk.said(job, Release(60)).run_at) == ("accepted", released.run_at)
    assert desk.said(job, Release(61)) == StaleFence(f"job:{job.id}")


def test_a_batch_settles_each(desk):
    done, stale, failed = (desk.running() for _ in range(3))
    answers = desk.settle_all([
        Settlement(done.id, done.fence, Complete()),
        Settlement(stale.id, stale.fence + 1, Complete()),
        Settlement(failed.id, failed.fence, Fail("bad", klass="bug")),
        Settlement(done.id, done.fence, Complete()),
        Settlement(failed.id, failed.fence, Complete()),
    ])  # fmt: skip
    assert [getattr(answer, "state", None) for answer in answers] == [
        "completed",
        None,
        "failed",
        "completed",
        "failed",
    ]
    assert answers[3].repeated
    assert isinstance(answers[4], jobs.JobEnded)


def test_what_is_said_first_of_a_job_in_a_batch_goes_first(desk):
    job = desk.running()
    nap, done = desk.settle_all([
        Settlement(job.id, job.fence, Wait("nap", Timer(0))),
        Settlement(job.id, job.fence, Complete(b"1")),
    ])  # fmt: skip
    assert (nap.state, done.state, desk.contents(job.id).result) == ("running", "completed", b"1")
    assert [what for what, _, _ in desk.history(job.id)] == ["accepted", "running", "checkpointed", "completed"]


def test_a_wait_sees_the_end_that_is_said_beside_it(desk, clock):
    done, waiting = desk.running(), desk.running()
    until = clock.now() + timedelta(seconds=60)
    answers = desk.settle_all([
        Settlement(waiting.id, waiting.fence, Wait("end", JobEnd(done.id), until)),
        Settlement(done.id, done.fence, Complete()),
    ])  # fmt: skip
    assert [answer.state for answer in answers] == ["running", "completed"]
    assert b'"completed"' in answers[0].woke


@pytest.mark.parametrize(
    ("said", "stored"), [(Complete(b"7"), False), (Complete(None, "s3:x"), True), (Complete(None), True)]
)
def test_a_result_that_lies_here_is_named_by_its_digest(desk, said, stored):
    job = desk.running()
    desk.said(job, said)
    named = said.result_ref or f"job:{job.id}/result#sha256:{hashlib.sha256(said.result or b'').hexdigest()}"
    assert desk.get(job.id).result_ref == desk.contents(job.id).result_ref == named
    kept = desk.conn.execute("select result_ref is not null from steadhold.jobs where id = %s", [job.id])
    assert kept.fetchone() == (stored,)


def test_if_match_on_a_settlement(desk):
    job = desk.running()
    assert desk.said(job, Complete(), revision=job.revision - 1) == RevisionConflict(job.revision)
    assert desk.said(job, Complete(), revision=job.revision).state == "completed"


def test_evidence(desk, clock):
    not_before = clock.now()
    job = desk.running(evidence_not_before=not_before)
    assert desk.said(job, Complete()) == jobs.EvidenceRequired(not_before)
    assert desk.said(job, Complete(evidence_at=not_before - timedelta(seconds=1))) == jobs.StaleEvidence(not_before)
    assert desk.state(job.id) == "running"
    assert desk.said(job, Complete(evidence_at=not_before)).state == "completed"


@pytest.mark.parametrize(
    "said, attempt",
    [
        (Release(), 1),
        (Release(5), 1),
        (Fail("x", klass="interrupted"), 1),
        (Fail("x", klass="rate_limited"), 1),
        (Fail("x"), 2),
    ],
)
def test_what_costs_an_attempt(desk, clock, said, attempt):
    job = desk.running()
    assert desk.said(job, said).state == "accepted"
    clock.move(10)
    assert desk.claim("w", ["t"], 1)[0].attempt == attempt


def test_failures_are_spaced_and_end(desk, clock):
    desk.configure("t", Configuration(attempts_max=3, retry=Retry(10, 15, 0)), None)
    job, waits = desk.running(), []
    while (settled := desk.said(job, Fail("boom", "no"))).state == "accepted":
        waits.append(round((settled.run_at - clock.now()).total_seconds()))
        clock.move(16)
        (job,) = desk.claim("w", ["t"], 1)
    assert (waits, settled.state) == ([10, 15], "failed")
    assert desk.get(job.id).job() == jobs.Failed(job.id, "boom")
