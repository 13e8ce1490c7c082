"""commits against PostgreSQL: all of it or nothing, whoever commits afterwards."""

from __future__ import annotations

import pytest

from steadhold import commits, jobs, locks, operations, state
from steadhold.commits import Committed, Refused, RepeatedName
from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Call, operation
from steadhold.play.caller import play
from tests.commits import desk
from tests.play.test_caller import ASYNC, SYNC


@pytest.fixture
def committed_play(committed):
    """Play a call in a transaction of its own."""

    def committed_play(call):
        with committed.transaction():
            return play(committed, call)

    return committed_play


def five(workspace, job, lock, *, third=None):
    """A commit of five changes under three conditions; `third` replaces the third change."""
    require = [
        locks.require.call(workspace, "deploy", lock.fence),
        desk.at(workspace, "config", 1),
        desk.at(workspace, "halt", None),
    ]
    apply = [
        desk.put(workspace, "a", b"1.10"),
        desk.put(workspace, "b", b"2", 1),
        third or desk.submitted(workspace, unique_key="k"),
        state.delete.call(workspace, "c", 1),
        desk.finished(workspace, job),
    ]
    return require, apply


@pytest.fixture
def scene(committed_play, workspace):
    """A running job, a held lock, and names that are there."""
    for name in ("config", "b", "c"):
        committed_play(desk.put(workspace, name))
    return desk.running(committed_play, workspace), committed_play(desk.lock(workspace, "deploy"))


def test_all_of_it(committed_play, workspace, scene):
    """Five changes of two rooms under three conditions, and what each came to."""
    require, apply = five(workspace, *scene)
    done = committed_play(desk.run(workspace, require, apply))
    assert isinstance(done, Committed)
    assert done.require == (None, None, None)
    made, replaced, submitted, deleted, settled = done.apply
    assert (made.revision, made.created, replaced.revision, deleted.revision) == (1, True, 2, 2)
    assert settled.state == "completed"
    assert committed_play(state.get.call(workspace, "a")).body == b"1.10"
    assert committed_play(state.get.call(workspace, "c")) == Missing(2)
    assert committed_play(jobs.get.call(workspace, submitted.id)).state == "accepted"
    assert committed_play(state.get.call(workspace, "halt")) == Missing(None)


