"""jobs under rivals: every interleaving of two verbs, with the clock moved past the lease at every boundary."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, JobEnd, Release, Settlement, Signal, Submission, Wait
from steadhold.kit.outcome import StaleFence

pytestmark = pytest.mark.races

PAST_LEASE = {"past the lease": 31}
FAR = datetime(2999, 1, 1, tzinfo=UTC)


def accepted(stage, type="t", **kw):
    return stage.play(jobs.submit.call(stage.workspace, Submission(type, **kw))).id


def running(stage, type="t", **kw):
    id = accepted(stage, type, **kw)
    (claimed,) = stage.play(jobs.claim.call(stage.workspace, "w", [type], 1))
    assert claimed.id == id
    return claimed


def state(scene, id):
    return scene.play(jobs.get.call(scene.workspace, id)).state


def said(scene, claimed, what):
    return jobs.settle.call(scene.workspace, Settlement(claimed.id, claimed.fence, what))


def history(scene, id):
    found = scene.conn.execute(
        "select type, aggregate_revision from steadhold.events where workspace = %s and aggregate_id = %s"
        " order by aggregate_revision",
        [scene.workspace, f"job:{id}"],
    ).fetchall()
    assert [revision for _, revision in found] == list(range(1, len(found) + 1)), "revisions have a gap"
    return [type.removeprefix("job.") for type, _ in found]


def grants(scene):
    return scene.conn.execute(
        "select count(*) from steadhold.grants where workspace = %s and until is not null", [scene.workspace]
    ).fetchone()[0]


def slots(scene):
    return scene.conn.execute(
        "select count(*) from steadhold.job_slots where workspace = %s", [scene.workspace]
    ).fetchone()[0]


def test_a_sweep_never_overturns_a_completion(explore):
    """Whichever comes first: what completed stays completed, and what lapsed is due again."""

    def check(scene):
        done = scene.outcomes["worker"]
        if isinstance(done, StaleFence):
            assert state(scene, scene.facts.id) in ("accepted", "running")
        else:
            assert done.state == "completed"
            assert state(scene, scene.facts.id) == "completed"
            assert history(scene, scene.facts.id) == ["accepted", "running", "completed"]

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: said(scene, scene.facts, Complete()),
            "sweep": lambda scene: jobs.lapse.call(scene.workspace, 10),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert seen.interleavings >= 10
    states = {type(outcomes["worker"]).__name__ for outcomes in seen.outcomes}
    assert states == {"Settled", "StaleFence"}


def test_a_stale_settlement_changes_nothing(explore):
    """The old owner is refused at every point of its successor's claim and completion."""

    def plant(stage):
        old = running(stage)
        stage.play(said(stage, old, Release()))
        return old

    def check(scene):
        assert scene.outcomes["old"] == StaleFence(f"job:{scene.facts.id}")
        assert scene.outcomes["new"].state == "completed"
        assert scene.play(jobs.contents.call(scene.workspace, scene.facts.id)).result == b'"new"'

    seen = explore(
        setup=plant,
        actors={
            "old": lambda scene: said(scene, scene.facts, Complete(b'"old"')),
            "new": lambda scene: [
                jobs.claim.call(scene.workspace, "w", ["t"], 1),
                lambda got: said(scene, got[0], Complete(b'"new"')),
            ],
        },
        always=check,
    )
    assert seen.interleavings >= 20


def test_a_stage_needs_a_lease_that_lives(explore):
    """A checkpoint racing the sweep is committed under a living lease or not at all."""

    def check(scene):
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.id, "s"))
        made = scene.outcomes["worker"]
        assert isinstance(kept, jobs.Checkpoint) == isinstance(made, jobs.Checkpointed)
        history(scene, scene.facts.id)

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: jobs.checkpoint.call(scene.workspace, scene.facts.id, scene.facts.fence, "s"),
            "sweep": lambda scene: jobs.lapse.call(scene.workspace, 10),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert seen.interleavings >= 10
    assert {type(outcomes["worker"]).__name__ for outcomes in seen.outcomes} == {"Checkpointed", "StaleFence"}


