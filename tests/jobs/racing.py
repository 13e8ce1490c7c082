"""What races of jobs are made of."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count, permutations

from steadhold import jobs
from steadhold.jobs import Settlement, Submission
from steadhold.testing.schedule import Incomplete

PAST_LEASE = {"past the lease": 31}
FAR = datetime(2999, 1, 1, tzinfo=UTC)


def accepted(stage, type="t", **kw):
    return stage.play(jobs.submit.call(stage.workspace, Submission(type, **kw))).id


def running(stage, type="t", **kw):
    id = accepted(stage, type, **kw)
    (claimed,) = stage.play(jobs.claim.call(stage.workspace, "w", [type], 1))
    assert claimed.id == id
    return claimed


def state(scene, id):
    return scene.play(jobs.get.call(scene.workspace, id)).state


def said(scene, claimed, what):
    return jobs.settle.call(scene.workspace, Settlement(claimed.id, claimed.fence, what))


def history(scene, id):
    found = scene.conn.execute(
        "select type, aggregate_revision from steadhold.events where workspace = %s and aggregate_id = %s"
        " order by aggregate_revision",
        [scene.workspace, f"job:{id}"],
    ).fetchall()
    assert [revision for _, revision in found] == list(range(1, len(found) + 1)), "revisions have a gap"
    return [type.removeprefix("job.") for type, _ in found]


def grants(scene):
    return scene.conn.execute(
        "select count(*) from steadhold.grants where workspace = %s and until is not null", [scene.workspace]
    ).fetchone()[0]


def slots(scene):
    return scene.conn.execute(
        "select count(*) from steadhold.job_slots where workspace = %s", [scene.workspace]
    ).fetchone()[0]


def preempted(explore, actors, *, first=(), **race):
    """Interrupt each of two actors by the whole of the other, at every boundary. Answers the outcomes of each schedule.

    For plans that are too long to be seen in every order. `first` are clock moves made before anything else.
    """
    seen = []
    for early, late in permutations(actors):
        for steps in count(1):
            order = {late: actors[late], early: actors[early]}
            try:
                seen += explore(actors=order, schedule=", ".join([*first, *[early] * steps]), **race).outcomes
            except Incomplete as over:
                if "cannot move" not in str(over):
                    raise
                break
    return seen