STALE = FenceRef("lock:none", 1)
REFUSED = {
    "a condition on a name": (RevisionConflict(1), lambda w, job: desk.put(w, "config", b"9", 7)),
    "a name that is not there": (Missing(None), lambda w, job: desk.put(w, "x", b"9", 7)),
    "a stale fence": (StaleFence("lock:none"), lambda w, job: state.put.call(w, "x", b"9", None, [STALE])),
    "a job that is not there": (
        Missing(None),
        lambda w, job: jobs.settle.call(w, jobs.Settlement(new_id(), 1, jobs.ConfirmCancel())),
    ),
    "a rule": (
        jobs.CancelNotRequested,
        lambda w, job: jobs.settle.call(w, jobs.Settlement(job.id, job.fence, jobs.ConfirmCancel())),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refusal_leaves_nothing(committed, committed_play, database, workspace, scene, why):
    """What item 3 is refused for undoes items 1 and 2, in a transaction that commits."""
    wanted, third = REFUSED[why]
    other = desk.running(committed_play, workspace)
    with database.connect() as owner:
        before = desk.everything(owner, workspace)
        require, apply = five(workspace, *scene, third=third(workspace, other))
        refused = committed_play(desk.run(workspace, require, apply))
        assert (refused.list, refused.index) == ("apply", 2)
        assert refused.outcome == wanted or isinstance(refused.outcome, wanted)
        assert desk.everything(owner, workspace) == before


CONDITIONS = {
    "another revision": lambda w, job: desk.at(w, "b", 2),
    "presence": lambda w, job: desk.at(w, "none", 1),
    "absence": lambda w, job: desk.at(w, "b", None),
    "a lock's fence": lambda w, job: locks.require.call(w, "other", 1),
    "a job's fence": lambda w, job: commits.job.call(w, job.id, fence=99),
    "a job's revision": lambda w, job: commits.job.call(w, job.id, revision=99),
    "a job that is not there": lambda w, job: commits.job.call(w, new_id(), revision=1),
}


@pytest.mark.parametrize("which", CONDITIONS)
def test_a_false_condition_changes_nothing(committed_play, database, workspace, scene, which):
    """Each kind of condition, false: its room's refusal, where it stands, and nothing of the changes."""
    require, apply = five(workspace, *scene)
    require.insert(1, CONDITIONS[which](workspace, scene[0]))
    with database.connect() as owner:
        before = desk.everything(owner, workspace)
        refused = committed_play(desk.run(workspace, require, apply))
        assert isinstance(refused, Refused)
        assert (refused.list, refused.index) == ("require", 1)
        assert desk.everything(owner, workspace) == before


def test_the_first_refusal_is_told_and_a_stale_grant_before_all(conn, workspace):
    """In the order of the lists, conditions first; but whoever holds no grant is told only that."""

    def refused(require, apply):
        found = play(conn, desk.run(workspace, require, apply))
        return found.list, found.index

    put, at = desk.put, desk.at
    assert refused([], [put(workspace, "b", b"1", 1), put(workspace, "a", b"1", 1)]) == ("apply", 0)
    assert refused([at(workspace, "z", 1)], [put(workspace, "a", b"1", 1)]) == ("require", 0)
    stale = locks.require.call(workspace, "x", 1)
    assert refused([at(workspace, "a", 1), stale], [put(workspace, "b", b"1", 1)]) == ("require", 1)


def test_one_name_twice_is_refused(conn, workspace):
    """A list says what becomes of a thing once; a condition and a change of it are no repetition."""
    twice = play(conn, desk.run(workspace, (), [desk.put(workspace, "a"), desk.put(workspace, "a", b"2", 1)]))
    assert twice == RepeatedName("apply", 1, "a")
    assert state.get(conn, workspace, "a") == Missing(None)
    both = play(conn, desk.run(workspace, [desk.at(workspace, "a", None)], [desk.put(workspace, "a")]))
    assert both.apply[0].revision == 1
    assert play(conn, desk.run(workspace, [desk.at(workspace, "a", 1)], [desk.put(workspace, "a", b"2", 1)])).apply


def test_a_job_is_required_and_finished(conn, workspace):
    """A condition on a job's fence and revision holds beside the end of that job."""
    job = desk.running(lambda call: play(conn, call), workspace)
    require = [commits.job.call(workspace, job.id, fence=job.fence, revision=job.revision)]
    done = play(conn, desk.run(workspace, require, [desk.finished(workspace, job)]))
    assert done.apply[0].state == "completed"
    again = play(conn, desk.run(workspace, require, [desk.finished(workspace, job)]))
    assert (again.list, again.index, again.outcome) == ("require", 0, StaleFence(f"job:{job.id}"))


@pytest.mark.parametrize("first", ["the end", "the submission"])
def test_what_a_job_that_ends_answers_for_is_not_lost(conn, workspace, first):
    """A submission under the key of a job that the same commit ends would be new, or that one: neither is guessed."""

    def carry(call):
        return play(conn, call)

    carry(desk.submitted(workspace, unique_key="k"))
    (job,) = carry(jobs.claim.call(workspace, "w", ["t"], 1))
    end, submission = desk.finished(workspace, job), desk.submitted(workspace, unique_key="k")
    both = [end, submission] if first == "the end" else [submission, end]
    assert carry(desk.run(workspace, (), both)) == RepeatedName("apply", both.index(submission), job.id)
    assert carry(jobs.get.call(workspace, job.id)).state == "running"
    done = carry(desk.run(workspace, (), [end, desk.submitted(workspace, unique_key="another")]))
    assert isinstance(done.apply[1], jobs.Submitted)


@pytest.mark.parametrize("kind", SYNC)
def test_on_a_callers_connection(kind, dsn, workspace, committed_play):
    """Whatever the connection: done or refused, and then the caller commits."""
    with SYNC[kind](dsn) as conn:
        calls = [desk.put(workspace, "a"), desk.put(workspace, "b")]
        assert isinstance(commits.run(conn, workspace, apply=calls), Committed)
        calls = [desk.put(workspace, "c"), desk.put(workspace, "b", b"2", 7)]
        assert commits.run(conn, workspace, apply=calls) == Refused("apply", 1, RevisionConflict(1))
        state.put(conn, workspace, "own", b"1", None)
    assert [entry.name for entry in committed_play(state.names.call(workspace, "", "", 9))] == ["a", "b", "own"]


@pytest.mark.parametrize("kind", ASYNC)
async def test_on_a_callers_async_connection(kind, dsn, workspace, committed_play):
    """The same, awaited."""
    async with ASYNC[kind](dsn) as conn:
        calls = [desk.put(workspace, "a"), desk.put(workspace, "b")]
        assert isinstance(await commits.run(conn, workspace, apply=calls), Committed)
        calls = [desk.put(workspace, "c"), desk.put(workspace, "b", b"2", 7)]
        assert await commits.run(conn, workspace, apply=calls) == Refused("apply", 1, RevisionConflict(1))
        await state.put(conn, workspace, "own", b"1", None)
    assert [entry.name for entry in committed_play(state.names.call(workspace, "", "", 9))] == ["a", "b", "own"]


@operation
def broken(workspace, name):
    """Writes, and then does not know how to go on."""
    yield from state.put.plan(workspace, name, b"1", None)
    raise ZeroDivisionError


def test_an_item_that_raises_leaves_nothing_of_the_others(committed, committed_play, workspace):
    """An error in one item undoes all, also for a caller who catches it and commits."""
    calls = [desk.put(workspace, "a"), broken.call(workspace, "b")]
    with committed.transaction():
        with pytest.raises(ZeroDivisionError):
            commits.run(committed, workspace, apply=calls)
        state.put(committed, workspace, "own", b"1", None)
    assert [entry.name for entry in committed_play(state.names.call(workspace, "", "", 9))] == ["own"]


@pytest.mark.parametrize(
    "unfit, why",
    [
        (lambda w: {"apply": [desk.put("other", "a")]}, "of workspace 'other'"),
        (lambda w: {"apply": [jobs.claim.call(w, "w", ["t"], 1)]}, "a transaction of its own"),
        (lambda w: {"require": [state.get.call(w, "a")]}, "would not hold"),
        (lambda w: {"apply": [desk.put(w, str(n)) for n in range(65)]}, "at most 64"),
    ],
)
def test_what_no_commit_can_hold_is_told(conn, workspace, unfit, why):
    """Misuse is loud, and before anything is written."""
    with pytest.raises(ValueError, match=why):
        commits.run(conn, workspace, **unfit(workspace))


def test_under_an_operations_key(conn, workspace):
    """A commit takes effect once under a key; a refused one leaves the key free."""

    def once(call):
        return operations.once(conn, workspace, "key", operations.fingerprint("x"), call)

    refused = desk.run(workspace, (), [desk.put(workspace, "a", b"1", 3)])
    assert isinstance(once(refused), Refused)
    call = desk.run(workspace, (), [desk.put(workspace, "a")])
    assert isinstance(once(call), Committed)
    assert isinstance(once(call), operations.Replayed)
    assert state.get(conn, workspace, "a").revision == 1


def test_a_call_is_begun_again(conn, workspace):
    """A commit is a call like any other: it can be begun again, which lets a player fall back."""
    call = desk.run(workspace, (), [desk.put(workspace, "a")])
    assert isinstance(call, Call)
    assert call.single
    assert play(conn, call).apply[0].created
    assert play(conn, call) == Refused("apply", 0, RevisionConflict(1))