def test_twins_commit_one_stage(explore):
    """A stage written twice by one owner is one stage, and the other learns so."""

    def check(scene):
        one, two = scene.outcomes["one"], scene.outcomes["two"]
        assert {type(one), type(two)} == {jobs.Checkpointed, jobs.CheckpointConflict}

    seen = explore(
        setup=running,
        actors={
            name: lambda scene, name=name: jobs.checkpoint.call(
                scene.workspace, scene.facts.id, scene.facts.fence, "s", f'"{name}"'.encode()
            )
            for name in ("one", "two")
        },
        always=check,
    )
    assert seen.interleavings >= 10


def test_a_heartbeat_never_revives(explore):
    """A renewal racing the sweep keeps the lease, or comes too late for good."""

    def check(scene):
        beaten = scene.outcomes["worker"]
        left = scene.play(jobs.get.call(scene.workspace, scene.facts.id))
        if isinstance(beaten, StaleFence):
            assert left.state in ("accepted", "running")
        else:
            assert left.fence == scene.facts.fence

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: jobs.heartbeat.call(scene.workspace, scene.facts.id, scene.facts.fence),
            "sweep": lambda scene: jobs.lapse.call(scene.workspace, 10),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert seen.interleavings >= 4


def test_cancel_and_complete(explore):
    """A request may lose to completion; it never hides or undoes it."""

    def check(scene):
        asked, done = scene.outcomes["anna"], scene.outcomes["worker"]
        assert done.state == "completed"
        assert asked.outcome in ("requested", "too_late")
        assert state(scene, scene.facts.id) == "completed"
        history(scene, scene.facts.id)

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: said(scene, scene.facts, Complete()),
            "anna": lambda scene: jobs.cancel.call(scene.workspace, scene.facts.id, "anna"),
        },
        always=check,
    )
    assert seen.interleavings >= 8
    assert {outcomes["anna"].outcome for outcomes in seen.outcomes} == {"requested", "too_late"}


def test_cancel_and_claim(explore):
    """A job answered "cancelled" is never claimed afterwards."""

    def check(scene):
        asked, got = scene.outcomes["anna"], scene.outcomes["worker"]
        assert (asked.outcome == "cancelled") == (got == [])
        assert state(scene, scene.facts) == ("cancelled" if not got else "running")

    seen = explore(
        setup=accepted,
        actors={
            "worker": lambda scene: jobs.claim.call(scene.workspace, "w", ["t"], 1),
            "anna": lambda scene: jobs.cancel.call(scene.workspace, scene.facts, "anna"),
        },
        always=check,
    )
    assert seen.interleavings >= 8


def test_cancel_and_release(explore):
    """A job asked to cancel is not run again, whichever comes first."""

    def check(scene):
        assert state(scene, scene.facts.id) == "cancelled"
        assert scene.outcomes["anna"].outcome in ("requested", "cancelled")

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: said(scene, scene.facts, Release()),
            "anna": lambda scene: jobs.cancel.call(scene.workspace, scene.facts.id, "anna"),
        },
        always=check,
    )
    assert seen.interleavings >= 8


def test_a_signal_and_a_wait(explore):
    """A signal racing the wait for it never leaves the job asleep."""

    def check(scene):
        scene.play(jobs.wake.call(scene.workspace, 10))
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.id, "go"))
        assert b'"happened"' in kept.result
        assert state(scene, scene.facts.id) == ("running" if scene.outcomes["worker"].woke else "accepted")

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: said(scene, scene.facts, Wait("go", Signal("ready"), FAR)),
            "anna": lambda scene: jobs.signal.call(scene.workspace, scene.facts.id, "ready"),
        },
        always=check,
    )
    assert seen.interleavings >= 8
    assert {bool(outcomes["worker"].woke) for outcomes in seen.outcomes} == {True, False}


def test_an_end_and_a_wait(explore):
    """A job's end racing the wait for it never leaves the waiter asleep."""

    def plant(stage):
        return SimpleNamespace(other=running(stage, "u"), waiter=running(stage))

    def check(scene):
        scene.play(jobs.wake.call(scene.workspace, 10))
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.waiter.id, "go"))
        assert b'"completed"' in kept.result
        assert state(scene, scene.facts.waiter.id) != "waiting"

    seen = explore(
        setup=plant,
        actors={
            "waiter": lambda scene: said(scene, scene.facts.waiter, Wait("go", JobEnd(scene.facts.other.id), FAR)),
            "other": lambda scene: said(scene, scene.facts.other, Complete()),
        },
        always=check,
    )
    assert seen.interleavings >= 20
    assert {bool(outcomes["waiter"].woke) for outcomes in seen.outcomes} == {True, False}


