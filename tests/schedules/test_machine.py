"""schedules against a plain dict: whatever is edited, paused, asked for, worked and slept through, each due instant
ends as exactly one outcome. Through the plans, and through a server.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import jobs, schedules
from steadhold.jobs import Complete, Settlement
from steadhold.sdk import Client
from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from tests import chance
from tests.schedules.conftest import spec
from tests.sdk.site import Site, operator_key, served

EVERY = st.sampled_from([300, 3_600])
OVERLAP = st.sampled_from(["skip", "coalesce", "enqueue"])
MISSED = st.sampled_from(["skip", "latest", "all"])
STEPS = st.sampled_from([1, 70, 599, 3_700, 20_000, -3_600])


class Plans:
    """The verbs, on a connection."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def put(self, told, revision):
        return self.ask(schedules.put, told, revision).schedule.revision

    def delete(self, revision):
        return self.ask(schedules.delete, revision).revision

    def pause(self, *, paused):
        return self.ask(schedules.pause if paused else schedules.resume).schedule.revision

    def trigger(self):
        return self.ask(schedules.trigger, uuid.uuid4().hex).run.outcome

    def backfill(self, first, until):
        found = self.ask(schedules.backfill, first, until, uuid.uuid4().hex)
        return [(run.scheduled_at, run.last_at, run.count) for run in found.runs]

    def ask(self, verb, *args):
        with self.conn.transaction():
            return verb(self.conn, self.workspace, "s", *args)


def an_id():
    """No UUIDv7: one of those says when it was made, and here the clock steps."""
    return {"operation_id": uuid.uuid4().hex}


class Http:
    """The same, through the SDK and a server."""

    def __init__(self, client):
        self.room = client.schedules

    def put(self, told, revision):
        said = {"every_seconds": told.every_seconds, "overlap": told.overlap, "missed": told.missed}
        made = self.room.put("s", "t", **said, paused=told.paused, if_revision=revision, **an_id())
        return made.revision

    def delete(self, revision):
        return self.room.delete("s", if_revision=revision, **an_id())

    def pause(self, *, paused):
        return (self.room.pause if paused else self.room.resume)("s", **an_id()).revision

    def trigger(self):
        return self.room.trigger("s", **an_id()).outcome

    def backfill(self, first, until):
        found = self.room.backfill("s", first, until, **an_id()).runs
        return [(run.scheduled_at, run.last_at or run.scheduled_at, run.count) for run in found]


