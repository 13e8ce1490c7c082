"""commits under rivals: every interleaving with whoever would make a condition false, and of two that cross."""

from __future__ import annotations

import pytest

from steadhold import approvals, commits, context, events, jobs, locks, state
from steadhold.approvals import Artifact, Asked, By
from steadhold.commits import Committed, Refused
from steadhold.events import Happened
from steadhold.jobs import Complete, Settlement
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing, StaleFence
from tests.commits import desk

pytestmark = pytest.mark.races


class Facts:
    """What a commit of five changes stands on."""

    def __init__(self, stage):
        for name in ("config", "b", "c"):
            stage.play(desk.put(stage.workspace, name))
        self.job, self.other = (desk.running(stage.play, stage.workspace) for _ in range(2))
        self.lock = stage.play(desk.lock(stage.workspace, "deploy"))


def five(scene):
    """Five changes under each kind of condition."""
    workspace, facts = scene.workspace, scene.facts
    other = facts.other
    return desk.run(
        workspace,
        [
            locks.require.call(workspace, "deploy", facts.lock.fence),
            commits.job.call(workspace, other.id, fence=other.fence, revision=other.revision),
            desk.at(workspace, "config", 1),
            desk.at(workspace, "halt", None),
        ],
        [
            desk.put(workspace, "a"),
            desk.put(workspace, "b", b"2", 1),
            state.delete.call(workspace, "c", 1),
            desk.submitted(workspace, unique_key="k"),
            desk.finished(workspace, facts.job),
        ],
    )


def all_or_nothing(scene):
    """Either everything of the five is there, or nothing."""
    done = isinstance(scene.outcomes["commit"], Committed)
    names = [entry.name for entry in scene.play(state.names.call(scene.workspace, "", "", 9))]
    assert ("a" in names, "c" in names) == (done, not done), names
    assert scene.play(state.get.call(scene.workspace, "b")).revision == 1 + done
    job = scene.play(jobs.get.call(scene.workspace, scene.facts.job.id))
    assert job.state == ("completed" if done else "running")
    listed = scene.play(jobs.jobs.call(scene.workspace, jobs.Filter(unique_key="k"), None, 9))
    assert len(listed.items) == done
    return done


RIVALS = {
    "a revision": (("require", 2), lambda scene: desk.put(scene.workspace, "config", b"2", 1)),
    "an absence": (("require", 3), lambda scene: desk.put(scene.workspace, "halt")),
    "a lock": (("require", 0), lambda scene: locks.release.call(scene.workspace, "deploy", scene.facts.lock.fence)),
    "a job": (("require", 1), lambda scene: desk.finished(scene.workspace, scene.facts.other)),
    "a job's revision": (("require", 1), lambda scene: jobs.cancel.call(scene.workspace, scene.facts.other.id, "x")),
    "what is put": (("apply", 1), lambda scene: desk.put(scene.workspace, "b", b"9", 1)),
    "what is created": (("apply", 0), lambda scene: desk.put(scene.workspace, "a")),
    "what is deleted": (("apply", 2), lambda scene: state.delete.call(scene.workspace, "c", 1)),
    "what is finished": (("apply", 4), lambda scene: jobs.settle.call(
        scene.workspace, Settlement(scene.facts.job.id, scene.facts.job.fence, Complete(b"7")))),
}  # fmt: skip
TAKEN_BY_BOTH = ("what is put", "what is created", "what is deleted", "what is finished")


@pytest.mark.parametrize("what", RIVALS)
def test_a_rival_on_each_condition(explore, what):
    """Whoever makes a condition false comes before the commit, which then changes nothing, or after it."""
    where, rival = RIVALS[what]

    def check(scene):
        outcome = scene.outcomes["commit"]
        trace = [line.who for line in scene.trace if line.step.lower() == "commit"]
        first = trace.index("commit") < trace.index("rival")
        if isinstance(outcome, Committed):
            assert first, "the condition was false at the commit"
        else:
            assert (outcome.list, outcome.index) == where
        if what not in TAKEN_BY_BOTH:
            assert all_or_nothing(scene) == isinstance(outcome, Committed)

    seen = explore(
        setup=Facts,
        actors={"commit": five, "rival": rival},
        always=check,
    )
    assert seen.waits
    assert {Committed, Refused} == {type(outcomes["commit"]) for outcomes in seen.outcomes}


