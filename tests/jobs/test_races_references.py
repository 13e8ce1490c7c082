"""What jobs refer to, under those who let it go: whoever was told that it is relied on finds it."""

from __future__ import annotations

import pytest

from steadhold import blobs, context, jobs
from steadhold.context import Content, Pruned, Unresolved
from steadhold.jobs import Complete, Submission
from tests.context.test_races import NAMED, aged, outdate
from tests.jobs.racing import accepted, preempted, running, said, state

pytestmark = pytest.mark.races


def gone(scene):
    """Who writes another revision, and whoever prunes what nobody needs."""
    return [outdate.call(scene.workspace), blobs.prune.call(scene.workspace, 10)]


def kept(scene, *, relied):
    """Its bytes are there exactly where somebody was told so."""
    scene.play(blobs.prune.call(scene.workspace, 10))
    found = scene.play(context.resolve.call(scene.workspace, NAMED))
    assert isinstance(found, Content) if relied else found == Pruned(None)


def test_a_completion_and_a_prune_cannot_miss_each_other(explore):
    def plant(stage):
        aged(stage)
        return running(stage)

    def check(scene):
        done = scene.outcomes["worker"]
        if isinstance(done, Unresolved):
            assert (done, state(scene, scene.facts.id)) == (Unresolved(NAMED, pruned=True), "running")
        else:
            assert (done.state, state(scene, scene.facts.id)) == ("completed", "completed")
        kept(scene, relied=not isinstance(done, Unresolved))

    seen = preempted(
        explore,
        setup=plant,
        actors={"worker": lambda scene: said(scene, scene.facts, Complete(None, NAMED)), "prune": gone},
        always=check,
    )
    assert {type(outcomes["worker"]).__name__ for outcomes in seen} == {"Settled", "Unresolved"}


def test_an_admission_and_a_prune_cannot_miss_each_other(explore):
    def check(scene):
        made = scene.outcomes["admit"]
        kept(scene, relied=not isinstance(made, Unresolved))

    seen = preempted(
        explore,
        setup=aged,
        actors={
            "admit": lambda scene: jobs.submit.call(scene.workspace, Submission("t", None, input_ref=NAMED)),
            "prune": gone,
        },
        always=check,
    )
    assert {type(outcomes["admit"]).__name__ for outcomes in seen} == {"Submitted", "Unresolved"}


def test_a_retry_relies_on_what_a_purge_of_its_job_lets_go(explore):
    """The retry keeps the job before it, or comes too late for it; its own input is there in any case."""

    def plant(stage):
        aged(stage)
        id = accepted(stage, input=None, input_ref=NAMED)
        stage.play(jobs.cancel.call(stage.workspace, id, "anna"))
        for call in gone(stage):
            stage.play(call)
        return id

    def check(scene):
        kept(scene, relied=isinstance(scene.outcomes["retry"], jobs.Retried))

    again = Submission("t").id
    seen = preempted(
        explore,
        setup=plant,
        actors={
            "retry": lambda scene: jobs.retry.call(scene.workspace, scene.facts, again),
            "purge": lambda scene: jobs.forget.call(scene.workspace, 10, kept_seconds=0.0),
        },
        always=check,
    )
    assert {type(outcomes["retry"]).__name__ for outcomes in seen} == {"Retried", "Missing"}
