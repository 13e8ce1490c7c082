"""jobs under rivals: owners, sweeps and cancellation, with the clock moved past the lease at every boundary."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, Release
from steadhold.kit.outcome import StaleFence
from tests.jobs.racing import PAST_LEASE, accepted, history, running, said, state

pytestmark = pytest.mark.races


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
