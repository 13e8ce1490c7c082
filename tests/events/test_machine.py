"""A lane against what is written in its rows: whatever fails, waits, is skipped, tried and replayed in whatever order.

Once a relay was there, each key is published up to the first of it that waits, and nothing behind that was. Servers of
the release before what waits was set apart are there, too: their relays, and what operators ask of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import events, fences
from steadhold.events import Happened, Reject, Retry, Spec, Taken, flow, relaying, retrying, subscribing
from steadhold.events.publishing import ROUNDS_MAX
from steadhold.kit.fields import FenceRef
from tests import chance
from tests.events import older

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
TARGET = "inbox:x"
SPEC = Spec(("a",), TARGET)
LIMIT = 1_000
SECONDS = 3_000.0
AGGREGATES = st.sampled_from(["o-1", "o-2"])
SUBSCRIPTIONS = st.sampled_from(["s", "t"])
NTH = st.integers(0, 9)
RELEASES = st.sampled_from(["this", "before"])
LATER = st.sampled_from([0.0, SECONDS * 2 / 3, SECONDS + 1])

OPEN = """
select key, aggregate_revision, subscription, state = 0 or state = 1 and next_at <= steadhold.clock(), id::text, state
from steadhold.publications where workspace = %s and state < 3 order by key, aggregate_revision, subscription
"""
ENDED = """
select lane, aggregate_id, aggregate_revision, subscription from steadhold.publications
where workspace = %s and state >= 3 order by 2, 3, 4
"""


class Open(NamedTuple):
    """An open publication."""

    revision: int
    subscription: str
    ready: bool
    id: str
    state: int


class Lane(RuleBasedStateMachine):
    """Two subscriptions that lead to one inbox, which takes what it is told to take."""

    database = clock = None

    @initialize()
    def begin(self):
        self.workspace = self.database.new_workspace()
        self.conn = self.database.enter(self.workspace)
        self.taken, self.refused, self.asked = [], {}, None
        for name in ("s", "t"):
            self.play(events.subscribe, name, SPEC, None)

    def play(self, verb, *args, **kw):
        with self.conn.transaction():
            return verb(self.conn, self.workspace, *args, **kw)

    def open_ones(self):
        """The open publications of each key in their order."""
        found = self.conn.execute(OPEN, [self.workspace]).fetchall()
        return {key: [Open(*row[1:]) for row in line] for key, line in groupby(found, itemgetter(0))}

    def append(self, _workspace, _name, batch):
        answers = [self.refused.get(one.key, Taken()) for one in batch]
        self.taken += [
            (one.key, one.event.aggregate_revision, one.subscription)
            for one, answer in zip(batch, answers, strict=True)
            if isinstance(answer, Taken)
        ]
        return answers
        yield

    def held(self, lane):
        """A lane for a relay that finds it free."""
        held = self.play(relaying.hold_lane, *lane, "relay")
        return FenceRef(held.subject, held.fence) if isinstance(held, fences.Granted) else None

    def publish(self, rounds):
        """What a relay does where something is due."""
        for lane in self.play(relaying.lanes):
            if ref := self.held(lane):
                after = ""
                for _ in range(rounds):
                    dealt, last = self.play(relaying.deliver, *lane, ref, after, self.append, keys=2)
                    if not dealt and not after:
                        break
                    after = last if dealt == 2 else ""
                self.play(relaying.leave_lane, ref)

    def publish_as_before(self, rounds):
        """What a relay of the older release does; it looks no oftener than that."""
        for lane in self.play(older.lanes):
            if ref := self.held(lane):
                for _ in range(rounds):
                    dealt, _ = self.play(older.deliver, *lane, self.append)
                    if not dealt:
                        break
                self.play(relaying.leave_lane, ref)

    @rule(aggregate=AGGREGATES, count=st.integers(1, 6), matched=st.booleans())
    def happen(self, aggregate, count, matched):
        found = self.play(events.aggregate, aggregate)
        self.play(events.append, aggregate, getattr(found, "revision", None), [Happened("a")] * count)
        if matched:
            self.play(relaying.match, LIMIT)

    @rule(down=st.sets(AGGREGATES), never=st.booleans(), seconds=LATER, released=RELEASES)
    def relay(self, down, never, seconds, released):
        self.pass_by(down, never, seconds, released)

    @rule(never=st.booleans(), seconds=LATER)
    def outage(self, never, seconds):
        self.pass_by({"o-1", "o-2"}, never, seconds, "this")

    @rule(seconds=LATER, released=RELEASES)
    def recovery(self, seconds, released):
        self.pass_by((), False, seconds, released)

    def pass_by(self, down, never, seconds, released):
        """A relay comes, so many seconds later, and the inbox does not take what these aggregates told."""
        self.clock.move(seconds)
        self.play(relaying.match, LIMIT)
        self.published_in_order(released, ROUNDS_MAX, dict.fromkeys(down, Reject("never") if never else self.later()))
        ready = {(TARGET, flow.lane_of(key)) for key, line in self.open_ones().items() if line[0].ready}
        assert ready <= ({self.asked[0]} if self.asked else set())

    def later(self):
        return Retry("down", SECONDS)

    def published_in_order(self, released, rounds, refused=()):
        before = self.open_ones()
        self.taken, self.refused = [], dict(refused)
        self.publish(rounds) if released == "this" else self.publish_as_before(rounds)
        for key, line in before.items():
            published = [one[1:] for one in self.taken if one[0] == key]
            assert published == [row[:2] for row in line][: len(published)]

    @rule(released=RELEASES)
    def crash(self, released):
        """A relay comes, and is gone after one round."""
        self.published_in_order(released, 1)

    @rule(key=AGGREGATES)
    def ask(self, key):
        """A relay asks a target outside, while no transaction is open, until it answers."""
        lane = (TARGET, flow.lane_of(key))
        if self.asked is None and (ref := self.held(lane)):
            line = [row[:2] for row in self.open_ones().get(key, [])]
            _, batch = self.play(relaying.claim, *lane, ref, "")
            assert [(one.event.aggregate_revision, one.subscription) for one in batch] == line[: len(batch)]
            self.asked = lane, ref, batch

    @rule(down=st.booleans())
    def answer(self, down):
        """Some of it is not taken, if it is down. That is nothing to one that has lost the lane meanwhile."""
        if self.asked is not None:
            (_, ref, batch), self.asked = self.asked, None
            self.play(relaying.settle, ref, batch, [self.later() if down and n else Taken() for n in range(len(batch))])
            self.play(relaying.leave_lane, ref)

    def one(self, nth):
        found = [row for line in self.open_ones().values() for row in line]
        return found[nth % len(found)].id if found else None

    @rule(nth=NTH, verb=st.sampled_from([events.skip, events.retry]))
    def steer(self, nth, verb):
        if (id := self.one(nth)) is not None:
            self.play(verb, id)

    @rule(subscription=SUBSCRIPTIONS)
    def try_again(self, subscription):
        count = self.play(retrying.retry_parked, subscription).count
        assert self.play(retrying.retry_parked, subscription, count).retried == count

    @rule(nth=NTH, verb=st.sampled_from([older.skip, older.retry]))
    def steer_as_before(self, nth, verb):
        found = self.those(lambda one: verb is older.skip or one.state > 0)
        if found:
            self.play(verb, found[nth % len(found)])

    @rule(subscription=SUBSCRIPTIONS, verb=st.sampled_from([older.skip, older.retry]))
    def steer_all_as_before(self, subscription, verb):
        """The deletion of a subscription skips all of it, and all that is parked is tried again."""
        self.play(
            verb, *self.those(lambda one: one.subscription == subscription and (verb is older.skip or one.state == 2))
        )

    @rule(nth=NTH)
    def replay_as_before(self, nth):
        ended = self.conn.execute(ENDED, [self.workspace]).fetchall()
        if ended:
            lane, *one = ended[nth % len(ended)]
            self.play(older.replay, TARGET, lane, one)

    def those(self, chosen):
        return [
            (key, one.revision, one.subscription, one.id)
            for key, line in self.open_ones().items()
            for one in line
            if chosen(one)
        ]

    @rule(subscription=SUBSCRIPTIONS)
    def replay(self, subscription):
        self.play(events.replay, subscription, *ALWAYS, ("", 0), LIMIT)

    @rule(subscription=SUBSCRIPTIONS)
    def leave(self, subscription):
        found = self.play(events.subscription, subscription)
        if isinstance(found, flow.Subscription):
            self.play(events.unsubscribe, subscription, found.revision)
            self.play(subscribing.end, LIMIT)
        else:
            self.play(events.subscribe, subscription, SPEC, None)

    @invariant()
    def the_first_of_a_key_that_is_pending_is_not_apart(self):
        if hasattr(self, "conn"):
            found = self.conn.execute(
                "select key from (select distinct on (key) * from steadhold.publications where workspace = %s and"
                " state < 3 order by key, aggregate_revision, subscription) p where state = 0 and apart",
                [self.workspace],
            )
            assert found.fetchall() == []

    def teardown(self):
        if hasattr(self, "conn"):
            self.conn.close()


def test_a_lane_is_published_up_to_what_waits(database, clock, monkeypatch):
    monkeypatch.setattr(relaying, "EACH", 2)
    monkeypatch.setattr(older, "EACH", 2)
    monkeypatch.setattr(relaying, "APART", 2)
    bound = type("Bound", (Lane,), {"database": database, "clock": clock})
    run_state_machine_as_test(
        bound, settings=settings(max_examples=chance.of(40), stateful_step_count=30, deadline=None)
    )
    assert bound.database is database
