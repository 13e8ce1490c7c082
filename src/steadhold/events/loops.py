"""Events are matched and published, leave when their window is over, and what is parked is announced.

What waits is moved on by jobs' own loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from steadhold import fences
from steadhold.events import flow, relaying, subscribing
from steadhold.events.flow import Inside, Outside, Publication, Retry, Taker, Target
from steadhold.events.model import KEPT_SECONDS
from steadhold.events.plans import purge
from steadhold.kit import failpoints
from steadhold.kit.duty import Duty
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call

AT_ONCE: Final = 4
"""Lanes of a workspace that one relay publishes at once."""

ROUNDS_MAX: Final = 50
"""Claims of a lane before other workspaces have their turn."""

MATCHED_AT_ONCE: Final = 500

FLOWING_MAX: Final = 10_000
"""Workspaces of which a relay remembers that somebody takes their events."""

WARM_SECONDS: Final = 2.0
"""How long after an event its workspace is looked at more often than the tick does."""

Play = Callable[[Call[Any]], Awaitable[Any]]


def announce(workspace: str, limit: int) -> Call[int]:
    """Say what is parked, each day that it still is."""
    return subscribing.announce.call(workspace, limit)


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
        Duty("fences.lane", lanes, every_seconds=1.0),
    )


DUTIES = duties(KEPT_SECONDS)


class Relay:
    """Matches events, and publishes what is ready in the lanes that it gets.

    `name` tells it from others; `targets` are by their kind; `told` hears which target of a workspace was given some.
    """

    def __init__(
        self,
        play: Play,
        targets: Mapping[str, Target],
        *,
        name: str,
        takers: Sequence[Taker] = (),
        told: Callable[[str, str], Any] = lambda _workspace, _target: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._play, self._targets, self._takers, self._name = play, targets, takers, name
        self._told, self._clock = told, clock
        self._warm: dict[str, float] = {}
        self._flowing: set[str] = set()
        self._after: dict[tuple[str, str, int], str] = {}
        self._at_once = asyncio.Semaphore(AT_ONCE)

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
        """Publish what is ready in a workspace; answers how many keys were dealt with.

        Raises what went wrong in one lane when all others have had their turn.
        """
        ready = await self._play(relaying.lanes.call(workspace))
        told = await asyncio.gather(*(self._lane(workspace, *at) for at in ready), return_exceptions=True)
        if wrong := [one for one in told if isinstance(one, BaseException)]:
            raise wrong[0]
        return sum(one for one in told if isinstance(one, int))

    async def _lane(self, workspace: str, target: str, lane: int) -> int:
        to = self._targets.get(target.partition(":")[0])
        if to is None:
            return 0
        async with self._at_once:
            held = await self._play(relaying.hold_lane.call(workspace, target, lane, self._name))
            if not isinstance(held, fences.Granted):
                return 0
            ref = FenceRef(held.subject, held.fence)
            failpoints.hit("relay.lane_held")
            try:
                return await self._drained(workspace, target, lane, ref, to)
            finally:
                with suppress(Exception):  # else its time ends it
                    await self._play(relaying.leave_lane.call(workspace, ref))

    async def _drained(self, workspace: str, target: str, lane: int, ref: FenceRef, to: Target) -> int:
        at, total, since = (workspace, target, lane), 0, self._clock()
        for _ in range(ROUNDS_MAX):
            if self._clock() - since > relaying.LANE_SECONDS / 3:
                since = self._clock()
                if isinstance(await self._play(relaying.renew_lane.call(workspace, ref)), StaleFence):
                    break
            after = self._after.pop(at, "")
            dealt = await self._claim(workspace, target, lane, ref, after, to, since + relaying.LANE_SECONDS)
            if dealt is None or (dealt[0] == 0 and not after):
                break
            total += dealt[0]
            if dealt[0]:
                self._told(workspace, target)
            if dealt[0] == relaying.KEYS:
                self._after[at] = dealt[1]
        return total

    async def _claim(
        self, workspace: str, target: str, lane: int, ref: FenceRef, after: str, to: Target, until: float
    ) -> tuple[int, str] | None:
        if isinstance(to, Inside):
            dealt = await self._play(relaying.deliver.call(workspace, target, lane, ref, after, to.append))
            return None if isinstance(dealt, StaleFence) else dealt
        found = await self._play(relaying.claim.call(workspace, target, lane, ref, after))
        if isinstance(found, StaleFence):
            return None
        dealt, batch = found
        if batch:
            failpoints.hit("relay.claimed")
            if self._clock() + to.seconds > until:  # it might be somebody else's before the target has answered
                return None
            answers = await asked(to, workspace, target.partition(":")[2], batch)
            failpoints.hit("relay.published")
            if await self._play(relaying.settle.call(workspace, ref, batch, answers)):
                return None
        return dealt


async def asked(to: Outside, workspace: str, name: str, batch: Sequence[Publication]) -> list[flow.Answer]:
    """What a target outside answers; a failure, or silence, means that it is asked again."""
    try:
        async with asyncio.timeout(to.seconds):
            return await to.publish(workspace, name, batch)
    except Exception as error:  # noqa: BLE001 - whatever a target does, its publications stay
        why = f"{type(error).__name__}: {error}"
        return [Retry(why) for _ in batch]
