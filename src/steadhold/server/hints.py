"""Between processes: what happened that others may wait for. A hint that is lost costs a poll, never a job or a lock.

It is sent after the commit, on a connection of our own, never from a user's transaction: many that happen while
one is being sent go together. Jobs have a channel of their own, to which workers on PostgreSQL listen too.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, Final

import asyncpg

from steadhold.db.pool import Pool
from steadhold.jobs import hints
from steadhold.play.single import translated
from steadhold.web.hub import Hub, Key

CHANNEL: Final = "steadhold_topics"
TOLD: Final = frozenset({"lock", "approval", "schedule", "inbox"})
"""Topics of these rooms, `(workspace, room, id)`, are told to other processes as `<workspace> <room> <id>`."""


class Hints:
    """Tells the other processes what this one's waiters are told, and tells its waiters what the others say."""

    def __init__(self, pool: Pool, dsn: str, hub: Hub) -> None:
        self._pool, self._dsn, self._hub = pool, dsn, hub
        self._pending: dict[Key, None] = {}
        self._some, self._ended = asyncio.Event(), asyncio.Event()
        self._stopping = False

    def take(self, key: Key) -> None:
        """Remember to tell the others, if it is for them."""
        if len(key) == 3 and (key[1] == "jobs" or key[1] in TOLD):
            self._pending[key] = None
            self._some.set()

    async def send(self) -> None:
        """Wait until there is something to tell, and tell all of it."""
        await self._some.wait()
        self._some.clear()
        told, self._pending = self._pending, {}
        if told and not self._stopping:
            try:
                async with self._pool.connection() as conn:
                    for channel, payloads in _by_channel(told).items():
                        await conn.execute(hints.TELL, channel, payloads)
            except Exception as error:  # a database that is gone is known trouble, in whatever words the driver has it
                raise translated(error) from error

    async def hear(self) -> None:
        """Listen until the connection ends, or the server stops."""
        self._ended.clear()
        conn = await asyncpg.connect(self._dsn, server_settings={"application_name": "steadhold hints"})
        try:
            conn.add_termination_listener(lambda _: self._ended.set())
            await conn.add_listener(CHANNEL, self._heard)
            await conn.add_listener(hints.CHANNEL, self._heard_of_jobs)
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
        self._hub.wake(tuple(str(payload).split(" ", 2)))

    def _heard_of_jobs(self, _conn: Any, _pid: int, _channel: str, payload: object) -> None:
        workspace, type = hints.heard(payload)
        self._hub.wake((workspace, "jobs", type))


def _by_channel(told: dict[Key, None]) -> dict[str, list[str]]:
    """What to say on each channel."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    jobs = [(key[0], key[2]) for key in told if key[1] == "jobs"]
    if jobs:
        said[hints.CHANNEL] = hints.payloads(jobs)
    for key in told:
        if key[1] in TOLD:
            said[CHANNEL].append(" ".join(key))
    return said
