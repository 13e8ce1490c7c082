"""jobs under rivals: claims, unique keys, slots, and what outlives a purge."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Release, Submission
from steadhold.kit.outcome import StaleFence
from tests.jobs.racing import PAST_LEASE, accepted, grants, running, said, slots, state

pytestmark = pytest.mark.races


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