def test_two_that_wait_for_each_other_do_not_deadlock(explore):
    """Each locks both rows, in one order."""

    def plant(stage):
        return SimpleNamespace(one=running(stage, "u"), two=running(stage))

    def check(scene):
        assert [scene.outcomes[name].state for name in ("one", "two")] == ["waiting"] * 2

    seen = explore(
        setup=plant,
        actors={
            "one": lambda scene: said(scene, scene.facts.one, Wait("go", JobEnd(scene.facts.two.id), FAR)),
            "two": lambda scene: said(scene, scene.facts.two, Wait("go", JobEnd(scene.facts.one.id), FAR)),
        },
        always=check,
    )
    assert seen.interleavings >= 20


def test_waking_and_cancelling(explore):
    """A wake racing a cancel: one of them moves the job, and no wait is left."""

    def plant(stage):
        job = running(stage)
        stage.play(said(stage, job, Wait("go", Signal("ready"), FAR)))
        stage.play(jobs.signal.call(stage.workspace, job.id, "ready"))
        return job

    def check(scene):
        assert state(scene, scene.facts.id) == "cancelled"
        left = "select count(*) from steadhold.waits where workspace = %s"
        assert scene.conn.execute(left, [scene.workspace]).fetchone() == (0,)
        history(scene, scene.facts.id)

    seen = explore(
        setup=plant,
        actors={
            "sweep": lambda scene: jobs.wake.call(scene.workspace, 10),
            "anna": lambda scene: jobs.cancel.call(scene.workspace, scene.facts.id, "anna"),
        },
        always=check,
    )
    assert seen.interleavings >= 8


def test_two_sweeps_wake_a_job_once(explore):
    def plant(stage):
        job = running(stage)
        stage.play(said(stage, job, Wait("go", Signal("ready"), FAR)))
        stage.play(jobs.signal.call(stage.workspace, job.id, "ready"))
        return job

    def check(scene):
        assert sorted([scene.outcomes["one"], scene.outcomes["two"]]) == [0, 1]
        assert history(scene, scene.facts.id)[-2:] == ["signalled", "accepted"]

    seen = explore(
        setup=plant,
        actors={name: lambda scene: jobs.wake.call(scene.workspace, 10) for name in ("one", "two")},
        always=check,
    )
    assert seen.interleavings >= 4


def test_a_repeated_wait_does_not_wait_twice(explore):
    """An owner that says its wait again while the job is being woken is told what it was told, and moves nothing."""

    def plant(stage):
        job = running(stage)
        stage.play(said(stage, job, Wait("go", Signal("ready"), FAR)))
        stage.play(jobs.signal.call(stage.workspace, job.id, "ready"))
        return job

    def check(scene):
        again = scene.outcomes["worker"]
        assert (again.state, again.repeated) == ("waiting", True)
        assert state(scene, scene.facts.id) == "accepted"
        assert history(scene, scene.facts.id)[-2:] == ["signalled", "accepted"]

    seen = explore(
        setup=plant,
        actors={
            "sweep": lambda scene: jobs.wake.call(scene.workspace, 10),
            "worker": lambda scene: said(scene, scene.facts, Wait("go", Signal("ready"), FAR)),
        },
        always=check,
    )
    assert seen.interleavings >= 8


def test_two_claims_of_one_job(explore):
    """One gets it."""

    def check(scene):
        assert sorted(len(scene.outcomes[name]) for name in ("one", "two")) == [0, 1]
        assert grants(scene) == 1

    seen = explore(
        setup=accepted,
        actors={name: lambda scene: jobs.claim.call(scene.workspace, "w", ["t"], 1) for name in ("one", "two")},
        always=check,
    )
    assert seen.interleavings >= 4


