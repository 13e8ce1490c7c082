"""Waits for an inbox against plain lists: whatever comes of the inbox, in whatever order, each wait ends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold.inboxes import Retention
from steadhold.jobs import InboxEvent, Match, NothingToAwait, Wait, sweeping, watching
from tests import chance
from tests.inboxes.conftest import Door, restored
from tests.jobs.conftest import Desk
from tests.jobs.test_waits_inbox import event

PART = 2
KINDS = st.sampled_from(["paid", "sent"])
AHEAD = st.sampled_from([-3, -2, -1, 0, 0, 0, 0, 3])
"""How far behind the last event who waits has read; less than nothing: it waits for one that is far to come."""
ASKED = st.tuples(AHEAD, KINDS | st.none(), st.integers(0, 7), st.sampled_from([50.0, 500.0]))


@dataclass
class Box:
    """An inbox, as a person would keep it: the types of its events, and from which number on they are there."""

    epoch: str
    kinds: list[str] = field(default_factory=list)
    first: int = 1

    @property
    def last(self):
        return len(self.kinds)


@dataclass
class Waiting:
    id: str
    epoch: str
    seen: int
    kind: str | None
    until: float
    ended: str | None = None

    def look(self, box):
        """What one look comes to: a fact; or nothing, and it has seen more."""
        if box is None:
            return "deleted"
        if box.epoch != self.epoch:
            return "restored"
        if box.first - 1 > self.seen:
            return f"gap {self.seen + 1}-{box.first - 1}"
        ahead = range(self.seen + 1, box.last + 1)
        part = ahead[:1] if self.kind is None else ahead[:PART]
        for number in part:
            if self.kind in (None, box.kinds[number - 1]):
                return f"event {number}"
        self.seen = part[-1] if len(part) == PART else max(box.last, self.seen)
        return None

    def news(self, box):
        return box is None or box.epoch != self.epoch or box.last > self.seen


def shown(result):
    match json.loads(result):
        case {"why": "timed_out"}:
            return "timed_out"
        case {"state": "event", "sequence": number}:
            return f"event {number}"
        case {"state": "gap", "from": first, "to": last}:
            return f"gap {first}-{last}"
        case told:
            return told["state"]


class Waits(RuleBasedStateMachine):
    """One inbox that comes and goes, and jobs that wait for it."""

    conn: ClassVar[Any]
    clock: ClassVar[Any]
    new_workspace: ClassVar[Any]

    @initialize()
    def begin(self):
        workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", [workspace])
        self.desk, self.door = Desk(self.conn, workspace), Door(self.conn, workspace)
        self.now, self.all, self.keys = 0.0, list[Waiting](), 0
        self.box: Box | None = None
        self.epoch = "none"
        self.make()

    @rule()
    def make(self):
        if self.box is None:
            self.door.make(retention=Retention(None, 3, None))
            self.box = Box(self.door.epoch())
            self.epoch = self.box.epoch

    @rule(kinds=st.lists(KINDS, min_size=1, max_size=3), looked=st.booleans())
    def append(self, kinds, looked):
        if self.box is None:
            return
        self.door.append("a", [event(f"{self.keys}-{n}", kind) for n, kind in enumerate(kinds)])
        self.keys += 1
        self.box.kinds += kinds
        if looked:
            self.attend()

    @rule()
    def prune(self):
        if self.box is not None:
            self.door.sweep()
            self.box.first = max(self.box.first, self.box.last - 2)

    @rule(chance=st.integers(0, 9))
    def delete(self, chance):
        if self.box is not None and chance == 0:
            self.door.delete("a", self.door.get("a").revision)
            self.box = None

    @rule(chance=st.integers(0, 9))
    def restore(self, chance):
        if self.box is not None and chance == 0:
            restored(self.conn)
            self.box.epoch = self.epoch = self.door.epoch()

    @rule(asked=st.lists(ASKED, min_size=1, max_size=4))
    def wait(self, asked):
        for one in asked:
            self.waits(*one)

    def waits(self, back, kind, old, seconds):
        last = 0 if self.box is None else self.box.last
        epoch = "another" if old == 0 else self.epoch
        match = None if kind is None else Match(type=kind)
        job, until = self.desk.running(), self.clock.now() + timedelta(seconds=seconds)
        known = Waiting(job.id, epoch, max(0, last - back), kind, self.now + seconds)
        said = self.desk.said(job, Wait("go", InboxEvent("a", epoch, known.seen, match), until))
        if self.box is None:
            assert said == NothingToAwait("inbox:a")
            return
        fact = known.look(self.box)
        assert said.state == ("waiting" if fact is None else "running")
        if fact is not None:
            assert shown(said.woke) == fact
        known.ended = fact and f"at once: {fact}"
        self.all.append(known)

    @rule(which=st.integers(0, 9))
    def cancel(self, which):
        living = [one for one in self.all if one.ended is None]
        if living:
            one = living[which % len(living)]
            assert self.desk.cancel(one.id, "anna").outcome == "cancelled"
            one.ended = "cancelled"

    @rule()
    def attend(self):
        for _ in range(50):
            if not sweeping.attend(self.conn, self.desk.workspace, 3):
                break
        else:
            raise AssertionError("the sweep finds no end")
        for one in self.all:
            while one.ended is None and one.news(self.box):
                one.ended = one.look(self.box)

    @rule(seconds=st.sampled_from([10.0, 60.0]))
    def time_passes(self, seconds):
        self.clock.move(seconds)
        self.now += seconds
        self.desk.wake(100)
        for one in self.all:
            if one.ended is None and one.until <= self.now:
                one.ended = one.look(self.box) or "timed_out"

    @invariant()
    def each_wait_is_what_was_written_down(self):
        for one in getattr(self, "all", ()):
            if one.ended is None:
                assert self.desk.state(one.id) == "waiting"
            elif one.ended == "cancelled":
                assert self.desk.state(one.id) == "cancelled"
            else:
                told = shown(self.desk.checkpoint_of(one.id, "go").result)
                assert told == one.ended.removeprefix("at once: ")

    def teardown(self):
        """Whoever waits is seen by the next event, and then nothing is looked at any more."""
        if not hasattr(self, "desk"):
            return
        self.make()
        self.append(["paid", "sent", "paid", "sent"], looked=True)
        self.each_wait_is_what_was_written_down()
        self.clock.move(1_000)
        self.now += 1_000
        self.time_passes(60.0)
        self.attend()
        assert all(one.ended is not None for one in self.all)
        assert self.conn.execute("select count(*) from steadhold.inbox_watches").fetchone() == (0,)
        assert self.conn.execute("select count(*) from steadhold.waits").fetchone() == (0,)


@pytest.mark.usefixtures("clock")
def test_waits_for_an_inbox_end_as_they_should(conn, database, clock, monkeypatch):
    monkeypatch.setattr(watching, "AT_ONCE", PART)
    bound = {"conn": conn, "clock": clock, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(
        type("Bound", (Waits,), bound),
        settings=settings(max_examples=chance.of(40), stateful_step_count=30, deadline=None),
    )
