"""A job waits until an effect is not open, and neither misses the other."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from steadhold import effects, jobs
from steadhold.access import Actor
from steadhold.effects import Intent
from steadhold.jobs import EffectEnd, Settlement, Wait
from steadhold.jobs.outcomes import NothingToAwait
from steadhold.worker import StageFault
from steadhold.worker.waits import awaiting
from tests.jobs.racing import preempted, said, state
from tests.jobs.racing import running as running_job

BY = Actor("w", None)
UNTIL = datetime(2030, 1, 1, tzinfo=UTC)
DIGEST = "sha256:" + "a" * 64


def begun(desk, id="e", **kw):
    args = desk.conn, desk.workspace
    effects.plan(*args, Intent(id, "charge", "venue", DIGEST, **kw), by=BY)
    effects.initiate(*args, id, by=BY)
    return id


def tells(desk, id, execution):
    effects.outcome(desk.conn, desk.workspace, id, execution, by=BY)


def waits(desk, job, id="e", until=UNTIL):
    return desk.settle(Settlement(job.id, job.fence, Wait("paid", EffectEnd(id), until)))


def running(desk):
    desk.accepted("pay")
    return desk.claim("w", ["pay"], 1)[0]


def told(desk, job):
    return json.loads(desk.checkpoint_of(job.id, "paid").result)


@pytest.mark.parametrize("execution", ["succeeded", "failed"])
def test_the_outcome_wakes_the_job(desk, execution):
    job, id = running(desk), begun(desk)
    assert waits(desk, job, id).state == "waiting"
    tells(desk, id, "unknown")
    assert desk.wake(10) == 0
    tells(desk, id, execution)
    assert desk.wake(10) == 1
    assert desk.get(job.id).state == "accepted"
    assert told(desk, job) == {"why": "happened", "effect": id, "state": execution}


def test_what_is_decided_already_is_answered_at_once(desk):
    job, id = running(desk), begun(desk)
    tells(desk, id, "succeeded")
    settled = waits(desk, job, id)
    assert (settled.state, json.loads(settled.woke)["state"]) == ("running", "succeeded")


def test_a_wait_ends_by_its_bound_and_needs_one(desk, clock):
    job, id = running(desk), begun(desk)
    with pytest.raises(ValueError, match="until"):
        Wait("paid", EffectEnd(id))
    assert waits(desk, job, id, clock.now().replace(microsecond=0)).state == "waiting"
    clock.move(2)
    assert desk.wake(10) == 1
    assert told(desk, job) == {"why": "timed_out"}


def test_what_is_not_there_is_not_waited_for(desk):
    assert waits(desk, running(desk), "none") == NothingToAwait("effect:none")


def test_a_handler_says_it_in_words():
    assert awaiting("paid", None, None, None, UNTIL, None, None, "e") == Wait("paid", EffectEnd("e"), UNTIL)
    with pytest.raises(StageFault, match="exactly one of until"):
        awaiting("paid", None, None, None, None, None, None, "e")
    with pytest.raises(StageFault, match="exactly one of signal"):
        awaiting("paid", "s", None, None, UNTIL, None, None, "e")


@pytest.mark.races
def test_an_outcome_that_comes_between_any_two_steps_of_the_wait(explore):
    """And a wait that comes between any two steps of the outcome: the job goes on, and is told it."""

    def plant(stage):
        stage.play(effects.plan.call(stage.workspace, Intent("e", "charge", "venue", DIGEST), by=BY))
        stage.play(effects.initiate.call(stage.workspace, "e", by=BY))
        return running_job(stage)

    def check(scene):
        scene.play(jobs.wake.call(scene.workspace, 10))
        kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.id, "paid"))
        assert json.loads(kept.result) == {"why": "happened", "effect": "e", "state": "succeeded"}
        assert state(scene, scene.facts.id) == ("running" if scene.outcomes["worker"].woke else "accepted")

    actors = {
        "worker": lambda scene: said(scene, scene.facts, Wait("paid", EffectEnd("e"), UNTIL)),
        "rival": lambda scene: effects.outcome.call(scene.workspace, "e", "succeeded", by=BY),
    }
    seen = preempted(explore, actors, setup=plant, always=check)
    assert len(seen) >= 14
    assert {bool(outcomes["worker"].woke) for outcomes in seen} == {True, False}
