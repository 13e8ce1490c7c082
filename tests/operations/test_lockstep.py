"""Twins that meet in one flush: one effect, and everybody gets its answer."""

from __future__ import annotations

import asyncio

import pytest

from steadhold import operations
from steadhold.db.pool import Pool
from steadhold.events import Appended, aggregate
from steadhold.kit.outcome import RevisionConflict
from steadhold.operations import OperationMismatch, Replayed
from steadhold.play.lockstep import Lockstep
from tests.operations.effects import make, under


@pytest.fixture
async def player(dsn):
    async with Pool(dsn, size=4) as pool:
        made = Lockstep(pool)
        yield made
        await made.close()


async def test_twins_of_one_flush_have_one_effect_and_equal_answers(player, workspace):
    calls = [under(f"k{n % 3}", make(workspace, f"thing{n % 3}")) for n in range(12)]
    outcomes = await asyncio.gather(*map(player.play, calls))
    first = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
    assert len(first) == 3
    assert all(isinstance(outcome, Replayed) for outcome in outcomes if outcome not in first)
    assert {outcome.receipt.revision for outcome in outcomes if isinstance(outcome, Replayed)} == {1}
    assert player.stats["again"] >= 9


async def test_a_refused_twin_hands_the_key_on(player, workspace):
    await player.play(make(workspace))
    refused, other = await asyncio.gather(
        player.play(under("k", make(workspace))), player.play(under("k", make(workspace, "other"), b"g"))
    )
    assert refused in (RevisionConflict(1), OperationMismatch("k"))
    assert isinstance(other, Appended)
    assert (await player.play(operations.look.call(workspace, "k"))).status == 201
    assert (await player.play(aggregate.call(workspace, "other"))).revision == 1


async def test_an_abandonment_in_the_same_flush_is_definite(player, workspace):
    late, told = await asyncio.gather(
        player.play(under("k", make(workspace))), player.play(operations.abandon.call(workspace, "k"))
    )
    assert told.abandoned != isinstance(late, Appended)


async def test_windows_of_calls_that_share_a_statement_are_their_own(player, workspace):
    from tests.operations.test_plans import aged_id

    old = aged_id(-2 * 86_400)
    outcomes = await asyncio.gather(
        player.play(under(old, make(workspace), kept_seconds=86_400)),
        player.play(under(f"{old[:-1]}0", make(workspace, "other"))),
    )
    assert [type(outcome).__name__ for outcome in outcomes] == ["OperationExpired", "Appended"]
