"""What jobs refer to in context is there as long as they are."""

from __future__ import annotations

import msgspec
import pytest

from steadhold import blobs, context, jobs
from steadhold.jobs import Complete, Fail, Settlement, Submission
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.context.desk import put, refer
from tests.context.test_references import age

ONE = b"what was found"


@pytest.fixture
def named(desk):
    """A reference to bytes in context."""
    put(desk.conn, desk.workspace, "n", ONE)
    return refer("n", 1, ONE)


def fades(desk, text):
    """Whether the bytes of a reference go once its revision is not kept any more."""
    age(desk.conn, desk.workspace)
    blobs.prune(desk.conn, desk.workspace, 100)
    return not isinstance(context.resolve(desk.conn, desk.workspace, text), context.Content)


def running(desk, **more):
    desk.accepted("t", **more)
    return desk.claim("w", ["t"], 1)[0]


def owners(desk):
    return sorted(owner for (owner,) in desk.conn.execute("select owner from steadhold.context_pins").fetchall())


def test_a_job_keeps_what_it_is_given(desk, named):
    job = running(desk, input=None, input_ref=named, inputs=(named, "schedule:nightly"))
    assert owners(desk) == [f"job:{job.id}"]
    assert not fades(desk, named)
    assert (job.input_ref, msgspec.json.decode(job.inputs)) == (named, [named, "schedule:nightly"])


@pytest.mark.parametrize("more", [{"input": None, "input_ref": "x"}, {"inputs": ("s3://bucket/x", "x")}])
def test_a_job_is_given_nothing_that_is_not_there(desk, named, more):
    """Neither another digest, nor a path without a file, nor what is no reference at all."""
    for wrong in (refer("n", 1, b"other"), refer("n", 2, ONE), refer("m", 1, ONE), "context:n", "context:n@1#sha256:"):
        wanted = msgspec.structs.replace(
            Submission("t", id=jobs.Submission("t").id),
            **{
                k: wrong if k == "input_ref" else v if k == "input" else (named, *v[:1], wrong) for k, v in more.items()
            },
        )
        assert desk.submit(wanted) == context.Unresolved(wrong)
        assert desk.get(wanted.id) == Missing()
    assert owners(desk) == []


def test_bytes_that_are_not_kept_any_more_are_said_to_be_so(desk, named):
    assert fades(desk, named)
    assert desk.submit(Submission("t", None, input_ref=named)) == context.Unresolved(named, pruned=True)


def test_what_is_refused_of_one_changes_nothing_about_the_others(desk, named):
    good, bad = Submission("t", None, input_ref=named), Submission("t", None, input_ref="context:x")
    made, refused = jobs.submit_all(desk.conn, desk.workspace, [good, bad])
    assert (made.id, refused) == (good.id, context.Unresolved("context:x"))
    assert owners(desk) == [f"job:{good.id}"]


def test_a_result_is_kept_with_its_job(desk, named):
    job = running(desk)
    said = Settlement(job.id, job.fence, Complete(None, named))
    assert desk.settle(said).state == "completed"
    assert not fades(desk, named)
    again = desk.settle(said)
    assert (again.state, again.repeated, desk.get(job.id).job().result_ref) == ("completed", True, named)


def test_a_result_that_is_not_there_leaves_the_job_running(desk, named):
    job = running(desk)
    wrong = Complete(None, refer("n", 1, b"other"))
    assert desk.settle(Settlement(job.id, job.fence, wrong)) == context.Unresolved(wrong.result_ref)
    assert desk.get(job.id).state == "running"
    assert desk.settle(Settlement(job.id, job.fence, wrong, revision=99)) == RevisionConflict(job.revision)
    assert desk.settle(Settlement(job.id, job.fence + 1, wrong)) == StaleFence(f"job:{job.id}")
    assert desk.settle(Settlement(job.id, job.fence, Complete(None, named))).state == "completed"
    assert owners(desk) == [f"job:{job.id}"]


def test_a_stage_is_kept_with_the_line_of_its_job(desk, named, clock):
    """The retry sees it, also when the job that committed it is gone."""
    job = running(desk)
    wrong = refer("n", 2, ONE)
    assert desk.checkpoint(job.id, job.fence, "s", None, result_ref=wrong) == context.Unresolved(wrong)
    assert desk.checkpoint(job.id, job.fence, "s", None, result_ref=named).result_ref == named
    assert desk.checkpoint(job.id, job.fence, "s", None, result_ref=named).again
    desk.settle(Settlement(job.id, job.fence, Fail("x", klass="permanent")))
    clock.move(29 * 86_400)
    other = desk.retry(job.id, Submission("t").id)
    clock.move(2 * 86_400)
    assert jobs.forget(desk.conn, desk.workspace, 100) == 1
    assert desk.get(job.id) == Missing()
    assert not fades(desk, named)
    assert desk.checkpoint_of(other.id, "s").result_ref == named


def test_a_retry_keeps_what_the_job_before_it_was_given(desk, named, clock):
    job = running(desk, input=None, input_ref=named)
    desk.settle(Settlement(job.id, job.fence, Fail("x", klass="permanent")))
    clock.move(29 * 86_400)
    other = desk.retry(job.id, Submission("t").id)
    clock.move(2 * 86_400)
    assert jobs.forget(desk.conn, desk.workspace, 100) == 1
    assert owners(desk) == [f"job:{other.id}"]
    assert not fades(desk, named)


def test_what_a_job_relied_on_goes_with_it(desk, named, clock):
    job = running(desk, input=None, input_ref=named, inputs=(named,))
    desk.checkpoint(job.id, job.fence, "s", None, result_ref=named)
    desk.settle(Settlement(job.id, job.fence, Complete(None, named)))
    assert owners(desk) == [f"job:{job.id}", f"job:{job.id}/stages"]
    clock.move(31 * 86_400)
    assert jobs.forget(desk.conn, desk.workspace, 100) == 1
    assert owners(desk) == []
    assert fades(desk, named)
