"""What waits is set apart, with what stands behind it, and let in when its turn comes: nobody reads it meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold import events
from steadhold.events import Reject, Retry, Taken, flow, relaying, subscribing
from steadhold.events.plans import SQL
from steadhold.events.turns import in_turn
from steadhold.kit.fields import FenceRef
from tests.events.stream import MANY
from tests.operations.generic_plan import settle

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))

CROWD = """
insert into steadhold.publications
    (workspace, aggregate_id, aggregate_revision, subscription, id, target, lane, key, made_at, apart, state, next_at)
  select %(w)s, 'a' || n, r, 's', md5(n || '@' || r)::uuid, 'sink:x', mod(n, 16), 'a' || n, c, true,
    case r when 1 then 1 else 0 end, case r when 1 then c + interval '1 hour' end
  from generate_series(1, 3000) n, generate_series(1, 2) r, steadhold.clock() c
"""
PUBLISHED = "explain (analyze, format json) " + SQL.published.percent
IDS = "select array_agg(id) from steadhold.publications where workspace = %s and aggregate_id = 'a1'"
DUE = "update steadhold.publications set next_at = steadhold.clock() where aggregate_id = 'a1' and state = 1"
READ = "select sum(seq_tup_read + idx_tup_fetch)::int from pg_stat_xact_user_tables where relname = 'publications'"
LANE_OF_A = ("sink:x", flow.lane_of("a"))
LANE = {"target": "sink:x", "lane": 1, "after": "", "keys": relaying.KEYS, "each": relaying.EACH + 1}


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which a subscriber is down and much waits for it."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute("delete from steadhold.publications")  # what tests before this one left
        conn.execute(CROWD, {"w": workspace})
        conn.execute("analyze steadhold.publications")
        settle(conn, workspace)
        yield conn


def read(conn, text, **said):
    """How many publications a text reads that is prepared for whatever it may be asked."""
    conn.execute("set local plan_cache_mode = force_generic_plan")
    ((before,),) = conn.execute(READ).fetchall()
    conn.execute(text, said, prepare=True)
    ((after,),) = conn.execute(READ).fetchall()
    return after - before


def test_whether_something_is_due_is_found_without_reading_what_waits(crowded, workspace):
    assert read(crowded, "select * from steadhold.due_events()") < 100
    asked = "select duty from steadhold.due_events() where workspace = %s"
    assert crowded.execute(asked, [workspace]).fetchall() == []
    crowded.execute(DUE)
    assert crowded.execute(asked, [workspace]).fetchall() == [("events.publish",)]


@pytest.mark.parametrize("name", ["due_again", "lanes", "ready"])
def test_a_relay_finds_what_has_its_turn_without_reading_what_waits(crowded, workspace, name):
    crowded.execute(DUE)
    said = {"workspace": workspace, "limit": 100, **LANE}
    crowded.execute(SQL.due_again.percent, said)
    assert read(crowded, getattr(SQL, name).percent, **said) < 100
    assert crowded.execute(SQL.lanes.percent, said).fetchall() == [("sink:x", 1)]
    assert [row[:3] for row in crowded.execute(SQL.ready.percent, said)] == [("a1", "a1", 1), ("a1", "a1", 2)]


def test_who_publishes_and_lets_in_what_comes_next_wakes_nobody_else_to_do_so(crowded, workspace):
    ((ids,),) = crowded.execute(IDS, [workspace])
    (((plan,),),) = crowded.execute(PUBLISHED, {"workspace": workspace, "ids": ids}).fetchall()
    assert (plan["Plan"]["Actual Rows"], plan["Triggers"]) == (2, [])


def test_of_each_key_goes_what_stands_before_the_first_that_waits():
    found = [
        ("a", "a", 1, "s", True),
        ("a", "a", 2, "s", False),
        ("a", "a", 3, "s", True),
        ("b", "b", 1, "s", False),
        ("b", "b", 2, "s", True),
        *(("c", "c", n, "s", True) for n in (1, 2, 3)),
        *(("d", "d", n, "s", True) for n in (1, 2, 3)),
    ]
    turns = in_turn(found, 2)
    assert turns.keys == ["a", "b", "c", "d"]
    assert turns.now == [("a", 1, "s"), *(("c", n, "s") for n in (1, 2)), *(("d", n, "s") for n in (1, 2))]
    assert turns.next == [("a", 2, "s"), ("c", 3, "s"), ("d", 3, "s")]
    assert turns.waiting == [("b", 1, "s")]


async def test_what_comes_behind_one_that_waits_is_set_apart_too(waiting):
    await waiting.happen("a", 3, expected=MANY)
    await waiting.match()
    assert len(await waiting(relaying.lanes)) == 1
    assert await waiting.published() == []
    assert {one.state for one in await waiting.listed("pending")} == {"pending"}


async def test_it_goes_on_in_order_when_its_time_has_come(waiting, clock):
    clock.move(2)
    assert await waiting.published() == [*range(1, MANY + 1)]


async def test_it_goes_on_in_order_when_the_first_is_tried_again(waiting):
    (first,) = await waiting.listed("blocked")
    await waiting(events.retry, first.id)
    assert await waiting.published() == [*range(1, MANY + 1)]


async def test_it_goes_on_in_order_when_the_first_is_skipped(waiting):
    (first,) = await waiting.listed("blocked")
    await waiting(events.skip, first.id)
    assert await waiting.published() == [*range(2, MANY + 1)]


async def test_what_was_skipped_while_it_was_set_apart_has_its_turn_once_it_is_replayed(stream):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    (parked,) = await stream.listed("parked")
    await stream(events.skip, parked.id)
    await stream(events.replay, "s", *ALWAYS, ("", 0), 100)
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    assert await stream.published() == [1]


async def test_what_is_replayed_before_what_is_set_apart_lets_it_in_when_it_goes(stream, monkeypatch):
    monkeypatch.setattr(relaying, "EACH", 1)
    await stream.subscribe()
    await stream.happen("a", 2)
    await stream.match()
    assert await stream.published() == [1, 2]
    await stream(events.replay, "s", *ALWAYS, ("", 0), 1)
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    await stream.happen("a", expected=2)
    await stream.match()
    stream.sink.asked = []
    assert await stream.published() == []
    await stream(events.replay, "s", *ALWAYS, ("", 0), 100)
    (first,) = await stream.listed("parked")
    await stream(events.retry, first.id)
    await published_once(stream)
    assert [one.aggregate_revision for one in await stream.listed("pending")] == [2, 3]
    await stream(events.skip, (await stream.listed("pending"))[0].id)
    stream.sink.says = lambda _one: Taken()
    assert await stream.published() == [3]


async def published_once(stream):
    """A relay is asked to publish, and is gone after one round."""
    held = await stream(relaying.hold_lane, *LANE_OF_A, "one")
    ref = FenceRef(held.subject, held.fence)
    _, batch = await stream(relaying.claim, *LANE_OF_A, ref, "")
    await stream(relaying.settle, ref, batch, [Taken() for _ in batch])
    await stream(relaying.leave_lane, ref)


async def test_skipping_what_is_not_the_first_moves_nothing(waiting, clock):
    pending = {one.aggregate_revision: one.id for one in await waiting.listed("pending")}
    for revision in (2, 5):
        await waiting(events.skip, pending[revision])
    assert await waiting.published() == []
    clock.move(2)
    assert await waiting.published() == [n for n in range(1, MANY + 1) if n not in (2, 5)]


async def test_it_goes_on_when_the_first_goes_with_its_subscription(stream):
    await stream.subscribe("s")
    await stream.subscribe("t", "sink:x")
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda one: Reject("never") if one.subscription == "s" else Taken()
    await stream.publish()
    await stream.published()
    assert (len(await stream.listed("parked")), len(await stream.listed("pending"))) == (1, 2 * MANY - 1)
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    await stream(events.unsubscribe, "s", 1)
    while await stream(subscribing.end, 5):
        pass
    assert await stream.published() == [*range(1, MANY + 1)]


async def test_what_waited_for_its_own_time_waits_behind_what_is_replayed_before_it(stream, clock):
    await stream.subscribe()
    await stream.happen("a", 3)
    await stream.match()
    stream.sink.says = lambda one: Taken() if one.event.aggregate_revision == 1 else Retry("down")
    await stream.publish()
    (second,) = await stream.listed("blocked")
    await stream(events.replay, "s", *ALWAYS, ("", 0), 100)
    stream.sink.says = lambda _one: Retry("down", 1_000.0)
    await stream.publish()
    clock.move(10)
    stream.sink.asked = []
    assert (await stream.published(), await stream(relaying.lanes)) == ([], [])
    assert {one.id: one.state for one in await stream.listed("pending")}[second.id] == "pending"
    (first,) = await stream.listed("blocked")
    assert first.aggregate_revision == 1
    stream.sink.says = lambda _one: Taken()
    await stream(events.skip, first.id)
    assert await stream.published() == [2, 3]
