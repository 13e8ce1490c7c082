"""A job shows the effects of its line, also when it has ended, and stays while one of them is open."""

from __future__ import annotations

import pytest

from steadhold import effects, jobs
from steadhold.access import Actor
from steadhold.effects import Intent
from steadhold.jobs.answers import job as shown

BY = Actor("worker", None)
DIGEST = "sha256:" + "a" * 64
LONG = 40 * 86_400


def charge(desk, job, id="charge-7"):
    """An effect of a running job that was begun."""
    args = desk.conn, desk.workspace
    wanted = Intent(id, "charge", "venue", DIGEST, job_id=job.id)
    assert effects.plan(*args, wanted, by=BY, job_fence=job.fence).effect.execution == "planned"
    effects.initiate(*args, id, by=BY, job_fence=job.fence)
    return id


def tells(desk, id, execution):
    return effects.outcome(desk.conn, desk.workspace, id, execution, by=BY)


def running(desk):
    desk.accepted("pay")
    return desk.claim("w", ["pay"], 1)[0]


def test_a_completed_job_with_an_open_effect_shows_both(desk):
    job = running(desk)
    charge(desk, job)
    desk.settle(jobs.Settlement(job.id, job.fence, jobs.Complete()))
    view = shown(desk.get(job.id))
    assert view.__struct_config__.tag == "completed"
    assert [(e.effect_id, e.execution, e.open) for e in view.effects] == [("charge-7", "initiated", True)]
    tells(desk, "charge-7", "succeeded")
    assert [(e.execution, e.open) for e in desk.get(job.id).effects] == [("succeeded", False)]


def test_a_retry_and_what_it_retries_show_the_same(desk):
    job = running(desk)
    charge(desk, job, "a")
    tells(desk, charge(desk, job, "b"), "failed")
    desk.settle(jobs.Settlement(job.id, job.fence, jobs.Fail("x", klass="permanent")))
    again = desk.retry(job.id, jobs.Submission("pay").id)
    (other,) = desk.claim("w", ["pay"], 1)
    listed = {view.id: view for view in desk.jobs(jobs.Filter(), None, 10).items}
    for id in (job.id, again.id):
        assert [effect.effect_id for effect in desk.get(id).effects] == ["a", "b"]
        assert listed[id].effects == desk.get(id).effects
    assert other.id == again.id
    desk.accepted("pay")
    assert [view.effects for view in desk.jobs(jobs.Filter(state="accepted"), None, 10).items] == [()]


@pytest.mark.parametrize("own", [None, 60.0])
def test_a_finished_job_with_an_open_effect_is_not_removed(desk, clock, own):
    """Whether its type has a window of its own or not. Others are, and it goes once nothing is open."""
    if own is not None:
        desk.configure("pay", jobs.Configuration(retention_seconds=own), None)
    job, plain = running(desk), running(desk)
    charge(desk, job)
    for each in (job, plain):
        desk.settle(jobs.Settlement(each.id, each.fence, jobs.Complete()))
    clock.move(LONG)
    assert desk.forget(1) + desk.forget(1) + desk.forget(1) == 1
    assert desk.get(job.id).effects[0].open
    tells(desk, "charge-7", "unknown")
    clock.move(LONG)
    assert desk.forget(10) == 0
    tells(desk, "charge-7", "succeeded")
    clock.move(3_601)
    assert desk.forget(10) == 1
    assert effects.get(desk.conn, desk.workspace, "charge-7").execution == "succeeded"
