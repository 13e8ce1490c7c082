"""jobs that wait for an approval: told its outcome, whenever it comes, and never left asleep."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace

import pytest

from steadhold import approvals, events, jobs
from steadhold.jobs import ApprovalEnd, NothingToAwait, Signal, Wait
from steadhold.jobs.waiting import register
from steadhold.kit.plan import Call
from steadhold.worker.verdicts import StageFault
from steadhold.worker.waits import awaiting
from tests.approvals.people import AGENT, ANNA, HOUR, NOBODY, ONE, asked
from tests.approvals.people import Desk as People
from tests.jobs.racing import FAR, history, preempted, running, said, state


@pytest.fixture
def people(desk):
    """Those who ask and decide, on the connection of the desk."""
    return People(desk.conn, desk.workspace)


def told(desk, id, stage="go"):
    return json.loads(desk.checkpoint_of(id, stage).result)


@pytest.mark.parametrize(("decide", "outcome"), [("approve", "approved"), ("reject", "rejected")])
def test_a_job_is_told_the_outcome(desk, people, decide, outcome):
    job, approval = desk.running(), people.ask()
    assert desk.said(job, Wait("go", ApprovalEnd(approval))).state == "waiting"
    assert desk.wake(10) == 0
    getattr(people, decide)(approval)
    assert desk.wake(10) == 1
    assert desk.state(job.id) == "accepted"
    assert told(desk, job.id) == {"why": "happened", "approval": approval, "state": outcome}


def test_an_outcome_that_is_there_answers_at_once(desk, people):
    job, approval = desk.running(), people.ask()
    people.withdraw(approval, by=AGENT)
    settled = desk.said(job, Wait("go", ApprovalEnd(approval)))
    assert (settled.state, json.loads(settled.woke)["state"]) == ("running", "withdrawn")
    assert told(desk, job.id)["state"] == "withdrawn"


def test_votes_before_the_outcome_wake_nobody(desk, people, clock):
    job, approval = desk.running(), people.ask(quorum=2)
    desk.said(job, Wait("go", ApprovalEnd(approval)))
    people.approve(approval)
    clock.move(0.9 * HOUR)
    assert people.pass_time(10) == 1
    assert (desk.wake(10), desk.state(job.id)) == (0, "waiting")


def test_the_expiry_is_the_bound(desk, people, clock):
    """Without `until`: the approval's own sweep wakes the job."""
    job, approval = desk.running(), people.ask()
    desk.said(job, Wait("go", ApprovalEnd(approval)))
    clock.move(HOUR)
    assert (desk.wake(10), people.pass_time(10), desk.wake(10)) == (0, 1, 1)
    assert told(desk, job.id) == {"why": "happened", "approval": approval, "state": "expired"}


def test_a_wait_for_one_that_has_expired_unswept_is_woken_by_the_sweep(desk, people, clock):
    job, approval = desk.running(), people.ask(expires_in_seconds=5.0)
    clock.move(6)
    assert desk.said(job, Wait("go", ApprovalEnd(approval))).state == "waiting"
    assert (people.pass_time(10), desk.wake(10)) == (1, 1)
    assert told(desk, job.id)["state"] == "expired"


def test_a_bound_of_the_jobs_own(desk, people, clock):
    job, approval = desk.running(), people.ask()
    desk.said(job, Wait("go", ApprovalEnd(approval), clock.now().replace(microsecond=0)))
    clock.move(2)
    assert desk.wake(10) == 1
    assert told(desk, job.id) == {"why": "timed_out"}
    assert people.state(approval) == ("pending", None)


def test_nothing_to_wait_for(desk):
    job = desk.running()
    assert desk.said(job, Wait("go", ApprovalEnd(NOBODY))) == NothingToAwait(f"approval:{NOBODY}")
    with pytest.raises(ValueError, match="until"):
        Wait("go", Signal("x"))


def test_what_the_grant_does_wakes_nobody_again(desk, people):
    job, approval = desk.running(), people.ask()
    people.approve(approval)
    other = people.ask()
    desk.said(job, Wait("go", ApprovalEnd(other)))
    people.act(approval)
    assert desk.wake(10) == 0
    assert desk.state(job.id) == "waiting"


