"""inboxes against plain lists: whatever order of verbs, the same answers, through plans and through HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold.db.pool import Pool
from steadhold.inboxes import plans
from steadhold.inboxes.model import Retention
from steadhold.play.lockstep import Lockstep
from steadhold.testing.database import copied
from tests import chance
from tests.inboxes.conftest import Door, event
from tests.inboxes.house import House

KEYS = st.sampled_from([f"k{n}" for n in range(8)])
BODIES = st.sampled_from([b"1", b"2"])
CONSUMERS = st.sampled_from(["c", "d"])
OFF = st.integers(-3, 2)
KEPT = 3


@dataclass
class Model:
    """One inbox as a person would keep it."""

    log: list[tuple[int, bytes]] = field(default_factory=list)
    keys: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    last: int = 0
    first: int = 1
    positions: dict[str, int] = field(default_factory=lambda: {"c": 0, "d": 0})

    def append(self, key, body):
        if key in self.keys:
            number, same = self.keys[key]
            return ("duplicate" if same == body else "mismatch", number)
        self.last += 1
        self.log.append((self.last, body))
        self.keys[key] = (self.last, body)
        return ("new", self.last)

    def page(self, after):
        if after > self.last:
            return ("beyond", self.last)
        gaps = [(after + 1, self.first - 1)] if after < self.first - 1 else []
        return ("page", [number for number, _ in self.log if number > after], gaps)

    def ack(self, consumer, number, through):
        at = self.positions[consumer]
        if number > self.last:
            return ("beyond", self.last)
        if number > at and self.first - 1 > at and through < min(number, self.first - 1):
            return ("gap", at + 1, self.first - 1)
        self.positions[consumer] = max(at, number)
        return ("at", self.positions[consumer])

    def sweep(self):
        self.log = self.log[-KEPT:]
        self.first = self.log[0][0] if self.log else self.last + 1


class ByPlans:
    """The verbs, played on a connection."""

    def __init__(self, database):
        self.workspace = database.new_workspace()
        self.conn = database.enter(self.workspace)
        self.door = Door(self.conn, self.workspace)
        with self.conn.transaction():
            self.door.make("a", Retention(None, KEPT, None))
            self.door.consume("c")
            self.door.consume("d")
            self.epoch = self.door.epoch()

    def append(self, *pairs):
        with self.conn.transaction():
            placed = self.door.append("a", [event(key, body) for key, body in pairs])
        return [_placed(type(one).__name__, getattr(one, "duplicate", False), one.sequence) for one in placed]

    def page(self, after):
        with self.conn.transaction():
            found = self.door.read("a", self.epoch, after)
        if type(found).__name__ == "BeyondHead":
            return ("beyond", found.last_sequence)
        gaps = [(gap.from_sequence, gap.to_sequence) for gap in found.gaps]
        return ("page", [received.sequence for received in found.events], gaps)

    def ack(self, consumer, number, through):
        with self.conn.transaction():
            found = self.door.ack(number, consumer, self.epoch, accept_gap_through=through)
        match type(found).__name__:
            case "Acknowledged":
                return ("at", found.position)
            case "BeyondHead":
                return ("beyond", found.last_sequence)
            case _:
                return ("gap", found.from_sequence, found.to_sequence)

    def sweep(self):
        with self.conn.transaction():
            self.door.sweep()

    def close(self):
        self.conn.close()


def _placed(kind, duplicate, number):
    return ("mismatch" if kind == "Mismatch" else "duplicate" if duplicate else "new", number)


class ByHttp:
    """The doors, over group commits."""

    def __init__(self, database, loop, player):
        self.loop, self.player = loop, player
        self.house = loop.run_until_complete(House(player, database.new_workspace()).enter())
        self.run(self.house.make(max_events=KEPT))
        for name in ("c", "d"):
            self.run(self.house.consume(name))
        self.epoch = self.run(self.house("GET", "/v1/inboxes/a")).json["epoch"]

    def run(self, asked):
        return self.loop.run_until_complete(asked)

    def append(self, *pairs):
        sent = [self.house.send(key, data=int(body)) for key, body in pairs]
        got = [self.run(one) for one in sent]
        return [
            ("mismatch" if one.status == 422 else "new" if one.status == 201 else "duplicate", one.json["sequence"])
            for one in got
        ]

    def page(self, after):
        got = self.run(self.house.read(epoch=self.epoch, after=after))
        if got.status == 422:
            return ("beyond", got.json["last_sequence"])
        gaps = [(gap["from"], gap["to"]) for gap in got.json["gaps"]]
        return ("page", [one["sequence"] for one in got.json["events"]], gaps)

    def ack(self, consumer, number, through):
        got = self.run(self.house.ack(number, self.epoch, consumer, accept_gap_through=through))
        if got.status == 200:
            return ("at", got.json["position"])
        if got.status == 422:
            return ("beyond", got.json["last_sequence"])
        return ("gap", got.json["from"], got.json["to"])

    def sweep(self):
        self.run(self._sweep())

    async def _sweep(self):
        async with self.player.pool.connection() as conn:
            await conn.execute("update steadhold.inbox_sweeps set check_at = steadhold.clock()")
        await self.player.play(plans.sweep.call(self.house.workspace, 10))

    def close(self):
        """Nothing is open."""


class Inboxes(RuleBasedStateMachine):
    """One inbox that keeps three events, two consumers, eight keys."""

    open: Any

    @initialize()
    def begin(self):
        self.door, self.model = self.open(), Model()

    def teardown(self):
        if hasattr(self, "door"):
            self.door.close()

    @rule(pairs=st.lists(st.tuples(KEYS, BODIES), min_size=1, max_size=4))
    def append(self, pairs):
        assert self.door.append(*pairs) == [self.model.append(key, body) for key, body in pairs]

    @rule(consumer=CONSUMERS, off=OFF, accept=OFF)
    def ack(self, consumer, off, accept):
        number, through = max(0, self.model.last + off), max(0, self.model.first - 1 + accept)
        assert self.door.ack(consumer, number, through) == self.model.ack(consumer, number, through)

    @rule(back=st.integers(-1, 8))
    def page(self, back):
        after = max(0, self.model.last - back)
        assert self.door.page(after) == self.model.page(after)

    @rule()
    def sweep(self):
        self.door.sweep()
        self.model.sweep()

    @invariant()
    def nothing_is_missing(self):
        if hasattr(self, "model"):
            assert self.door.page(0) == self.model.page(0)


@pytest.fixture(scope="module")
def house_of_its_own(server_run):
    with copied(server_run, "inboxes") as database:
        yield database


def run(make):
    """Run the machine, and answer how many worlds it opened."""
    opened = []

    def open_one():
        opened.append(make())
        return opened[-1]

    run_state_machine_as_test(
        type("Bound", (Inboxes,), {"open": staticmethod(open_one)}), settings=settings(max_examples=chance.of(100))
    )
    return len(opened)


def test_inboxes_behave_as_a_person_would_keep_them(house_of_its_own):
    assert run(lambda: ByPlans(house_of_its_own)) > chance.of(20)


async def doors(dsn, ready, ended):
    """A player for the doors, until it is over."""
    async with Pool(dsn, size=4) as pool:
        player = Lockstep(pool)
        ready.set_result(player)
        await ended.wait()
        await player.close()


def test_the_doors_answer_the_same(house_of_its_own):
    with asyncio.Runner() as runner:
        loop, ended = runner.get_loop(), asyncio.Event()
        ready = loop.create_future()
        serving = loop.create_task(doors(house_of_its_own.dsn, ready, ended))
        player = loop.run_until_complete(ready)
        assert run(lambda: ByHttp(house_of_its_own, loop, player)) > chance.of(20)
        ended.set()
        loop.run_until_complete(serving)
