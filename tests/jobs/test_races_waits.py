"""jobs under rivals: waits, and what they are for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from steadhold import jobs
from steadhold.jobs import Complete, JobEnd, Signal, Wait
from tests.jobs.racing import FAR, history, running, said, state

pytestmark = pytest.mark.races


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
