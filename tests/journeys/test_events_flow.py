"""Eight writers that dawdle and roll back, two relays, and readers who look all the time: they see what committed."""

from __future__ import annotations

import asyncio
import random

import psycopg
import pytest

from steadhold import events, inboxes
from steadhold.db.pool import Pool
from steadhold.events import Appended, Happened, Spec
from steadhold.events.flow import Inside
from steadhold.events.loops import Relay
from steadhold.play.single import Single

pytestmark = pytest.mark.journeys

WRITERS, TURNS = 8, 12
SHARED = "shared"


async def write(dsn, workspace, n, chance):
    """Append to an aggregate of one's own and to one that all append to, each turn in one transaction, or in none."""
    committed, revision = [], None
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        for _ in range(TURNS):
            told = [Happened("t", b"%d" % k) for k in range(chance.randrange(1, 4))]
            mine = await events.append(conn, workspace, f"own-{n}", revision, told)
            await conn.execute("select pg_sleep(%s)", [chance.random() / 200])
            stands = await events.aggregate(conn, workspace, SHARED)
            both = await events.append(conn, workspace, SHARED, stands.revision, [Happened("t")])
            await conn.execute("select pg_sleep(%s)", [chance.random() / 200])
            if chance.random() < 0.3:
                await conn.rollback()
                continue
            await conn.commit()
            committed += [(f"own-{n}", mine.revision - k) for k in range(len(told))]
            committed += [(SHARED, both.revision)] if isinstance(both, Appended) else []
            revision = mine.revision
    return committed


async def carry(play, workspace, over, name):
    """Relay until all is over, and what is left then."""
    relay = Relay(play, {"inbox": Inside(inboxes.publish)}, name=name)
    while not over.is_set():
        await relay.matching(workspace)
    while await relay.matching(workspace) or await relay.publish(workspace):
        pass


async def follow(play, workspace, done):
    """Read on and on: a reader meets each number once, in order, and no gap."""
    found, after, epoch, last_look = [], 0, None, False
    while True:
        page = await play(inboxes.read.call(workspace, "x", epoch, after, 7))
        assert page.gaps == ()
        assert [event.sequence for event in page.events] == [*range(after + 1, after + 1 + len(page.events))]
        found += [(event.envelope.aggregate_id, event.envelope.aggregate_revision) for event in page.events]
        epoch, after = page.epoch, after + len(page.events)
        if last_look and not page.events:
            return found
        last_look = done.is_set()


async def test_readers_see_what_committed_in_order_and_nothing_else(dsn, workspace):
    chance, over, done = random.Random(11), asyncio.Event(), asyncio.Event()
    async with Pool(dsn, size=12) as pool:
        play = Single(pool).play
        await play(inboxes.put.call(workspace, "x", inboxes.Retention(), None))
        await play(events.append.call(workspace, SHARED, None, [Happened("made")]))
        assert await play(events.subscribe.call(workspace, "s", Spec(("*",), "inbox:x"), None))
        relays = [asyncio.create_task(carry(play, workspace, over, f"relay-{n}")) for n in range(2)]
        readers = [asyncio.create_task(follow(play, workspace, done)) for _ in range(3)]
        writers = [write(dsn, workspace, n, random.Random(chance.random())) for n in range(WRITERS)]
        committed = [each for those in await asyncio.gather(*writers) for each in those]
        over.set()
        await asyncio.gather(*relays)
        done.set()
        seen = await asyncio.gather(*readers)
    assert len(committed) >= WRITERS * TURNS
    for found in seen:
        assert sorted(found) == sorted(committed)
        for aggregate in {id for id, _ in committed}:
            first = 2 if aggregate == SHARED else 1
            revisions = [revision for id, revision in found if id == aggregate]
            assert revisions == [*range(first, first + len(revisions))]
