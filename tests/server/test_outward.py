"""The dispatcher's duty: many workspaces that are due together cost one look."""

from __future__ import annotations

import asyncio

from steadhold.server import outward


class Looks:
    def __init__(self):
        self.count = 0

    async def tick(self):
        self.count += 1
        await asyncio.sleep(0)
        return 1


async def test_workspaces_that_are_due_together_are_looked_at_once():
    looks = Looks()
    dispatch = outward.acts(looks)[outward.DISPATCH]
    assert sorted(await asyncio.gather(*(dispatch(f"w{n}") for n in range(50)))) == [0] * 49 + [1]
    assert looks.count == 1
