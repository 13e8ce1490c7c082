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

PAUSE_SECONDS: Final = 0.005
"""After one telling until the next: each is a transaction, and would come with nearly every commit of a busy server."""

QUIET_SECONDS_MAX: Final = 15.0
"""How long nothing need happen until a loop that waits for it goes round, which tells that it goes well."""


class Hints:
    """Tells the other processes what this one's waiters are told, and tells its waiters what the others say."""

    def __init__(self, pool: Pool, dsn: str, hub: Hub) -> None:
        self._pool, self._dsn, self._hub = pool, dsn, hub
        self._pending: dict[Key, None] = {}
        self._some, self._ended = asyncio.Event(), asyncio.Event()
        self._conn: asyncpg.Connection[Any] | None = None
        self._stopping = False

    def take(self, key: Key) -> None:
        """Remember to tell the others, if it is for them."""
        if len(key) == 3 and (key[1] == "jobs" or key[1] in TOLD):
            self._pending[key] = None
            self._some.set()

    async def send(self) -> None:
        """Wait until there is something to tell, and tell all of it; or until nothing was for a while."""
        await _within(QUIET_SECONDS_MAX, self._some)
        self._some.clear()
        told, self._pending = self._pending, {}
        if told and not self._stopping:
            await self._tell(told)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _tell(self, told: dict[Key, None]) -> None:
        try:
            async with self._pool.connection() as conn:
                for channel, payloads in _by_channel(told).items():
                    await conn.execute(hints.TELL, channel, payloads)
        except Exception as error:  # a database that is gone is known trouble, in whatever words the driver has it
            raise translated(error) from error

    async def hear(self) -> None:
        """Listen for a while; the connection stays for the next time, unless it has ended, or the server stops."""
        if self._stopping:
            return
        stays = False
        try:
            self._conn = self._conn or await self._listening()
            stays = not await _within(QUIET_SECONDS_MAX, self._ended)
        finally:
            if not stays:
                self._hang_up()

    async def _listening(self) -> asyncpg.Connection[Any]:
        self._ended.clear()
        named = {"application_name": "steadhold hints"}
        conn = await asyncpg.connect(self._dsn, statement_cache_size=0, server_settings=named)
        try:
            conn.add_termination_listener(lambda _: self._ended.set())
            await conn.add_listener(CHANNEL, self._heard)
            await conn.add_listener(hints.CHANNEL, self._heard_of_jobs)
        except BaseException:
            conn.terminate()
            raise
        return conn

    def _hang_up(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.terminate()

    def stop(self) -> None:
        """Let both loops end."""
        self._stopping = True
        self._ended.set()
        self._some.set()
        self._hang_up()

    def _heard(self, _conn: Any, _pid: int, _channel: str, payload: object) -> None:
        self._hub.wake(tuple(str(payload).split(" ", 2)))

    def _heard_of_jobs(self, _conn: Any, _pid: int, _channel: str, payload: object) -> None:
        workspace, type = hints.heard(payload)
        self._hub.wake((workspace, "jobs", type))


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether an event comes within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


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