def test_what_a_handler_may_wait_for():
    """An approval needs no bound, and takes one; a signal needs one; one fact at a time."""
    assert awaiting("go", None, None, NOBODY, None, None) == Wait("go", ApprovalEnd(NOBODY))
    assert awaiting("go", None, None, NOBODY, None, 5).until is not None
    for wrong in ((None, None, NOBODY, FAR, 5), ("s", None, None, None, None), ("s", None, NOBODY, None, 5)):
        with pytest.raises(StageFault, match="exactly one"):
            awaiting("go", *wrong)
    with pytest.raises(StageFault, match="cannot wait"):
        awaiting("go", None, None, "no id", None, None)


async def test_over_http(house):
    job = await house.claimed()
    refused = await house.settled(job, state="waiting", stage="go", **{"for": {"approval": NOBODY}})
    assert (refused.status, refused.json["code"]) == (422, "unknown_subject")
    question = asked()
    await house.player.play(approvals.request.call(house.workspace, question, by=AGENT))
    waits = await house.settled(job, state="waiting", stage="go", **{"for": {"approval": question.id}})
    assert (waits.status, waits.json["state"]) == (200, "waiting")
    malformed = await house.settled(job, state="waiting", stage="go", **{"for": {"approval": "x"}})
    assert (malformed.status, malformed.json["code"]) == (400, "bad_member")


def plant(stage):
    question = asked(expires_in_seconds=10.0)  # before the lease ends
    stage.play(approvals.request.call(stage.workspace, question, by=AGENT))
    return SimpleNamespace(job=running(stage), id=question.id)


def waiting(scene):
    return said(scene, scene.facts.job, Wait("go", ApprovalEnd(scene.facts.id)))


def awake(scene):
    """The job goes on, and is told the outcome."""
    scene.play(jobs.wake.call(scene.workspace, 10))
    outcome = scene.play(approvals.get.call(scene.workspace, scene.facts.id)).state
    kept = scene.play(jobs.checkpoint_of.call(scene.workspace, scene.facts.job.id, "go"))
    assert json.loads(kept.result)["why"] == "happened"
    assert json.loads(kept.result)["state"] == outcome != "pending"
    assert state(scene, scene.facts.job.id) == ("running" if scene.outcomes["worker"].woke else "accepted")
    history(scene, scene.facts.job.id)


RIVALS = {
    "vote": lambda scene: approvals.vote.call(scene.workspace, scene.facts.id, "approve", ONE.hash, by=ANNA),
    "withdraw": lambda scene: approvals.withdraw.call(scene.workspace, scene.facts.id, by=AGENT),
    "time": lambda scene: approvals.pass_time.call(scene.workspace, 10),
}


@pytest.mark.races
@pytest.mark.parametrize("rival", RIVALS)
def test_an_outcome_that_comes_between_any_two_steps_of_the_wait(explore, rival):
    """And a wait that comes between any two steps of the outcome."""
    seen = preempted(
        explore,
        {"worker": waiting, "rival": RIVALS[rival]},
        setup=plant,
        always=awake,
        clock_moves={"past the expiry": 11} if rival == "time" else None,
        first=["past the expiry"] if rival == "time" else [],
    )
    assert len(seen) >= 14
    assert {bool(outcomes["worker"].woke) for outcomes in seen} == {True, False}


@pytest.mark.races
def test_a_head_that_moves_while_the_wait_is_registered(explore):
    """The two parts that touch the head, in every order: what is told is not missed."""

    def told_now(scene):
        head = events.Head(f"approval:{scene.facts.id}", 2, "rejected", open=False)
        return events.move(scene.workspace, [head])

    def registered(scene):
        now = scene.conn.execute("select steadhold.clock()").fetchone()[0]
        wait = events.Waiting(scene.facts.job.id, "go", f"approval:{scene.facts.id}", now + timedelta(days=1), b"{}")
        return register(scene.workspace, [wait])

    def check(scene):
        assert scene.play(plan_call(scene, events.due(scene.workspace, 10))) == [scene.facts.job.id]

    seen = explore(setup=plant, actors={"worker": registered, "rival": told_now}, always=check)
    assert seen.interleavings >= 6
    assert seen.waits


def plan_call(scene, plan):
    return Call(lambda: plan, scene.workspace, "due")
