"""A process among others lets those whom it answered come back, and commits for all of them at once."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.play.lane import Lane
from steadhold.play.lockstep import Lockstep
from tests.play import toy


@pytest.mark.parametrize("gathers", [True, False])
async def test_where_it_gathers_callers_who_came_apart_go_together(pool, counters, workspace, monkeypatch, gathers):
    """Ten come while the flush of ten others runs; those come back at once, and then all twenty share a commit."""
    usual = Lane.gather
    monkeypatch.setattr(Lane, "gather", lambda lane, more, seconds: usual(lane, more, 60.0))
    names = [f"n{k}" for k in range(20)]
    counters(*names)
    player, begun = Lockstep(pool, gathers=gathers), asyncio.Event()

    async def caller(name, late):
        if late:
            await begun.wait()
        for expected in (1, 2, 3):
            assert await player.play(toy.swap.call(workspace, name, expected)) == toy.Swapped(expected + 1)

    early, late = ([asyncio.ensure_future(caller(name, k >= 10)) for name in names[k : k + 10]] for k in (0, 10))
    while not player.stats["flushes"]:
        await asyncio.sleep(0)
    begun.set()
    await asyncio.gather(*early)
    assert player.stats["flushes"] == 3 if gathers else player.stats["flushes"] >= 5
    player.gathers = False  # nobody comes any more
    if gathers:
        player.lanes[workspace].bell.set_result(None)
    await asyncio.gather(*late)


async def test_who_gathers_waits_no_longer_than_it_is_worth():
    """Some who were answered do not come back; those who wait are flushed all the same."""
    lane = Lane("w")
    async with asyncio.timeout(20):
        await lane.gather(5, 0.0)
    assert lane.bell is None
