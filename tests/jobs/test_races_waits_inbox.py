"""jobs that wait for an inbox, under rivals: whatever comes just before or after the wait is not missed."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from steadhold import inboxes, jobs
from steadhold.jobs import InboxEvent, Match, NothingToAwait, Wait, sweeping
from tests.jobs.racing import FAR, history, preempted, running, said, state
from tests.jobs.test_waits_inbox import event

pytestmark = pytest.mark.races


def plant(stage):
    stage.play(inboxes.put.call(stage.workspace, "a", inboxes.Retention(), None))
    box = stage.play(inboxes.get.call(stage.workspace, "a"))
    return SimpleNamespace(job=running(stage), epoch=box.epoch, revision=box.revision)


def waiting(scene, after=0):
    return said(scene, scene.facts.job, Wait("go", InboxEvent("a", scene.facts.epoch, after), FAR))


def awake(scene):
    """The job goes on: at once, or once the sweep has looked."""
    scene.play(sweeping.attend.call(scene.workspace, 10))
    kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.job.id, "go"))
    assert json.loads(kept.result)["state"] in {"event", "deleted"}
    assert state(scene, scene.facts.job.id) == ("running" if scene.outcomes["worker"].woke else "accepted")
    history(scene, scene.facts.job.id)


RIVALS = {
    "append": lambda scene: inboxes.append.call(scene.workspace, "a", [event("k")]),
    "delete": lambda scene: inboxes.delete.call(scene.workspace, "a", scene.facts.revision),
}


@pytest.mark.parametrize("rival", RIVALS)
def test_what_comes_between_any_two_steps_of_the_wait_is_not_missed(explore, rival):
    def check(scene):
        if isinstance(scene.outcomes["worker"], NothingToAwait):
            assert rival == "delete"
        else:
            awake(scene)

    seen = preempted(explore, {"worker": waiting, "rival": RIVALS[rival]}, setup=plant, always=check)
    assert len(seen) >= 14


def test_a_sweep_that_finds_nobody_while_somebody_begins_to_wait(explore):
    """The last waiter goes, the sweep ends the watch, a new one begins: its watch stands, and its event wakes it."""

    def planted(stage):
        facts = plant(stage)
        facts.gone = running(stage)
        stage.play(said(stage, facts.gone, Wait("go", InboxEvent("a", facts.epoch, 0, Match(type="never")), FAR)))
        stage.play(jobs.cancel.call(stage.workspace, facts.gone.id, "anna"))
        stage.play(inboxes.append.call(stage.workspace, "a", [event("before")]))
        return facts

    def check(scene):
        scene.play(inboxes.append.call(scene.workspace, "a", [event("after")]))
        scene.play(sweeping.attend.call(scene.workspace, 10))
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.job.id, "go"))
        assert json.loads(kept.result)["sequence"] == 2

    seen = preempted(
        explore,
        {
            "worker": lambda scene: said(
                scene, scene.facts.job, Wait("go", InboxEvent("a", scene.facts.epoch, 1), FAR)
            ),
            "sweep": lambda scene: sweeping.attend.call(scene.workspace, 10),
        },
        setup=planted,
        always=check,
    )
    assert len(seen) >= 10


def test_two_sweeps_wake_a_job_once(explore):
    def planted(stage):
        facts = plant(stage)
        stage.play(said(stage, facts.job, Wait("go", InboxEvent("a", facts.epoch, 0), FAR)))
        stage.play(inboxes.append.call(stage.workspace, "a", [event("k")]))
        return facts

    def check(scene):
        assert history(scene, scene.facts.job.id)[-2:] == ["waiting", "accepted"]
        scene.play(sweeping.attend.call(scene.workspace, 10))
        assert scene.play(sweeping.attend.call(scene.workspace, 10)) == 0

    actors = {name: lambda scene: sweeping.attend.call(scene.workspace, 10) for name in ("one", "two")}
    assert len(preempted(explore, actors, setup=planted, always=check)) >= 6
