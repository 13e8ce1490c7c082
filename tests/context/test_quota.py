"""context: what is promised to those who write at the same moment, in one transaction, is there for all of them."""

from __future__ import annotations

import asyncio

from steadhold import access, context
from steadhold.access import StorageExhausted
from steadhold.context.model import RevisionConflict, Written
from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from tests.context.desk import OPERATOR


async def test_rivals_for_one_path_leave_what_they_were_promised_to_nobody(dsn, workspace):
    """Who wins of them is not known yet when others ask for room: there is room for the largest."""
    async with Pool(dsn, size=2) as pool:
        player = Lockstep(pool)
        limits = access.Entitlements(bytes_max=100)
        await player.play(access.put_entitlements.call(workspace, limits, None, by=OPERATOR))
        bodies = (("x", 90), ("x", 10), ("y", 80))
        came = await asyncio.gather(
            *[player.play(context.put.call(workspace, path, bytes(size), None)) for path, size in bodies]
        )
        assert player.stats["flushes"] == 2  # all of them went together
        usage = await player.play(context.usage.call(workspace))
        await player.close()
    assert [type(outcome) for outcome in came] == [Written, RevisionConflict, StorageExhausted]
    assert (usage.bytes, usage.reserved) == (90, 0)
