"""A worker that is told to stop, and to stop at once, while a claim is on its way: it hands back what that took."""

from __future__ import annotations

import asyncio

from steadhold.worker.on_postgres import OnPostgres

TURNS = 100  # of the loop: more than it takes until a stop is told to everybody


async def test_what_a_claim_took_is_handed_back_however_hurried_the_stop(on_postgres, monkeypatch):
    worker, claim, begun = on_postgres.worker(), OnPostgres.claim, []

    @worker.job("t")
    async def handler(ctx, input):
        begun.append(ctx.fence)

    async def claim_and_be_stopped(door, ask):
        got = await claim(door, ask)
        if got:
            worker.stop()
            worker.stop()
            for _ in range(TURNS):
                await asyncio.sleep(0)
        return got

    monkeypatch.setattr(OnPostgres, "claim", claim_and_be_stopped)
    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("worker.stopped")
    view = await on_postgres.look(id)
    assert (view.state, view.attempt, begun) == ("accepted", 0, [])
