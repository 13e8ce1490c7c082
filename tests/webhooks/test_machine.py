"""Deliveries against a plain account of them: two senders, operators and sweeps in whatever order."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from steadhold.testing.database import copied
from steadhold.webhooks import delivering, plans, replaying
from steadhold.webhooks.model import LANE_SECONDS, Batch, Result
from tests import chance
from tests.webhooks.house import BY, URL, create, event, fan_out, listed

pytestmark = pytest.mark.database

PLACES = st.integers(0, 100)
"""Which of those that there are then; what is drawn depends on nothing that the database says."""
ENDED = {"delivered", "exhausted", "cancelled", "skipped"}
STILL = """
select d.id from steadhold.deliveries d join steadhold.webhooks k on k.workspace = d.workspace and k.id = d.webhook
where d.workspace = %s and k.enabled and d.state = 0 and d.next_at is null
  and not exists (select from steadhold.attempts a
    where a.workspace = d.workspace and a.delivery = d.id and a.state = 0)
  and not exists (select from steadhold.deliveries f where f.workspace = d.workspace and f.webhook = d.webhook
    and f.lane = d.lane and f.state in (0, 5) and (f.place, f.id) < (d.place, d.id))"""
BESIDE = """
select d.lane from steadhold.deliveries d where d.workspace = %s and d.lane is not null and d.state in (0, 5)
  and (d.state = 5 or d.next_at is not null or exists (select from steadhold.attempts a
    where a.workspace = d.workspace and a.delivery = d.id and a.state = 0))
group by d.webhook, d.lane having count(*) > 1"""
TWICE = """
select delivery from steadhold.attempts where workspace = %s and state = 0 group by delivery having count(*) > 1"""


class Deliveries(RuleBasedStateMachine):
    """One ordered endpoint. What the account says of it: which attempts are out, what has ended and how."""

    database, clock, blocks = None, None, False
    begun = Bundle("begun")

    def __init__(self):
        super().__init__()
        self.workspace = self.database.new_workspace()
        self.conn = self.database.enter(self.workspace)
        self.revisions, self.happened, self.enabled = {"a": 0, "b": 0}, set(), True
        self.fences, self.out, self.over, self.delivered = {}, {}, {}, {"a": [], "b": []}
        with self.conn.transaction():
            self.at = create(
                self.conn, self.workspace, ordered=True, blocks=self.blocks, retry_seconds=(0.0, 0.0), concurrency=8
            )

    def teardown(self):
        self.conn.close()

    def play(self, verb, *args, **more):
        with self.conn.transaction():
            return verb(self.conn, self.workspace, *args, **more)

    @rule(aggregate=st.sampled_from("ab"), count=st.integers(1, 3))
    def happens(self, aggregate, count):
        revisions = range(self.revisions[aggregate] + 1, self.revisions[aggregate] + count + 1)
        self.play(fan_out, [event(aggregate, n) for n in revisions])
        self.happened |= {f"{aggregate}@{n}" for n in revisions}
        self.revisions[aggregate] += count

    @rule(target=begun, who=st.sampled_from(["one", "two"]))
    def begins(self, who):
        fence = self.play(delivering.lease, self.at.id, who)
        if fence is not None:
            self.fences[who] = fence
        batch = self.play(delivering.begin, self.at.id, self.fences.get(who, 1), 3)
        if not isinstance(batch, Batch):
            return None
        for s in batch.sendings:
            assert self.enabled
            assert s.delivery not in self.over
            self.out[s.delivery, s.n] = s
        return [(s.delivery, s.n) for s in batch.sendings]

    @rule(which=begun, state=st.sampled_from(["delivered", "refused", "unknown"]))
    def settles(self, which, state):
        results = [Result(delivery, n, state) for delivery, n in which or ()]
        new = self.play(delivering.settle, self.at.id, results)
        assert new == sum(key in self.out for key in which or ())
        for key in which or ():
            self.out.pop(key, None)

    @rule()
    def lapses(self):
        self.clock.move(LANE_SECONDS + 1)
        assert self.play(delivering.lapse, 100) == len(self.out)
        self.out.clear()

    @rule()
    def toggles(self):
        self.play(plans.disable if self.enabled else plans.enable, self.at.id, by=BY)
        self.enabled = not self.enabled
        if not self.enabled and self.fences:
            assert self.play(delivering.still, self.at.id, max(self.fences.values()), URL) == set()

    @rule(limit=st.integers(1, 3))
    def skips(self, limit):
        self.play(replaying.skip, limit)

    @rule(place=PLACES)
    def cancels(self, place):
        if found := self.play(listed, self.at):
            one = found[place % len(found)]
            tried = any(key[0] == one.id for key in self.out)
            cancelled = self.play(replaying.cancel, one.id)
            assert getattr(cancelled, "unknown", True) or not tried

    @rule(place=PLACES)
    def resends(self, place):
        if found := self.play(listed, self.at):
            self.play(replaying.replay, found[place % len(found)].id, str(uuid.uuid4()))

    @rule(only=st.sampled_from(["failed", "missing", "all"]))
    def replays(self, only):
        since = self.at.made_at - timedelta(seconds=1)
        self.play(replaying.replay_many, self.at.id, str(uuid.uuid4()), since, only)
        self.play(replaying.replay_on, 100)

    @invariant()
    def it_stands_as_told(self):
        found = self.play(listed, self.at)
        for d in found:
            assert self.over.get(d.id, d.state) == d.state
            if d.state in ENDED:
                self.over[d.id] = d.state
        firsts = [d.event_id for d in found if d.kind == 0]
        assert sorted(firsts) == sorted(self.happened)
        for query in (STILL, BESIDE, TWICE) if self.enabled else (BESIDE, TWICE):
            assert self.conn.execute(query, (self.workspace,)).fetchall() == [], query

    @rule()
    def goes_on_to_the_end(self):
        """Whatever was before: enabled, answered, and with blocked ones cancelled, everything ends."""
        if not self.enabled:
            self.toggles()
        for _ in range(100):
            self.lapses()
            for d in self.play(listed, self.at):
                if d.state == "blocked":
                    self.play(replaying.cancel, d.id)
            key = self.begins("one")
            self.settles(key, "delivered")
            if not key and all(d.state in ENDED for d in self.play(listed, self.at)):
                return
        raise AssertionError("it does not end")


@pytest.fixture(scope="module")
def house_of_its_own(server_run):
    with copied(server_run, "webhooks") as database:
        yield database


@pytest.mark.parametrize("blocks", [False, True])
def test_deliveries_are_as_told(house_of_its_own, blocks):
    house = house_of_its_own
    bound = type("Bound", (Deliveries,), {"database": house, "clock": house.clock, "blocks": blocks})
    try:
        run_state_machine_as_test(bound, settings=settings(max_examples=chance.of(60), deadline=None))
    finally:
        house.clock.reset()