def test_two_claims_under_one_key(explore):
    """A claim repeated while it is still in flight takes nothing of its own."""

    def plant(stage):
        return [accepted(stage) for _ in range(2)]

    def check(scene):
        one, two = scene.outcomes["one"], scene.outcomes["two"]
        assert [(job.id, job.fence) for job in one] == [(job.id, job.fence) for job in two]
        assert grants(scene) == 1

    seen = explore(
        setup=plant,
        actors={
            name: lambda scene: jobs.claim.call(scene.workspace, "w", ["t"], 1, key="k") for name in ("one", "two")
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def test_two_submissions_of_one_key(explore):
    """Twins of a unique key become one job."""

    def check(scene):
        one, two = scene.outcomes["one"], scene.outcomes["two"]
        assert one.id == two.id
        assert {type(one), type(two)} == {jobs.Submitted, jobs.Existing}

    seen = explore(
        setup=lambda _: None,
        actors={
            name: lambda scene: jobs.submit.call(scene.workspace, Submission("t", b"1", unique_key="k"))
            for name in ("one", "two")
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def test_a_submission_and_the_end_of_its_keys_holder(explore):
    """A key that is being set free answers with the old job or admits the new one, never neither."""

    def check(scene):
        made = scene.outcomes["anna"]
        if isinstance(made, jobs.Submitted):
            assert made.id != scene.facts.id
        else:
            assert made.id == scene.facts.id

    seen = explore(
        setup=lambda stage: running(stage, input=b"1", unique_key="k"),
        actors={
            "worker": lambda scene: said(scene, scene.facts, Complete()),
            "anna": lambda scene: jobs.submit.call(scene.workspace, Submission("t", b"1", unique_key="k")),
        },
        always=check,
    )
    assert seen.interleavings >= 8
    assert {type(outcomes["anna"]).__name__ for outcomes in seen.outcomes} == {"Submitted", "Existing"}


def test_a_limit_holds_between_claims(explore):
    """Two claims of jobs of one key start as many as it has slots."""

    def plant(stage):
        for _ in range(2):
            accepted(stage, concurrency_key="k")

    def check(scene):
        assert sum(len(scene.outcomes[name]) for name in ("one", "two")) == 1
        assert slots(scene) == 1

    seen = explore(
        setup=plant,
        actors={name: lambda scene: jobs.claim.call(scene.workspace, "w", ["t"], 1) for name in ("one", "two")},
        always=check,
    )
    assert seen.interleavings >= 6


def test_a_slot_is_given_back_once(explore):
    """The sweep, which passes over what somebody has locked, and a late release of one owner give back one slot."""

    def check(scene):
        scene.play(jobs.lapse.call(scene.workspace, 10))
        assert slots(scene) == 0
        assert state(scene, scene.facts.id) == "accepted"

    seen = explore(
        setup=lambda stage: running(stage, concurrency_key="k"),
        actors={
            "worker": lambda scene: said(scene, scene.facts, Release()),
            "sweep": lambda scene: jobs.lapse.call(scene.workspace, 10),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert seen.interleavings >= 10


def test_an_old_owner_gives_back_no_slot_of_its_successor(explore):
    """A release that comes late, with other words, leaves the slot of whoever claimed since."""

    def plant(stage):
        old = running(stage, concurrency_key="k")
        stage.play(said(stage, old, Release()))
        return old

    def check(scene):
        assert scene.outcomes["old"] == StaleFence(f"job:{scene.facts.id}")
        assert (len(scene.outcomes["new"]), slots(scene)) == (1, 1)

    seen = explore(
        setup=plant,
        actors={
            "old": lambda scene: said(scene, scene.facts, Release(1)),
            "new": lambda scene: jobs.claim.call(scene.workspace, "w", ["t"], 1),
        },
        always=check,
    )
    assert seen.interleavings >= 8


def test_a_retry_and_a_purge(explore):
    """Stages outlive the purge of the job that made them, if its retry was admitted."""

    def plant(stage):
        stage.play(jobs.configure.call(stage.workspace, "t", jobs.Configuration(retention_seconds=1e-6), None))
        job = running(stage)
        stage.play(jobs.checkpoint.call(stage.workspace, job.id, job.fence, "s"))
        stage.play(said(stage, job, Complete()))
        return SimpleNamespace(old=job, new=Submission("t").id)

    def check(scene):
        made = scene.outcomes["anna"]
        if isinstance(made, jobs.Retried):
            kept = scene.play(jobs.checkpoint_of.call(scene.workspace, made.id, "s"))
            assert isinstance(kept, jobs.Checkpoint)
        else:
            left = "select count(*) from steadhold.checkpoints where workspace = %s"
            assert scene.conn.execute(left, [scene.workspace]).fetchone() == (0,)

    seen = explore(
        setup=plant,
        actors={
            "anna": lambda scene: jobs.retry.call(scene.workspace, scene.facts.old.id, scene.facts.new),
            "purge": lambda scene: jobs.forget.call(scene.workspace, 10),
        },
        always=check,
    )
    assert seen.interleavings >= 8
