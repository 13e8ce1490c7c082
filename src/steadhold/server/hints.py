"""Between processes: which types of jobs became claimable. A hint that is lost costs a poll, never a job.

It is sent after the commit, on a connection of our own, never from a user's transaction: many that happen while
one is being sent go together. Workers on PostgreSQL listen to the same channel.
"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from steadhold.db.pool import Pool
from steadhold.jobs import hints
from steadhold.web.hub import Hub, Key


class Hints:
    """Tells the other processes what this one's waiters are told, and tells its waiters what the others say."""

    def __init__(self, pool: Pool, dsn: str, hub: Hub) -> None:
        self._pool, self._dsn, self._hub = pool, dsn, hub
        self._pending: dict[tuple[str, str], None] = {}
        self._some, self._ended = asyncio.Event(), asyncio.Event()
        self._stopping = False

    def take(self, key: Key) -> None:
        """Remember to tell the others, if it is for them: `key` is (workspace, "jobs", type)."""
        if len(key) == 3 and key[1] == "jobs":
            self._pending[key[0], key[2]] = None
            self._some.set()

    async def send(self) -> None:
        """Wait until there is something to tell, and tell all of it."""
        await self._some.wait()
        self._some.clear()
        told, self._pending = self._pending, {}
        if told and not self._stopping:
            async with self._pool.connection() as conn:
                await conn.execute(hints.TELL, hints.CHANNEL, hints.payloads(told))

    async def hear(self) -> None:
        """Listen until the connection ends, or the server stops."""
        self._ended.clear()
        conn = await asyncpg.connect(self._dsn, server_settings={"application_name": "steadhold hints"})
        try:
            conn.add_termination_listener(lambda _: self._ended.set())
            await conn.add_listener(hints.CHANNEL, self._heard)
            if not self._stopping:
                await self._ended.wait()
        finally:
            conn.terminate()

    def stop(self) -> None:
        """Let both loops end."""
        self._stopping = True
        self._ended.set()
        self._some.set()

    def _heard(self, _conn: Any, _pid: int, _channel: str, payload: object) -> None:
        workspace, type = hints.heard(payload)
        self._hub.wake((workspace, "jobs", type))
