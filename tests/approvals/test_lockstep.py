"""approvals in group commits: verbs that meet in one transaction answer as if they had come one after another."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from steadhold import approvals, jobs
from steadhold.approvals import AlreadyUsed, ApprovalEnded, Moved
from steadhold.db.pool import Pool
from steadhold.jobs import ApprovalEnd, Settlement, Wait
from tests.approvals.people import AGENT, ANNA, BERT, CARL, ONE, asked
from tests.jobs.test_lockstep import Flushes


@pytest.fixture
async def flushes(dsn, workspace):
    async with Pool(dsn, size=2) as pool:
        yield Flushes(pool, workspace)


async def ask(flushes, **kw):
    return (await flushes.one(approvals.request, asked(**kw), by=AGENT)).approval.id


def vote(flushes, id, by, decision="approve"):
    return approvals.vote.call(flushes.workspace, id, decision, ONE.hash, by=by)


def use(flushes, id, use_id):
    return approvals.use.call(flushes.workspace, id, ONE, use_id, by=AGENT)


async def test_the_votes_of_a_quorum_meet(flushes):
    """Two of three make the outcome, and the third is told it."""
    id = await ask(flushes, quorum=2)
    got = await flushes(*[vote(flushes, id, by) for by in (ANNA, BERT, CARL)])
    assert Counter(type(outcome) for outcome in got) == {Moved: 2, ApprovalEnded: 1}
    row = await flushes.one(approvals.get, id)
    assert (row.state, row.revision, [deed.revision for deed in row.deeds]) == ("approved", 4, [1, 2, 3])


async def test_a_vote_for_and_a_vote_against_meet(flushes):
    id = await ask(flushes)
    first, second = await flushes(vote(flushes, id, ANNA), vote(flushes, id, BERT, "reject"))
    assert first.approval.state == "approved"
    assert second == ApprovalEnded(id, "approved")


async def test_uses_meet(flushes):
    id = await ask(flushes)
    await flushes.one(approvals.vote, id, "approve", ONE.hash, by=ANNA)
    got = await flushes(*[use(flushes, id, f"u{n // 2}") for n in range(6)])
    assert [type(outcome) for outcome in got] == [Moved, Moved, *[AlreadyUsed] * 4]
    assert [outcome.repeated for outcome in got[:2]] == [False, True]


async def test_many_questions_are_asked_together(flushes):
    questions = [asked() for _ in range(20)]
    got = await flushes(*[approvals.request.call(flushes.workspace, each, by=AGENT) for each in questions])
    assert [outcome.approval.id for outcome in got] == [each.id for each in questions]


async def test_a_decision_and_the_wait_for_it_meet(flushes):
    """Whichever goes first, the job is told."""
    id, job = await ask(flushes), await flushes.running()
    wait = jobs.settle.call(flushes.workspace, Settlement(job.id, job.fence, Wait("go", ApprovalEnd(id))))
    settled, _ = await flushes(wait, vote(flushes, id, ANNA))
    if settled.state == "waiting":
        assert await flushes.one(jobs.wake, 10) == 1
    kept = await flushes.one(jobs.checkpoint_of, job.id, "go")
    assert json.loads(kept.result) == {"why": "happened", "approval": id, "state": "approved"}
