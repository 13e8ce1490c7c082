"""locks against a plain dict: whatever order of verbs, the same answers, through plans and through HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from steadhold.db.pool import Pool
from steadhold.kit.limits import LOCK_SILENCE_SECONDS_MAX, LOCK_TICKET_SECONDS_MAX
from steadhold.locks import plans
from steadhold.play.lockstep import Lockstep
from steadhold.testing.database import copied
from tests import chance
from tests.locks.house import House

FROZEN = """
create or replace function steadhold.clock() returns timestamptz language sql volatile security definer
  as $$ select '2030-01-01Z'::timestamptz + c.ahead from steadhold_test.clock c $$
"""
"""Time that passes only when it is moved: so no answer depends on how fast this machine is."""

NAMES = st.sampled_from(["a", "b"])
OPERATIONS = st.sampled_from([f"o{n}" for n in range(6)])
LENGTHS = st.sampled_from([10, 60])
OFF = st.sampled_from([0, 0, 0, -1, 1])


@dataclass
class Ticket:
    place: tuple[float, str]
    live_until: float


@dataclass
class Model:
    """One lock as a person would keep it."""

    fence: int = 0
    owner: str = ""
    until: float | None = None
    released: bool = False
    revision: int = 0
    used: set[str] = field(default_factory=set)
    last: str = ""
    line: dict[str, Ticket] = field(default_factory=dict)

    def held(self, now):
        return self.until is not None and self.until > now

    def live(self, now):
        return sorted(ticket.place for ticket in self.line.values() if ticket.live_until > now)

    def lapse(self, now):
        if self.until is not None and self.until <= now:
            self.until, self.revision = None, self.revision + 1

    def acquire(self, operation, ttl, waits, now):
        if operation in self.used:
            if operation == self.last and self.held(now):
                return ("Granted", self.fence)
            return ("LockLost",)
        mine = self.line.get(operation)
        place = mine.place if mine and mine.live_until + LOCK_TICKET_SECONDS_MAX > now else None
        ahead = [other for other in self.live(now) if other[1] != operation and (place is None or other < place)]
        if self.held(now) or ahead:
            if waits:
                self.stand(operation, mine, place, now)
            return ("Queued" if waits else "Held", self.owner if self.held(now) else None)
        self.lapse(now)
        self.fence, self.revision, self.owner, self.last = self.fence + 1, self.revision + 1, operation, operation
        self.until, self.released = now + ttl, False
        self.used.add(operation)
        self.line.pop(operation, None)
        return ("Granted", self.fence)

    def stand(self, operation, mine, place, now):
        if mine is None or mine.live_until - now < plans.HEARD_SECONDS_MIN:
            self.line[operation] = Ticket(place or (now, operation), now + LOCK_SILENCE_SECONDS_MAX)

    def renew(self, fence, ttl, now):
        if fence != self.fence or not self.held(now):
            return ("LockLost",)
        self.until = now + ttl
        return ("Renewed", fence)

    def release(self, fence, now):
        if fence == self.fence and self.held(now):
            self.until, self.released, self.revision = None, True, self.revision + 1
            return ("Released", False)
        return ("Released", True) if fence == self.fence and self.released else ("LockLost",)


class ByPlans:
    """The verbs, played on a connection."""

    def __init__(self, database):
        self.database, self.workspace = database, database.new_workspace()
        self.conn = database.enter(self.workspace)

    def play(self, verb, *args, **kw):
        with self.conn.transaction():
            return getattr(plans, verb)(self.conn, self.workspace, *args, **kw)

    def said(self, outcome):
        kind = type(outcome).__name__
        told = {"Granted": "fence", "Queued": "holder", "Held": "holder", "Renewed": "fence", "Released": "again"}
        return (kind, getattr(outcome, told[kind])) if kind in told else (kind,)

    def acquire(self, name, operation, ttl, waits):
        return self.said(self.play("acquire", name, operation, ttl, operation, request=operation, waits=waits))

    def renew(self, name, fence, ttl):
        return self.said(self.play("renew", name, fence, ttl))

    def release(self, name, fence):
        return self.said(self.play("release", name, fence))

    def leave(self, name, operation):
        self.play("leave", name, operation, operation)

    def sweep(self):
        self.play("expire", 100)
        self.play("forget", 100)

    def get(self, name):
        lock = self.play("get", name)
        return (lock.fence, lock.held, lock.revision, lock.waiting) if hasattr(lock, "fence") else None

    def close(self):
        self.conn.close()


class ByHttp:
    """The doors, over group commits. A request that waits would be held back, so nobody waits here."""

    def __init__(self, database, loop, player):
        self.loop = loop
        self.house = loop.run_until_complete(House(player, database.new_workspace()).enter())
        self.workspace = self.house.workspace

    def ask(self, *args, **kw):
        return self.loop.run_until_complete(self.house(*args, **kw))

    def said(self, got, kind, *told):
        codes = {"lock_held": "Held", "lock_lost": "LockLost"}
        if got.status >= 400:
            return (codes[got.code], got.json["holder"]) if got.code == "lock_held" else (codes[got.code],)
        return (kind, *told)

    def acquire(self, name, operation, ttl, waits):
        body = {"owner": operation, "ttl_seconds": ttl}
        got = self.ask("POST", f"/v1/locks/{name}/acquire", body, idempotency_key=operation)
        return self.said(got, "Granted", got.json.get("fence"))

    def renew(self, name, fence, ttl):
        got = self.ask("POST", f"/v1/locks/{name}/renew", {"fence": fence, "ttl_seconds": ttl})
        return self.said(got, "Renewed", fence)

    def release(self, name, fence):
        return self.said(self.ask("POST", f"/v1/locks/{name}/release", {"fence": fence}), "Released")

    def get(self, name):
        got = self.ask("GET", f"/v1/locks/{name}")
        if got.status == 404:
            return None
        return (got.json["fence"], got.json["held"], int(got.headers["revision"]), got.json["waiting"])

    def leave(self, *_):
        """Nobody waits here, and what a sweep does is seen by plans."""

    sweep = close = leave


class Locks(RuleBasedStateMachine):
    """Two locks, six operations, and time."""

    open: Any
    clock: Any
    waiting: bool

    @initialize()
    def begin(self):
        self.clock.reset()
        self.door, self.now = self.open(), 0.0
        self.models = {"a": Model(), "b": Model()}

    def teardown(self):
        if hasattr(self, "door"):
            self.door.close()

    @rule(name=NAMES, operation=OPERATIONS, ttl=LENGTHS, waits=st.booleans())
    def acquire(self, name, operation, ttl, waits):
        waits = waits and self.waiting
        assert self.door.acquire(name, operation, ttl, waits) == self.models[name].acquire(
            operation, ttl, waits, self.now
        )

    @rule(name=NAMES, off=OFF, ttl=LENGTHS)
    def renew(self, name, off, ttl):
        fence = max(1, self.models[name].fence + off)
        assert self.door.renew(name, fence, ttl) == self.models[name].renew(fence, ttl, self.now)

    @rule(name=NAMES, off=OFF)
    def release(self, name, off):
        fence = max(1, self.models[name].fence + off)
        expected = self.models[name].release(fence, self.now)
        assert self.door.release(name, fence) == expected[: 2 if self.waiting else 1]

    @rule(name=NAMES, operation=OPERATIONS)
    def leave(self, name, operation):
        self.door.leave(name, operation)
        if (ticket := self.models[name].line.get(operation)) is not None:
            ticket.live_until = min(ticket.live_until, self.now)

    @rule(seconds=st.sampled_from([0.5, 1, 3, 6, 31, 61]))
    def wait(self, seconds):
        self.clock.move(seconds)
        self.now += seconds

    @rule()
    def sweep(self):
        self.door.sweep()
        for model in self.models.values() if self.waiting else ():
            model.lapse(self.now)

    @rule(name=NAMES)
    def get(self, name):
        model = self.models[name]
        lapsed = model.until is not None and not model.held(self.now)
        expected = (model.fence, model.held(self.now), model.revision + lapsed, len(model.live(self.now)))
        assert self.door.get(name) == (expected if model.fence else None)


@pytest.fixture(scope="module")
def frozen(server_run):
    with copied(server_run, "locks") as database:
        with database.connect() as conn:
            conn.execute(FROZEN)
        yield database


def run(make, **bound):
    """Run the machine, and answer how many worlds it opened."""
    opened = []

    def open_one():
        opened.append(make())
        return opened[-1]

    far = settings(max_examples=chance.of(100))
    run_state_machine_as_test(type("Bound", (Locks,), {**bound, "open": staticmethod(open_one)}), settings=far)
    return len(opened)


def histories(database):
    """Fences and kinds of all that happened to each lock."""
    with database.connect() as conn:
        found = conn.execute(
            "select array_agg(aggregate_revision order by aggregate_revision),"
            " array_agg(type order by aggregate_revision), array_agg(data order by aggregate_revision)"
            " from steadhold.events where starts_with(aggregate_id, 'lock:') group by workspace, aggregate_id"
        ).fetchall()
    for revisions, types, data in found:
        assert revisions == list(range(1, len(revisions) + 1))
        yield [msgspec.json.decode(each)["fence"] for each in data], types


def test_locks_behave_as_a_person_would_keep_them(frozen):
    assert run(lambda: ByPlans(frozen), clock=frozen.clock, waiting=True) > chance.of(50)
    for fences, types in histories(frozen):
        assert fences == [1 + n // 2 for n in range(len(fences))]
        assert set(types[::2]) == {"lock.granted"}


async def doors(dsn, ready, ended):
    """A player for the doors, until it is over."""
    async with Pool(dsn, size=4) as pool:
        player = Lockstep(pool)
        ready.set_result(player)
        await ended.wait()
        await player.close()


def test_the_doors_answer_the_same(frozen):
    with asyncio.Runner() as runner:
        loop, ended = runner.get_loop(), asyncio.Event()
        ready = loop.create_future()
        serving = loop.create_task(doors(frozen.dsn, ready, ended))
        player = loop.run_until_complete(ready)
        assert run(lambda: ByHttp(frozen, loop, player), clock=frozen.clock, waiting=False) > chance.of(50)
        ended.set()
        loop.run_until_complete(serving)
