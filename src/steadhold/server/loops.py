"""Background work, leaderless: every server asks what is due and does it; fences and locks keep them apart.

Each tick is one query over all workspaces and rooms. Then the duties that are due are played workspace by
workspace. What fails is tried again for ever, later each time.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from steadhold import schedules
from steadhold.db.backoff import SPREAD
from steadhold.db.pool import Pool
from steadhold.kit import failpoints
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.play.transaction import roll_back
from steadhold.server.settings import Retention
from steadhold.server.tallies import Tallies
from steadhold.web.hub import Hub

DUE: Final = (
    "select workspace, duty, null::float8 as soon from steadhold.due() union all select null, null, steadhold.soon()"
)
TICK_SECONDS: Final = 0.7
PAUSE_SECONDS_MAX: Final = 30.0
BEHIND: Final = (0.005, 0.04)
"""How many seconds after an instant it is looked for: never before it, and never together with other servers."""

AT_ONCE: Final = 4
"""Duties played at once: background work must leave connections to requests."""

ROUNDS_MAX: Final = 20
"""How often a duty goes on in one tick while it settles all it may, before others have their turn."""

Play = Callable[[Call[Any]], Awaitable[Any]]
Alarm = Callable[[Exception, Mapping[str, str]], None]
Due = Callable[[], Awaitable[Iterable[tuple[str, str]]]]
Act = Callable[[str], Awaitable[int]]
"""What is done in a workspace in several transactions; answers how much was."""


def pause(failures: int, seconds: float = TICK_SECONDS) -> float:
    """How long to wait: about a tick, doubled by each failure in a row, never together with other servers."""
    return min(seconds * 2 ** min(failures, 16), PAUSE_SECONDS_MAX) * SPREAD.uniform(0.8, 1.1)


def behind(seconds: float) -> float:
    """A little longer."""
    return seconds + SPREAD.uniform(*BEHIND)


def never() -> float:
    """Nothing that is known of is to come."""
    return math.inf


async def forever(
    name: str,
    once: Callable[[], Awaitable[None]],
    *,
    hub: Hub,
    tallies: Tallies,
    alarm: Alarm,
    seconds: float,
    soon: Callable[[], float] = never,
) -> None:
    """Do something again and again until the server stops; a failure makes the pause longer, and is told once.

    `soon`: in how many seconds there will be something to do, if that is known: then also just after it.
    """
    failures = 0
    while not hub.stopping:
        try:
            await once()
        except Exception as error:  # noqa: BLE001 - a loop that ends by a failure would never be missed
            if not failures:
                alarm(error, {"loop": name})
            failures += 1
        else:
            tallies.successes[name] = time.time()
            failures = 0
        with hub.waiting((), alone=False) as hint:
            wait = pause(failures, seconds)
            await hint.wait(wait if failures else min(wait, behind(soon())))


class Duties:
    """What is due, done. What fails waits longer each time, and is told once until it goes well again."""

    def __init__(
        self,
        duties: Iterable[Duty],
        *,
        due: Due,
        play: Play,
        hub: Hub,
        tallies: Tallies,
        alarm: Alarm,
        acts: Mapping[str, Act] | None = None,
    ) -> None:
        self._duties: dict[str, Duty | None] = {duty.name: duty for duty in duties}
        self._acts = acts or {}
        self._duties |= dict.fromkeys(self._acts)
        self._due, self._play, self._hub, self._tallies, self._alarm = due, play, hub, tallies, alarm
        self._not_before: dict[tuple[str, str], float] = {}
        self._failures: Counter[tuple[str, str]] = Counter()
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def tick(self) -> None:
        """Ask once what is due, and do it."""
        failpoints.hit("loops.tick")
        now = asyncio.get_running_loop().time()
        due = [(workspace, name) for workspace, name in await self._due() if name in self._duties]
        self._forget(now)
        await asyncio.gather(*(self._run(workspace, name, now) for workspace, name in due))

    async def _run(self, workspace: str, name: str, now: float) -> None:
        key, duty = (workspace, name), self._duties[name]
        if now < self._not_before.get(key, now):
            return
        async with self._at_once:
            try:
                settled = await (self._rounds(workspace, duty) if duty else self._acts[name](workspace))
            except Exception as error:  # noqa: BLE001 - one workspace's trouble is not the others'
                self._failed(key, error, now)
                return
        self._failures.pop(key, None)
        self._tallies.duty(name, "settled", settled)
        if duty and duty.every_seconds:
            self._not_before[key] = now + duty.every_seconds
        for topic in duty.touches if duty and settled else ():
            self._hub.touch((workspace, *topic))

    async def _rounds(self, workspace: str, duty: Duty) -> int:
        total = 0
        for _ in range(ROUNDS_MAX):
            settled = await self._play(duty.call(workspace, duty.limit))
            total += settled
            if settled < duty.limit or self._hub.stopping:
                break
        return total

    def _failed(self, key: tuple[str, str], error: Exception, now: float) -> None:
        workspace, duty = key
        self._tallies.duty(duty, "failed")
        if not self._failures[key]:
            self._alarm(error, {"duty": duty, "workspace": workspace})
        self._failures[key] += 1
        self._not_before[key] = now + pause(self._failures[key])

    def _forget(self, now: float) -> None:
        if len(self._not_before) > 10_000:
            self._not_before = {key: at for key, at in self._not_before.items() if now < at}


class Announcements:
    """What the database says is due, over all workspaces and rooms, in one query.

    The rooms' functions read the retention windows, and the zone tables of this server, as settings of that
    transaction: behind a pooler the connection is somebody else's afterwards.
    """

    def __init__(self, pool: Pool, retention: Retention) -> None:
        windows = {**msgspec.structs.asdict(retention), "zone_tables": schedules.tables_version()}
        told = ", ".join(f"set_config('steadhold.{name}', '{n}', true)" for name, n in windows.items())
        self._begin = f"begin read only; select {told}"
        self._pool = pool
        self._next = math.inf

    async def read(self) -> list[tuple[str, str]]:
        """Answer workspaces and the names of duties due there."""
        self._next = math.inf
        async with self._pool.connection() as conn:
            await conn.execute(self._begin)
            *due, coming = await conn.fetch(DUE)
            await roll_back(conn)
        if coming["soon"] is not None:
            self._next = asyncio.get_running_loop().time() + coming["soon"]
        return [(row["workspace"], row["duty"]) for row in due]

    def soon(self) -> float:
        """In how many seconds the next instant of a schedule comes, by the database's clock when it was last asked."""
        return max(self._next - asyncio.get_running_loop().time(), 0.0)
