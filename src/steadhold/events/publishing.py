"""Publishes what is ready: each lane under its fence, and no target can hold up another.

An inbox is appended to and settled in one transaction. A target outside is asked while no transaction is open, beside
everything else: however long it takes, inboxes do not wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from steadhold import fences
from steadhold.events import flow, relaying
from steadhold.events.flow import Inside, Outside, Publication, Retry, Target
from steadhold.kit import failpoints
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call
from steadhold.play.single import Busy, OutcomeUnknown, Unavailable

AT_ONCE: Final = 4
"""Lanes that one relay publishes at once: of all inboxes together, and of each target outside."""

ROUNDS_MAX: Final = 50
"""Claims of a lane before other workspaces have their turn."""

Play: TypeAlias = Callable[[Call[Any]], Awaitable[Any]]
Alarm: TypeAlias = Callable[[Exception, Mapping[str, str]], None]
Lane: TypeAlias = tuple[str, str, int]
"""Workspace, target, number."""

NO_FAULT_OF_AN_EVENT: Final = (Busy, OutcomeUnknown, Unavailable)


def silent(_error: Exception, _facts: Mapping[str, str]) -> None:
    """Let nobody hear of it."""


class Publisher:
    """Publishes what is ready in the lanes that it gets; see `Relay`."""

    def __init__(
        self,
        play: Play,
        targets: Mapping[str, Target],
        *,
        name: str,
        told: Callable[[str, str], Any],
        alarm: Alarm,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._play, self._targets, self._name = play, targets, name
        self._told, self._alarm, self._clock = told, alarm, clock
        self._after: dict[Lane, str] = {}
        self._inside = asyncio.Semaphore(AT_ONCE)
        self._outside: defaultdict[tuple[str, str], asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._asking: dict[Lane, asyncio.Task[int]] = {}

    async def publish(self, workspace: str) -> int:
        """Publish what is ready in a workspace; answers how many keys of inboxes were dealt with.

        What is ready for targets outside is begun, and goes on by itself (`idle` waits for it). Raises what went
        wrong in one lane when all others have had their turn.
        """
        ready = await self._play(relaying.lanes.call(workspace))
        inside: list[Awaitable[int]] = []
        for target, number in ready:
            to = self._known(workspace, target)
            if isinstance(to, Inside):
                inside.append(self._published((workspace, target, number), to, self._inside))
            elif to is not None:
                self._ask((workspace, target, number), to)
        return _sum(await asyncio.gather(*inside, return_exceptions=True))

    async def idle(self) -> int:
        """Wait until no target outside is being asked; answers how many of their keys were dealt with.

        Raises what went wrong in one of their lanes.
        """
        return _sum(await asyncio.gather(*self._asking.values(), return_exceptions=True))

    async def close(self) -> None:
        """Ask no target outside any longer: what it was asked and has not answered, it is asked again."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    def _known(self, workspace: str, target: str) -> Target | None:
        kind, _, name = target.partition(":")
        to = self._targets.get(kind)
        return None if isinstance(to, Outside) and not to.knows(workspace, name) else to

    def _ask(self, lane: Lane, to: Outside) -> None:
        if lane in self._asking:
            return
        task = asyncio.create_task(self._published(lane, to, self._outside[lane[:2]]))
        self._asking[lane] = task
        task.add_done_callback(lambda ended: self._asked(lane, ended))

    def _asked(self, lane: Lane, task: asyncio.Task[int]) -> None:
        del self._asking[lane]
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._alarm(error, {"workspace": lane[0], "target": lane[1]})

    async def _published(self, lane: Lane, to: Target, turn: asyncio.Semaphore) -> int:
        async with turn:
            workspace, target, number = lane
            held = await self._play(relaying.hold_lane.call(workspace, target, number, self._name))
            if not isinstance(held, fences.Granted):
                return 0
            ref = FenceRef(held.subject, held.fence)
            failpoints.hit("relay.lane_held")
            try:
                return await self._drained(lane, ref, to)
            finally:
                with suppress(Exception):  # else its time ends it
                    await self._play(relaying.leave_lane.call(workspace, ref))

    async def _drained(self, lane: Lane, ref: FenceRef, to: Target) -> int:
        total, since = 0, self._clock()
        for _ in range(ROUNDS_MAX):
            if self._clock() - since > relaying.LANE_SECONDS / 3:
                since = self._clock()
                if isinstance(await self._play(relaying.renew_lane.call(lane[0], ref)), StaleFence):
                    break
            after = self._after.pop(lane, "")
            dealt = await self._dealt(lane, ref, after, to, since + relaying.LANE_SECONDS)
            if dealt is None or (dealt[0] == 0 and not after):
                break
            total += dealt[0]
            if dealt[0]:
                self._told(*lane[:2])
            if dealt[0] == relaying.KEYS:
                self._after[lane] = dealt[1]
        return total

    async def _dealt(self, lane: Lane, ref: FenceRef, after: str, to: Target, until: float) -> tuple[int, str] | None:
        if isinstance(to, Outside):
            return await self._claimed(lane, ref, after, to, until)
        try:
            dealt = await self._play(relaying.deliver.call(*lane, ref, after, to.append))
        except NO_FAULT_OF_AN_EVENT:
            raise
        except Exception as error:  # noqa: BLE001 - one event that nobody foresaw must not hold up all others
            self._alarm(error, {"workspace": lane[0], "target": lane[1]})
            dealt = await self._one_by_one(lane, ref, after, to)
        return None if isinstance(dealt, StaleFence) else dealt

    async def _one_by_one(self, lane: Lane, ref: FenceRef, after: str, to: Inside) -> tuple[int, str] | StaleFence:
        """Deal with each key alone, so that what breaks one is its own trouble."""
        total, last = 0, after
        for _ in range(relaying.KEYS):
            try:
                dealt = await self._play(relaying.deliver.call(*lane, ref, last, to.append, keys=1))
            except NO_FAULT_OF_AN_EVENT:
                raise
            except Exception as error:  # noqa: BLE001 - as above
                why = f"{type(error).__name__}: {error}"
                dealt = await self._play(relaying.hold_up.call(*lane, ref, last, why))
            if isinstance(dealt, StaleFence):
                return dealt
            if dealt[0] == 0:
                break
            total, last = total + 1, dealt[1]
        return total, last

    async def _claimed(
        self, lane: Lane, ref: FenceRef, after: str, to: Outside, until: float
    ) -> tuple[int, str] | None:
        workspace, target, _ = lane
        found = await self._play(relaying.claim.call(*lane, ref, after))
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


def _sum(told: Sequence[int | BaseException]) -> int:
    if wrong := [one for one in told if isinstance(one, BaseException)]:
        raise wrong[0]
    return sum(one for one in told if isinstance(one, int))


async def asked(to: Outside, workspace: str, name: str, batch: Sequence[Publication]) -> list[flow.Answer]:
    """What a target outside answers; a failure, or silence, means that it is asked again."""
    try:
        async with asyncio.timeout(to.seconds):
            return await to.publish(workspace, name, batch)
    except Exception as error:  # noqa: BLE001 - whatever a target does, its publications stay
        why = f"{type(error).__name__}: {error}"
        return [Retry(why) for _ in batch]