def test_a_lease_that_ends_meanwhile(explore):
    """At whatever moment the grants end: the commit is whole, or nothing."""

    def check(scene):
        outcome = scene.outcomes["commit"]
        if isinstance(outcome, Refused):
            assert isinstance(outcome.outcome, StaleFence)
        all_or_nothing(scene)

    seen = explore(setup=Facts, actors={"commit": five}, always=check, clock_moves={"past the leases": 31})
    assert {Committed, Refused} == {type(outcomes["commit"]) for outcomes in seen.outcomes}


ARTIFACT = Artifact("release", "1", "sha256:" + "a" * 64)
ANNA, BERTA = By("anna", "service", ("*:*",)), By("berta", "person", ("*:*",))


def approved(stage):
    """An approval that may be used."""
    asked = Asked(new_id(), ARTIFACT, "deploy", "May I?", 60, approvers=("berta",))
    stage.play(approvals.request.call(stage.workspace, asked, by=ANNA))
    stage.play(approvals.vote.call(stage.workspace, asked.id, "approve", ARTIFACT.hash, by=BERTA))
    return asked.id


def happens(workspace, expected):
    return events.append.call(workspace, "k", expected, [Happened("a")])


def deletion(workspace):
    return state.delete.call(workspace, "k", 1)


ALONE = {
    "a lock": (
        lambda stage: stage.play(desk.lock(stage.workspace, "k")).fence,
        lambda scene: locks.require.call(scene.workspace, "k", scene.facts),
        lambda scene: locks.release.call(scene.workspace, "k", scene.facts),
    ),
    "a running job": (
        lambda stage: desk.running(stage.play, stage.workspace),
        lambda scene: commits.job.call(scene.workspace, scene.facts.id, fence=scene.facts.fence),
        lambda scene: desk.finished(scene.workspace, scene.facts),
    ),
    "a name that was deleted": (
        lambda stage: [stage.play(call) for call in (desk.put(stage.workspace, "k"), deletion(stage.workspace))],
        lambda scene: desk.at(scene.workspace, "k", None),
        lambda scene: desk.put(scene.workspace, "k"),
    ),
    "a file": (
        lambda stage: stage.play(context.put.call(stage.workspace, "k", b"1", None)),
        lambda scene: context.require.call(scene.workspace, "k", 1),
        lambda scene: context.put.call(scene.workspace, "k", b"2", 1),
    ),
    "a path without a file": (
        lambda stage: None,
        lambda scene: context.require.call(scene.workspace, "k", None),
        lambda scene: context.put.call(scene.workspace, "k", b"1", None),
    ),
    "an aggregate": (
        lambda stage: stage.play(happens(stage.workspace, None)),
        lambda scene: events.require.call(scene.workspace, "k", 1),
        lambda scene: happens(scene.workspace, 1),
    ),
    "an approval": (
        approved,
        lambda scene: approvals.require.call(scene.workspace, scene.facts, ARTIFACT),
        lambda scene: approvals.revoke.call(scene.workspace, scene.facts, by=ANNA),
    ),
    "an approval that is used": (
        approved,
        lambda scene: approvals.require.call(scene.workspace, scene.facts, ARTIFACT),
        lambda scene: approvals.use.call(scene.workspace, scene.facts, ARTIFACT, "u", by=ANNA),
    ),
}


