"""What a schedule gives its jobs from context is there when it is put, and stays until it gives it no more."""

from __future__ import annotations

import pytest

from steadhold import blobs, context, jobs, schedules
from steadhold.context import Content, Pruned, Unresolved
from steadhold.kit.outcome import Missing
from steadhold.schedules import Written
from tests.context.desk import put, refer
from tests.context.test_races import NAMED, aged
from tests.context.test_references import age
from tests.jobs.racing import preempted
from tests.jobs.test_races_references import gone, kept
from tests.schedules.conftest import spec

ONE = b"the query"


@pytest.fixture
def named(conn, workspace):
    put(conn, workspace, "n", ONE)
    return refer("n", 1, ONE)


def given(*inputs, **more):
    return spec(job=schedules.Job("t", inputs=inputs, **more))


def stays(conn, workspace, text):
    """Whether the bytes of a reference stay once its revision is not kept any more."""
    blobs.prune(conn, workspace, 100)
    return isinstance(context.resolve(conn, workspace, text), Content)


def test_a_schedule_keeps_what_it_gives_its_jobs_until_it_gives_it_no_more(conn, workspace, named):
    made = schedules.put(conn, workspace, "s", given(named, input=b"null", input_ref=named), None)
    age(conn, workspace)
    assert stays(conn, workspace, named)
    paused = schedules.pause(conn, workspace, "s")
    assert (made.schedule.revision, stays(conn, workspace, named)) == (1, True)
    changed = schedules.put(conn, workspace, "s", given(), paused.schedule.revision)
    assert isinstance(changed, Written)
    assert not stays(conn, workspace, named)
    assert context.resolve(conn, workspace, named) == Pruned(None)


def test_a_schedule_that_is_deleted_keeps_nothing(conn, workspace, named):
    schedules.put(conn, workspace, "s", given(named), None)
    age(conn, workspace)
    assert stays(conn, workspace, named)
    schedules.delete(conn, workspace, "s", 1)
    assert not stays(conn, workspace, named)


def test_a_schedule_gives_nothing_that_is_not_there(conn, workspace, named):
    for wrong in (refer("n", 1, b"other"), refer("m", 1, ONE), "context:n"):
        assert schedules.put(conn, workspace, "s", given(named, wrong), None) == Unresolved(wrong)
        assert schedules.get(conn, workspace, "s") == Missing(None)


def test_a_run_gets_what_the_schedule_kept(conn, workspace, named):
    schedules.put(conn, workspace, "s", given(named), None)
    age(conn, workspace)
    run = schedules.trigger(conn, workspace, "s", "now").run
    assert (run.outcome, run.reason) == ("waiting", None)
    schedules.delete(conn, workspace, "s", 1)
    assert stays(conn, workspace, named), "the job keeps its own"
    job = jobs.get(conn, workspace, run.job_id)
    assert named.encode() in bytes(job.inputs)


@pytest.mark.races
def test_a_put_and_a_prune_cannot_miss_each_other(explore):
    seen = preempted(
        explore,
        setup=aged,
        actors={"put": lambda scene: schedules.put.call(scene.workspace, "s", given(NAMED), None), "prune": gone},
        always=lambda scene: kept(scene, relied=isinstance(scene.outcomes["put"], Written)),
    )
    assert {type(outcomes["put"]).__name__ for outcomes in seen} == {"Written", "Unresolved"}
