"""Completions in one statement under rivals: what it leaves undone, `settle_all` decides, as workers do it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, JobEnd, Settlement, Wait
from steadhold.jobs.settling import complete_all
from steadhold.kit.outcome import StaleFence
from tests.jobs.racing import FAR, PAST_LEASE, grants, history, preempted, running, said, state

pytestmark = pytest.mark.races


def completing(scene, claimed):
    """What a worker does: its first answer, and then that of the long way, which repeats it."""
    first = complete_all.call(scene.workspace, [Settlement(claimed.id, claimed.fence, Complete())])
    return [first, lambda _: said(scene, claimed, Complete())]


def test_a_sweep_never_overturns_a_completion(explore):
    def check(scene):
        if isinstance(scene.outcomes["worker"], StaleFence):
            assert state(scene, scene.facts.id) in ("accepted", "running")
        else:
            assert state(scene, scene.facts.id) == "completed"
            assert grants(scene) == 0
            assert history(scene, scene.facts.id) == ["accepted", "running", "completed"]

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: completing(scene, scene.facts),
            "sweep": lambda scene: jobs.lapse.call(scene.workspace, 10),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert {type(outcomes["worker"]).__name__ for outcomes in seen.outcomes} == {"Settled", "StaleFence"}


def test_a_lease_that_ends_while_its_owner_waits_for_the_row_completes_nothing(explore):
    """Somebody relies on the grant, so that its owner waits: what counts is the clock when it has the row."""

    def check(scene):
        assert isinstance(scene.outcomes["worker"], StaleFence) == (state(scene, scene.facts.id) == "running")

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: completing(scene, scene.facts),
            "stage": lambda scene: jobs.checkpoint.call(scene.workspace, scene.facts.id, scene.facts.fence, "s"),
        },
        always=check,
        clock_moves=PAST_LEASE,
    )
    assert {type(outcomes["worker"]).__name__ for outcomes in seen.outcomes} == {"Settled", "StaleFence"}


def test_an_end_and_a_wait(explore):
    """A job's end racing the wait for it never leaves the waiter asleep."""

    def plant(stage):
        return SimpleNamespace(other=running(stage, "u"), waiter=running(stage))

    def check(scene):
        scene.play(jobs.wake.call(scene.workspace, 10))
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.waiter.id, "go"))
        assert b'"completed"' in kept.result
        assert state(scene, scene.facts.waiter.id) != "waiting"
        assert state(scene, scene.facts.other.id) == "completed"

    actors = {
        "waiter": lambda scene: said(scene, scene.facts.waiter, Wait("go", JobEnd(scene.facts.other.id), FAR)),
        "other": lambda scene: completing(scene, scene.facts.other),
    }
    seen = preempted(explore, actors, setup=plant, always=check)
    assert {bool(outcomes["waiter"].woke) for outcomes in seen} == {True, False}


def test_cancel_and_complete(explore):
    def check(scene):
        assert scene.outcomes["worker"].state == state(scene, scene.facts.id) == "completed"
        assert scene.outcomes["anna"].outcome in ("requested", "too_late")
        history(scene, scene.facts.id)

    seen = explore(
        setup=running,
        actors={
            "worker": lambda scene: completing(scene, scene.facts),
            "anna": lambda scene: jobs.cancel.call(scene.workspace, scene.facts.id, "anna"),
        },
        always=check,
    )
    assert {outcomes["anna"].outcome for outcomes in seen.outcomes} == {"requested", "too_late"}
