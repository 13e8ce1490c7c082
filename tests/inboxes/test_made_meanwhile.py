"""Inboxes that are made while somebody appends to them: they are there, with their counter, or they are not."""

from __future__ import annotations

import asyncio

import pytest

from steadhold import inboxes
from steadhold.db.pool import Pool
from steadhold.inboxes.model import Appended, NoInbox
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from tests.inboxes.conftest import EVERYTHING, event

LOCKED = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture
async def rival(dsn):
    async with Pool(dsn, size=1) as pool:
        yield Single(pool)


@pytest.fixture
async def pool(dsn):
    async with Pool(dsn, size=2) as opened:
        yield opened


async def stands(player, workspace, name, count):
    """The counter tells what is there, and the next is numbered behind it."""
    box = await player.play(inboxes.get.call(workspace, name))
    assert box.last_sequence == count
    placed = await player.play(inboxes.append_one.call(workspace, name, event("next")))
    assert isinstance(placed, Appended)
    assert (placed.sequence, placed.duplicate) == (count + 1, False)


async def test_one_that_is_made_while_a_statement_waits_for_another(pool, rival, database, workspace):
    await rival.play(inboxes.put.call(workspace, "a", EVERYTHING, None))
    player = Lockstep(pool, flushers=1)
    with database.connect() as stranger, database.connect() as watching, stranger.transaction():
        stranger.execute("select from steadhold.inboxes where name = 'a' and workspace = %s for update", [workspace])
        calls = [inboxes.append_one.call(workspace, name, event("k")) for name in "ab"]
        both = asyncio.gather(*map(player.play, calls))
        while not watching.execute(LOCKED).fetchone():
            await asyncio.sleep(0)
        await rival.play(inboxes.put.call(workspace, "b", EVERYTHING, None))
    placed, late = await both
    assert (placed.sequence, late) == (1, NoInbox("b"))
    await stands(rival, workspace, "a", 1)
    await stands(rival, workspace, "b", 0)


async def test_whoever_appends_as_soon_as_it_is_made(pool, rival, workspace):
    """No lock is waited for: one statement begins before, and its functions look after."""
    adder = Single(pool)
    for n in range(60):
        making = asyncio.ensure_future(rival.play(inboxes.put.call(workspace, f"i{n}", EVERYTHING, None)))
        found = NoInbox("")
        while isinstance(found, NoInbox):
            found = await adder.play(inboxes.append_one.call(workspace, f"i{n}", event("k")))
        await making
        assert found.sequence == 1
        await stands(adder, workspace, f"i{n}", 1)
