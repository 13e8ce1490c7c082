"""jobs against plain dicts: whatever order of verbs, sweeps and time, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from steadhold import jobs
from steadhold.jobs import Complete, Configuration, ConfirmCancel, Fail, Release, Retry, Settlement, Signal, Timer, Wait
from steadhold.kit.limits import LAPSES_MAX
from steadhold.kit.outcome import StaleFence
from tests import chance

LEASE, SPACING, ATTEMPTS = 100.0, 1_000.0, 4
FAR = datetime(2999, 1, 1, tzinfo=UTC)
SAID = st.sampled_from(
    [
        Complete(b"1"), Complete(b"2"), Fail("x"), Fail("x", klass="bug"), Fail("x", klass="interrupted"),
        ConfirmCancel(), Release(), Release(SPACING), Wait("nap", Timer(SPACING)), Wait("go", Signal("s"), FAR),
    ]
)  # fmt: skip
WHICH = st.integers(0, 9)
OLD = st.sampled_from([False, False, False, True])


@dataclass
class Model:
    """What a job is, as a person would write it down."""

    id: str
    key: str | None
    state: str = "accepted"
    revision: int = 1
    attempt: int = 0
    lapses: int = 0
    fences: list[int] = field(default_factory=list)
    due: float = 0.0
    lease: float = 0.0
    asked: bool = False
    stages: set[str] = field(default_factory=set)
    fresh_stage: bool = False
    signals: int = 0
    wait: tuple[str, float | None] | None = None
    memory: tuple[int, Any] | None = None

    @property
    def live(self):
        return self.state in ("accepted", "running", "waiting")

    def to(self, state, due=0.0):
        self.state, self.due, self.revision = state, due, self.revision + 1


class Work(RuleBasedStateMachine):
    conn: ClassVar[psycopg.Connection]
    clock: ClassVar[Any]
    new_workspace: ClassVar[Callable[[], str]]

    @initialize()
    def begin(self):
        self.workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
        configuration = Configuration(lease_seconds=LEASE, attempts_max=ATTEMPTS, retry=Retry(SPACING, SPACING, 0))
        jobs.configure(self.conn, self.workspace, "t", configuration, None)
        self.now, self.all = 0.0, []
        self.submit(None)
        self.claim(1)

    def play(self, verb, *args, **kw):
        return verb(self.conn, self.workspace, *args, **kw)

    def pick(self, which):
        return self.all[which % len(self.all)]

    @rule(key=st.sampled_from([None, "k"]))
    def submit(self, key):
        holder = next((job for job in self.all if key and job.key == key and job.live), None)
        made = self.play(jobs.submit, jobs.Submission("t", unique_key=key))
        if holder is None:
            assert isinstance(made, jobs.Submitted)
            self.all.append(Model(made.id, key))
        else:
            assert (made.id, made.state) == (holder.id, holder.state)

    @rule(limit=st.integers(1, 3))
    def claim(self, limit):
        ready = [job for job in self.all if job.state == "accepted" and job.due <= self.now]
        got = self.play(jobs.claim, "w", ["t"], limit)
        assert len(got) == min(limit, len(ready))
        for claimed in got:
            (job,) = [job for job in ready if job.id == claimed.id]
            assert claimed.fence > max(job.fences, default=0)
            job.fences.append(claimed.fence)
            job.attempt, job.lease, job.fresh_stage = job.attempt + 1, self.now + LEASE, False
            job.to("running")
            assert (claimed.attempt, claimed.revision) == (job.attempt, job.revision)
            assert {stage for stage, _ in claimed.stages} == job.stages

    @rule()
    def lease_runs_out(self):
        self.time_passes(150.0)
        self.lapse()
        self.claim(3)

    def owns(self, job, fence):
        return job.state == "running" and fence == job.fences[-1] and job.lease > self.now

    @precondition(lambda self: any(job.fences for job in self.all))
    @rule(which=WHICH, old=OLD)
    def heartbeat(self, which, old):
        job, fence = self.fenced(which, old=old)
        beaten = self.play(jobs.heartbeat, job.id, fence)
        if self.owns(job, fence):
            assert beaten.cancel_requested == job.asked
            job.lease = self.now + LEASE
        else:
            assert beaten == StaleFence(f"job:{job.id}")

    def fenced(self, which, *, old):
        """A job with a fence of its: mostly one that runs, under its current one."""
        if not any(job.state == "running" for job in self.all):
            self.submit(None)
            self.claim(3)
        claimed = [job for job in self.all if job.fences and (old or job.state == "running")]
        job = claimed[which % len(claimed)] if claimed else self.all[0]
        return job, (job.fences[0] if old else job.fences[-1])

    @precondition(lambda self: any(job.fences for job in self.all))
    @rule(which=WHICH, old=OLD, stage=st.sampled_from(["a", "b"]))
    def checkpoint(self, which, old, stage):
        job, fence = self.fenced(which, old=old)
        made = self.play(jobs.checkpoint, job.id, fence, stage, b"1")
        if not self.owns(job, fence):
            assert made == StaleFence(f"job:{job.id}")
            return
        assert made.again == (stage in job.stages)
        if not made.again:
            job.stages.add(stage)
            job.revision, job.lapses, job.fresh_stage = job.revision + 1, 0, True
        assert made.revision == job.revision

    @precondition(lambda self: any(job.fences for job in self.all))
    @rule(which=WHICH, old=OLD, said=SAID)
    def settle(self, which, old, said):
        job, fence = self.fenced(which, old=old)
        settled = self.play(jobs.settle, Settlement(job.id, fence, said))
        if self.owns(job, fence):
            self.said(job, fence, said, settled)
        elif job.memory == (fence, said):
            assert settled.repeated
        elif not job.live and fence == job.fences[-1]:
            assert settled == jobs.JobEnded(job.id, job.state)
        else:
            assert settled == StaleFence(f"job:{job.id}")

    def said(self, job, fence, said, settled):
        if isinstance(said, ConfirmCancel) and not job.asked:
            assert settled == jobs.CancelNotRequested(job.id)
            return
        if isinstance(said, Wait):
            if self.waited(job, said, settled):
                return
        else:
            self.ended(job, said)
        job.memory = (fence, said)
        assert (settled.state, settled.revision) == (job.state, job.revision)

    def ended(self, job, said):
        job.lapses = 0
        match said:
            case Complete():
                job.to("completed")
            case ConfirmCancel():
                job.to("cancelled")
            case Release(seconds):
                job.attempt -= 1
                job.to("cancelled" if job.asked else "accepted", self.now + seconds)
            case Fail(klass="bug"):
                job.to("failed")
            case Fail(klass="interrupted"):
                job.attempt -= 1
                job.to("cancelled" if job.asked else "accepted", self.now)
            case Fail() if job.attempt >= ATTEMPTS:
                job.to("failed")
            case Fail():
                job.to("cancelled" if job.asked else "accepted", self.now + SPACING)

    def waited(self, job, said, settled):
        """Whether the job runs on: refused, or answered at once."""
        if job.asked:
            assert settled == jobs.CancelStands(job.id)
            return True
        if said.stage in job.stages or (said.stage == "go" and job.signals):
            assert (settled.state, bool(settled.woke)) == ("running", True)
            if said.stage not in job.stages:
                job.signals, job.revision = job.signals - 1, job.revision + 1
                job.stages.add(said.stage)
                job.lapses, job.fresh_stage = 0, True
            return True
        job.attempt, job.lapses = job.attempt - 1, 0
        job.wait = (said.stage, self.now + SPACING if said.stage == "nap" else None)
        job.to("waiting")
        return False

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def cancel(self, which):
        job = self.pick(which)
        came = self.play(jobs.cancel, job.id, "me")
        if job.state in ("accepted", "waiting"):
            job.wait = None
            job.to("cancelled")
        elif job.state == "running" and not job.asked:
            job.asked, job.revision = True, job.revision + 1
        outcome = {"cancelled": "cancelled", "running": "requested"}.get(job.state, "too_late")
        assert (came.outcome, came.revision) == (outcome, job.revision)

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def signal(self, which):
        job = self.pick(which)
        came = self.play(jobs.signal, job.id, "s")
        if job.live:
            job.signals, job.revision = job.signals + 1, job.revision + 1
            assert came == jobs.Signalled(job.id, job.revision)
        else:
            assert came == jobs.JobEnded(job.id, job.state)

    @rule(seconds=st.sampled_from([150.0, 1_500.0]))
    def time_passes(self, seconds):
        self.clock.move(seconds)
        self.now += seconds

    @rule()
    def lapse(self):
        self.play(jobs.lapse, 100)
        for job in self.all:
            if job.state == "running" and job.lease <= self.now:
                job.lapses = 0 if job.fresh_stage else job.lapses + 1
                if job.asked:
                    job.to("cancelled")
                elif job.lapses >= LAPSES_MAX or job.attempt >= ATTEMPTS:
                    job.to("failed")
                else:
                    job.to("accepted", self.now)

    @rule()
    def wake(self):
        self.play(jobs.wake, 100)
        for job in self.all:
            if job.state != "waiting":
                continue
            stage, until = job.wait
            if (stage == "go" and job.signals) or (until is not None and until <= self.now):
                job.signals -= stage == "go"
                job.stages.add(stage)
                job.wait = None
                job.to("accepted", self.now)

    @invariant()
    def every_job_is_what_was_written_down(self):
        for job in getattr(self, "all", ()):
            found = self.play(jobs.get, job.id)
            assert (found.state, found.revision, found.stages) == (job.state, job.revision, len(job.stages))
            assert found.attempt == job.attempt
            assert (found.cancel_requested_at is not None) == (job.asked or job.state == "cancelled")


def test_jobs_behave_as_they_are_described(conn, database, clock):
    """The plans answer what a person with pen and paper would."""
    bound = {"conn": conn, "clock": clock, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(
        type("Bound", (Work,), bound),
        settings=settings(max_examples=chance.of(100), stateful_step_count=50, deadline=None),
    )
