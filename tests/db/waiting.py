"""Waiting for what other tasks do, by letting them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0)
