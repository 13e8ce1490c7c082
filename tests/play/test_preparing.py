"""What a call is known to ask is prepared first, and whoever has to wait there is told as anywhere else."""

from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Busy, Single
from tests.play import toy


@pytest.mark.parametrize(
    "player", [lambda pool: Single(pool, lock_timeout_ms=50), lambda pool: Lockstep(pool, patience_ms=300)]
)
async def test_who_cannot_prepare_is_told_what_for(player, dsn, counters, pool, database, workspace):
    """A table is being changed: that is no queue of too many callers."""
    counters("n")
    await Single(pool).play(toy.swap.call(workspace, "n", 1))
    async with Pool(dsn, size=3) as fresh:
        with database.connect() as stranger, stranger.transaction():
            stranger.execute("lock table toy.counters in access exclusive mode")
            with pytest.raises(Busy) as busy:
                await player(fresh).play(toy.swap.call(workspace, "n", 2))
    assert busy.value.at == "toy.swap"