@pytest.mark.parametrize("what", ALONE)
def test_a_condition_alone_holds_to_the_commit(explore, what):
    """Who makes it false waits for the commit that relies on it, or it changes nothing."""
    setup, condition, rival = ALONE[what]

    def check(scene):
        trace = [line.who for line in scene.trace if line.step.lower() == "commit"]
        done = isinstance(scene.outcomes["commit"], Committed)
        assert not done or trace.index("commit") < trace.index("rival"), "the condition was false at the commit"
        assert (scene.play(state.get.call(scene.workspace, "a")) != Missing(None)) is done

    seen = explore(
        setup=setup,
        actors={
            "commit": lambda scene: desk.run(scene.workspace, [condition(scene)], [desk.put(scene.workspace, "a")]),
            "rival": rival,
        },
        always=check,
    )
    assert seen.waits
    assert {Committed, Refused} == {type(outcomes["commit"]) for outcomes in seen.outcomes}


def both(stage):
    for name in "ab":
        stage.play(desk.put(stage.workspace, name))


def two_jobs(stage):
    return [desk.running(stage.play, stage.workspace) for _ in range(2)]


def two_locks(stage):
    return {name: stage.play(desk.lock(stage.workspace, name)).fence for name in "kl"}


def locked(scene, name):
    return locks.require.call(scene.workspace, name, scene.facts[name])


def given_back(scene, name):
    return locks.release.call(scene.workspace, name, scene.facts[name])


def finish(scene, n):
    return desk.finished(scene.workspace, scene.facts[n])


def owned(scene, n):
    return commits.job.call(scene.workspace, scene.facts[n].id, fence=scene.facts[n].fence)


def at_revision(scene, n):
    return commits.job.call(scene.workspace, scene.facts[n].id, revision=scene.facts[n].revision)


def run(require, apply):
    return lambda scene: desk.run(scene.workspace, [r(scene) for r in require], [a(scene) for a in apply])


def put(name, expected=None):
    return lambda scene: desk.put(scene.workspace, name, b"2", expected)


def at(name, expected):
    return lambda scene: desk.at(scene.workspace, name, expected)


def submitted(key):
    return lambda scene: desk.submitted(scene.workspace, unique_key=key)


CROSSING = {
    "each writes what the other relies on": (both, run([at("a", 1)], [put("b", 1)]), run([at("b", 1)], [put("a", 1)])),
    "each creates what the other requires to be absent": (
        lambda stage: None, run([at("a", None)], [put("b")]), run([at("b", None)], [put("a")]),
    ),
    "names in two orders": (both, run([], [put("a", 1), put("b", 1)]), run([], [put("b", 1), put("a", 1)])),
    "new names in two orders": (lambda stage: None, run([], [put("a"), put("b")]), run([], [put("b"), put("a")])),
    "keys of jobs in two orders": (
        lambda stage: None,
        run([], [submitted("k"), submitted("m")]),
        run([], [submitted("m"), submitted("k")]),
    ),
    "each finishes what the other relies on": (
        two_jobs,
        run([lambda s: owned(s, 0)], [lambda s: finish(s, 1)]),
        run([lambda s: owned(s, 1)], [lambda s: finish(s, 0)]),
    ),
    "each finishes the job whose revision the other relies on": (
        two_jobs,
        run([lambda s: at_revision(s, 0)], [lambda s: finish(s, 1)]),
        run([lambda s: at_revision(s, 1)], [lambda s: finish(s, 0)]),
    ),
    "each gives back the lock that the other relies on": (
        two_locks,
        run([lambda s: locked(s, "k")], [lambda s: given_back(s, "l")]),
        run([lambda s: locked(s, "l")], [lambda s: given_back(s, "k")]),
    ),
    "a name then a job, a job then a name": (
        lambda stage: [both(stage), *two_jobs(stage)][1:],
        run([], [put("a", 1), lambda s: finish(s, 0)]),
        run([], [lambda s: finish(s, 0), put("a", 1)]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", CROSSING)
def test_two_that_cross_never_deadlock(explore, how):
    """In every interleaving both are answered, none by a deadlock, and one of them at least is whole."""
    setup, one, two = CROSSING[how]

    def check(scene):
        answers = list(scene.outcomes.values())
        assert {type(answer) for answer in answers} <= {Committed, Refused}
        assert any(isinstance(answer, Committed) for answer in answers)

    seen = explore(setup=setup, actors={"one": one, "two": two}, always=check)
    assert seen.waits