class Instants(RuleBasedStateMachine):
    """The dict: which spec held from when on, and what has been asked for."""

    place: ClassVar[Any]

    @initialize(every=EVERY, overlap=OVERLAP, missed=MISSED)
    def begin(self, every, overlap, missed):
        self.conn, self.workspace, self.door, self.clock = self.place()
        self.told = spec(every_seconds=every, overlap=overlap, missed=missed)
        self.revision = self.door.put(self.told, None)
        self.alive, self.floor = True, self.clock.now()
        self.due: set[Any] = set()
        self.manual = 0
        self.looked = 0.0

    def settle(self, *, edited=False):
        """What must have been recorded by now, whoever looks: the floor never goes back.

        It is the last instant that was recorded, or the last edit, whichever is later.
        """
        now = self.clock.now()
        self.looked = now.timestamp()
        if self.alive and now > self.floor:
            every = self.told.every_seconds
            first, last = int(self.floor.timestamp() // every) + 1, int(self.looked // every)
            self.due.update(n * every for n in range(first, last + 1))
            if first <= last:
                self.floor = datetime.fromtimestamp(last * every, UTC)
        if edited:
            self.floor = max(self.floor, now)

    @rule(every=EVERY, overlap=OVERLAP, missed=MISSED, paused=st.booleans())
    def put(self, every, overlap, missed, paused):
        told = spec(every_seconds=every, overlap=overlap, missed=missed, paused=paused)
        same = self.alive and told == self.told
        if not same:
            self.settle(edited=True)
        came = self.door.put(told, self.revision if self.alive else None)
        assert came == self.revision + (not same)
        self.revision, self.told, self.alive = came, told, True

    @rule()
    def delete(self):
        if self.alive:
            self.settle(edited=True)
            self.revision = self.door.delete(self.revision)
            self.alive = False

    @rule(paused=st.booleans())
    def pause(self, paused):
        if self.alive:
            if paused != self.told.paused:
                self.settle(edited=True)
                self.revision += 1
            assert self.door.pause(paused=paused) == self.revision
            self.told = spec(
                every_seconds=self.told.every_seconds, overlap=self.told.overlap, missed=self.told.missed, paused=paused
            )

    @rule()
    def trigger(self):
        if self.alive:
            self.settle()
            assert self.door.trigger() in ("waiting", "skipped", "coalesced")
            self.manual += 1

    @rule(hours=st.integers(1, 5))
    def backfill(self, hours):
        if self.alive:
            self.settle()
            until = self.clock.now()
            found = self.door.backfill(until - timedelta(hours=hours), until)
            made = [at for run in found for at in self.expanded(*run)]
            assert self.due.isdisjoint(made), "it was recorded"
            assert {at % self.told.every_seconds for at in made} <= {0}
            self.due.update(made)

    @rule(seconds=STEPS)
    def sleep(self, seconds):
        self.clock.move(seconds)

    @rule()
    def tick(self):
        if self.alive and not self.told.paused:
            self.settle()
        with self.conn.transaction():
            schedules.tick(self.conn, self.workspace, 10)

    @rule(many=st.integers(1, 3))
    def work(self, many):
        with self.conn.transaction():
            for job in jobs.claim(self.conn, self.workspace, "w", ["t"], many):
                jobs.settle(self.conn, self.workspace, Settlement(job.id, job.fence, Complete()))

    @invariant()
    def each_due_instant_is_recorded_once(self):
        if not hasattr(self, "due"):
            return
        found = self.conn.execute(
            "select scheduled_at, last_at, count, manual, outcome, job from steadhold.schedule_runs"
            " where workspace = %s",
            [self.workspace],
        ).fetchall()
        recorded = []
        for first, last, count, manual, _, _ in found:
            if not manual:
                recorded += self.expanded(first, last, count)
        assert len(recorded) == len(set(recorded)), "an instant has two outcomes"
        missing = {at for at in self.due if at <= self.settled()} - set(recorded)
        assert (missing, set(recorded) - self.due) == (set(), self.too_new(recorded))
        assert sum(manual for *_, manual, _, _ in found) == self.manual
        if self.told.overlap == "coalesce":
            self.one_waits()

    def settled(self):
        return max(self.due, default=0)

    def too_new(self, recorded):
        """A verb may have settled what came due in the milliseconds since the dict looked."""
        return {at for at in recorded if at not in self.due and abs(at - self.looked) < 5}

    def expanded(self, first, last, count):
        if count == 1:
            return [int(first.timestamp())]
        step = (last - first) / (count - 1)
        return [round((first + n * step).timestamp()) for n in range(count)]

    def one_waits(self):
        waiting = self.conn.execute(
            "select count(*) from steadhold.jobs where workspace = %s and state = 0 and fence = 0", [self.workspace]
        ).fetchone()[0]
        live = self.conn.execute(
            "select count(*) from steadhold.schedule_runs r join steadhold.jobs j on j.id = r.job and j.workspace ="
            " r.workspace where r.workspace = %s and r.outcome = 0 and j.state = 0 and j.fence = 0",
            [self.workspace],
        ).fetchone()[0]
        assert waiting == live, "a job waits that no run is waiting for"


def bound(place):
    return type("Bound", (Instants,), {"place": staticmethod(place)})


def bounds(examples, steps):
    quiet = list(HealthCheck)
    return settings(
        max_examples=chance.of(examples), stateful_step_count=steps, deadline=None, suppress_health_check=quiet
    )


def test_through_the_plans(conn, database, clock):
    """Every due instant ends as one outcome, and no other instant has any."""

    def place():
        clock.reset()
        workspace = database.new_workspace()
        conn.execute("select set_config('steadhold.workspace', %s, false)", (workspace,))
        return conn, workspace, Plans(conn, workspace), clock

    run_state_machine_as_test(bound(place), settings=bounds(25, 20))


@pytest.fixture(scope="module")
def site(server_run):
    with (
        copied(server_run, "machine") as database,
        served(Settings(database_url=database.dsn, port=0, background=False)) as url,
    ):
        yield Site(url, operator_key(database), database)


@pytest.mark.journeys
def test_through_a_server(site):
    """The same, asked over HTTP."""
    clients, clock = [], site.database.clock
    with site.database.connect() as conn:

        def place():
            clock.reset()
            made = site.workspace()
            clients.append(Client(site.url, made.key))
            conn.execute("set role steadhold_app")
            conn.execute("select set_config('steadhold.workspace', %s, false)", (made.workspace,))
            return conn, made.workspace, Http(clients[-1]), clock

        try:
            run_state_machine_as_test(bound(place), settings=bounds(6, 12))
        finally:
            clock.reset()
            for client in clients:
                client.close()
