"""What waits is set apart, with what stands behind it, and let in when its turn comes: nobody reads it meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold import events
from steadhold.events import Reject, Retry, Taken, relaying, subscribing
from steadhold.events.plans import SQL
from steadhold.play.transaction import opening

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
MANY = 2 * relaying.EACH + 5

CROWD = """
insert into steadhold.publications
    (workspace, aggregate_id, aggregate_revision, subscription, id, target, lane, key, made_at, apart, state, next_at)
  select %(w)s, 'a' || n, r, 's', md5(n || '@' || r)::uuid, 'sink:x', mod(n, 16), 'a' || n, c, true,
    case r when 1 then 1 else 0 end, case r when 1 then c + interval '1 hour' end
  from generate_series(1, 3000) n, generate_series(1, 2) r, steadhold.clock() c
"""
DUE = "update steadhold.publications set next_at = steadhold.clock() where aggregate_id = 'a1' and state = 1"
READ = "select sum(seq_tup_read + idx_tup_fetch)::int from pg_stat_xact_user_tables where relname = 'publications'"
LANE = {"target": "sink:x", "lane": 1, "after": "", "keys": relaying.KEYS, "each": relaying.EACH + 1}


@pytest.fixture
async def waiting(stream):
    """More of an aggregate than a claim takes, behind one that waits, and nothing of it has its turn."""
    await stream.subscribe()
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda _one: Retry("down")
    await stream.publish()
    assert await stream(relaying.lanes) == []
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    return stream


def revisions(stream):
    return [revision for _, revision in stream.sink.asked]


async def published(stream):
    """What is published as long as something has its turn: each time, something leaves or is set apart."""
    for _ in range(MANY):
        if not await stream(relaying.lanes):
            return revisions(stream)
        await stream.publish()
    raise AssertionError("a lane stays in which nothing is done")


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which a subscriber is down and much waits for it."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute(CROWD, {"w": workspace})
        conn.execute("analyze steadhold.publications")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


def read(conn, text, **said):
    """How many publications a text reads that is prepared for whatever it may be asked."""
    conn.execute("set local plan_cache_mode = force_generic_plan")
    ((before,),) = conn.execute(READ).fetchall()
    conn.execute(text, said, prepare=True)
    ((after,),) = conn.execute(READ).fetchall()
    return after - before


def test_whether_something_is_due_is_found_without_reading_what_waits(crowded, workspace):
    assert read(crowded, "select * from steadhold.due_events()") < 1_000  # what tests before this one left
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


async def test_what_comes_behind_one_that_waits_is_set_apart_too(waiting):
    await waiting.happen("a", 3, expected=MANY)
    await waiting.match()
    assert len(await waiting(relaying.lanes)) == 1
    assert await published(waiting) == []
    assert {one.state for one in await waiting.listed("pending")} == {"pending"}


async def test_it_goes_on_in_order_when_its_time_has_come(waiting, clock):
    clock.move(2)
    assert await published(waiting) == [*range(1, MANY + 1)]


async def test_it_goes_on_in_order_when_the_first_is_tried_again(waiting):
    (first,) = await waiting.listed("blocked")
    await waiting(events.retry, first.id)
    assert await published(waiting) == [*range(1, MANY + 1)]


async def test_it_goes_on_in_order_when_the_first_is_skipped(waiting):
    (first,) = await waiting.listed("blocked")
    await waiting(events.skip, first.id)
    assert await published(waiting) == [*range(2, MANY + 1)]


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
    assert await published(stream) == [1]


async def test_skipping_what_is_not_the_first_moves_nothing(waiting, clock):
    pending = {one.aggregate_revision: one.id for one in await waiting.listed("pending")}
    for revision in (2, 5):
        await waiting(events.skip, pending[revision])
    assert await published(waiting) == []
    clock.move(2)
    assert await published(waiting) == [n for n in range(1, MANY + 1) if n not in (2, 5)]


async def test_it_goes_on_when_the_first_goes_with_its_subscription(stream):
    await stream.subscribe("s")
    await stream.subscribe("t", "sink:x")
    await stream.happen("a", MANY)
    await stream.match()
    stream.sink.says = lambda one: Reject("never") if one.subscription == "s" else Taken()
    await stream.publish()
    await published(stream)
    assert (len(await stream.listed("parked")), len(await stream.listed("pending"))) == (1, 2 * MANY - 1)
    stream.sink.says, stream.sink.asked = lambda _one: Taken(), []
    await stream(events.unsubscribe, "s", 1)
    while await stream(subscribing.end, 5):
        pass
    assert await published(stream) == [*range(1, MANY + 1)]


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
    assert (await published(stream), await stream(relaying.lanes)) == ([], [])
    assert {one.id: one.state for one in await stream.listed("pending")}[second.id] == "pending"
    (first,) = await stream.listed("blocked")
    assert first.aggregate_revision == 1
    stream.sink.says = lambda _one: Taken()
    await stream(events.skip, first.id)
    assert await published(stream) == [2, 3]
