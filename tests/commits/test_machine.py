"""commits against a plain dict: whatever is asked together, all of it happens or nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import commits, jobs, locks, state
from steadhold.commits import Committed, Refused, RepeatedName
from steadhold.jobs import Complete, Settlement
from steadhold.kit.ids import new_id
from steadhold.play.caller import play
from tests import chance
from tests.commits import desk

NAMES = st.sampled_from(["a", "b", "c"])
OFF = st.integers(min_value=-1, max_value=1)
KINDS = st.sampled_from(["create", "put", "put", "delete", "submit", "stage", "finish", "release"])
ITEMS = st.lists(st.tuples(KINDS, NAMES, OFF), min_size=1, max_size=5)
CONDITIONS = st.lists(st.tuples(st.sampled_from(["at", "absent", "job", "lock"]), NAMES, OFF), max_size=3)


@dataclass
class World:
    """What a workspace holds: revisions of names (a negative one is a tombstone's), jobs that run, locks, counts."""

    names: dict[str, int] = field(default_factory=dict)
    stages: set[tuple[str, str]] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    submitted: int = 0


class Commits(RuleBasedStateMachine):
    """Three names, three jobs, three locks, and a world that is copied for each commit, and kept where it succeeds."""

    conn: ClassVar[psycopg.Connection]
    new_workspace: ClassVar[Callable[[], str]]

    @initialize()
    def begin(self):
        self.workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
        self.world = World()
        self.jobs = {name: desk.running(lambda call: call_on(self.conn, call), self.workspace) for name in "abc"}
        self.fences = {name: call_on(self.conn, desk.lock(self.workspace, name)).fence for name in "abc"}

    @rule(require=CONDITIONS, apply=ITEMS)
    def commit(self, require, apply):
        world = copy.deepcopy(self.world)
        truths = [self.condition(world, *said) for said in require]
        changes = [self.change(world, *said) for said in apply]
        calls = [call for call, _ in truths], [call for call, _ in changes]
        outcome = commits.run(self.conn, self.workspace, *calls)
        wrong = [("require", n) for n, (_, fits) in enumerate(truths) if not fits]
        wrong += [("apply", n) for n, (_, fits) in enumerate(changes) if not fits]
        if isinstance(outcome, RepeatedName):
            assert len({name for _, name, _ in apply}) < len(apply) or len({said[1] for said in require}) < len(require)
            return
        if isinstance(outcome, Committed):
            assert wrong == []
            self.world = world
        else:
            assert isinstance(outcome, Refused)
            assert (outcome.list, outcome.index) in wrong or both_of_a_job(apply)

    def condition(self, world, kind, name, off):
        workspace, revision = self.workspace, world.names.get(name, 0)
        if kind == "at":
            expected = max(1, abs(revision) + off)
            return desk.at(workspace, name, expected), revision == expected
        if kind == "absent":
            return desk.at(workspace, name, None), revision <= 0
        if kind == "job":
            fence = self.jobs[name].fence + off * off
            call = commits.job.call(workspace, self.jobs[name].id, fence=fence)
            return call, off == 0 and name not in world.finished
        fits = off == 0 and name not in world.released
        return locks.require.call(workspace, name, self.fences[name] + off * off), fits

    def change(self, world, kind, name, off):
        return getattr(self, f"_{kind}")(world, name, off)

    def _create(self, world, name, _off):
        fits = world.names.get(name, 0) <= 0
        world.names[name] = abs(world.names.get(name, 0)) + 1
        return desk.put(self.workspace, name), fits

    def _put(self, world, name, off):
        revision = world.names.get(name, 0)
        expected = max(1, abs(revision) + off)
        world.names[name] = abs(revision) + 1
        return desk.put(self.workspace, name, b"2", expected), revision == expected

    def _delete(self, world, name, off):
        revision = world.names.get(name, 0)
        expected = max(1, abs(revision) + off)
        world.names[name] = -(abs(revision) + 1)
        return state.delete.call(self.workspace, name, expected), revision == expected

    def _submit(self, world, _name, _off):
        world.submitted += 1
        return desk.submitted(self.workspace, id=new_id()), True

    def _stage(self, world, name, off):
        job, fits = self.jobs[name], off == 0 and name not in world.finished
        world.stages.add((name, "s"))
        return jobs.checkpoint.call(self.workspace, job.id, job.fence + off * off, "s", b"1"), fits

    def _finish(self, world, name, off):
        job = self.jobs[name]
        world.finished.add(name)
        said = Settlement(job.id, job.fence + off * off, Complete(b"1"))
        return jobs.settle.call(self.workspace, said), off == 0

    def _release(self, world, name, off):
        world.released.add(name)
        return locks.release.call(self.workspace, name, self.fences[name] + off * off), off == 0

    @invariant()
    def as_the_dict_says(self):
        if not hasattr(self, "world"):
            return
        world, workspace = self.world, self.workspace
        listed = {entry.name: entry.revision for entry in state.names(self.conn, workspace, "", "", 9)}
        assert listed == {name: revision for name, revision in world.names.items() if revision > 0}
        for name in "abc":
            job = jobs.get(self.conn, workspace, self.jobs[name].id)
            assert (job.state == "completed") is (name in world.finished)
            assert job.stages == ((name, "s") in world.stages)
            assert locks.get(self.conn, workspace, name).held is (name not in world.released)
        accepted = jobs.jobs(self.conn, workspace, jobs.Filter(state="accepted"), None, 999)
        assert len(accepted.items) == world.submitted


def both_of_a_job(apply):
    """Whether a job's stage and its end are asked together: in which order is not decided, so it may be refused."""
    of = {kind: {name for said, name, _ in apply if said == kind} for kind in ("stage", "finish")}
    return bool(of["stage"] & of["finish"])


def call_on(conn, call):
    return play(conn, call)


def test_commits_behave_like_a_dict(conn, database):
    """Plans answer what a plain dict would, and a refused commit leaves it as it was."""
    bound = {"conn": conn, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(
        type("Bound", (Commits,), bound),
        settings=settings(max_examples=chance.of(40), stateful_step_count=20, deadline=None),
    )
