"""Events are matched and published, leave when their window is over, and what is parked is announced.

What waits is moved on by jobs' own loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from steadhold.events import relaying, subscribing
from steadhold.events.flow import Taker, Target
from steadhold.events.model import KEPT_SECONDS
from steadhold.events.plans import purge
from steadhold.events.publishing import ROUNDS_MAX, Alarm, Play, Publisher, silent
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call

MATCHED_AT_ONCE: Final = 500

FLOWING_MAX: Final = 10_000
"""Workspaces of which a relay remembers that somebody takes their events."""

WARM_SECONDS: Final = 2.0
"""How long after an event its workspace is looked at more often than the tick does."""


def announce(workspace: str, limit: int) -> Call[int]:
    """Say what is parked, each day that it still is."""
    return subscribing.announce.call(workspace, limit)


def end(workspace: str, limit: int) -> Call[int]:
    """Skip what is on its way to subscriptions that were deleted."""
    return subscribing.end.call(workspace, limit)


def lanes(workspace: str, limit: int) -> Call[int]:
    """End the lanes of relays that are gone."""
    return relaying.free_lanes.call(workspace, limit)


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where events are kept this long, but for the relay."""

    def call(workspace: str, limit: int) -> Call[int]:
        return purge.call(workspace, limit, kept_seconds=kept_seconds)

    return (
        Duty("events.purge", call, limit=500),
        Duty("events.announce", announce),
        Duty("events.end", end, limit=subscribing.SKIPPED_AT_ONCE),
        Duty("fences.lane", lanes, every_seconds=1.0),
    )


DUTIES = duties(KEPT_SECONDS)


class Relay:
    """Matches events, and publishes what is ready in the lanes that it gets.

    `name` tells it from others; `targets` are by their kind; `told` hears which target of a workspace was given some,
    `alarm` what went wrong that nobody foresaw. `then` is done wherever something was matched: takers wait for it.
    """

    def __init__(
        self,
        play: Play,
        targets: Mapping[str, Target],
        *,
        name: str,
        takers: Sequence[Taker] = (),
        told: Callable[[str, str], Any] = lambda _workspace, _target: None,
        alarm: Alarm = silent,
        then: Callable[[], Awaitable[Any]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._play, self._takers, self._then, self._clock = play, takers, then, clock
        self._publisher = Publisher(play, targets, name=name, told=told, alarm=alarm, clock=clock)
        self._warm: dict[str, float] = {}
        self._flowing: set[str] = set()

    async def matching(self, workspace: str) -> int:
        """Match what was committed, and publish it at once; answers how many events and keys were dealt with."""
        total = 0
        for _ in range(ROUNDS_MAX):
            matched = await self._play(relaying.match.call(workspace, MATCHED_AT_ONCE, self._takers))
            total += matched
            if matched < MATCHED_AT_ONCE:
                break
        if not total:
            return 0
        self._flowing = {workspace} if len(self._flowing) > FLOWING_MAX else self._flowing | {workspace}
        self.note(workspace)
        if self._then is not None:
            await self._then()
        return total + await self.publish(workspace)

    def note(self, workspace: str) -> None:
        """Hear that something changed in a workspace: where events have flowed before, they are looked for soon."""
        if workspace in self._flowing:
            self._warm[workspace] = self._clock() + WARM_SECONDS

    async def linger(self) -> None:
        """Look again where something happened just now: more does at once. Nothing happened: nothing is asked.

        A workspace whose events make trouble is left to the tick, which comes seldom.
        """
        for workspace, until in [*self._warm.items()]:
            if self._clock() > until:
                del self._warm[workspace]
                continue
            try:
                await self.matching(workspace)
            except Exception:
                del self._warm[workspace]
                raise

    async def publish(self, workspace: str) -> int:
        """Publish what is ready in a workspace, and begin to where that is outside: see `Publisher`."""
        return await self._publisher.publish(workspace)

    async def idle(self) -> int:
        """Wait until no target outside is being asked; answers how many of their keys were dealt with."""
        return await self._publisher.idle()

    async def close(self) -> None:
        """Ask no target outside any longer."""
        await self._publisher.close()
