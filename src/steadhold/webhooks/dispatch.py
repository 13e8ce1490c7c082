"""The dispatcher: has endpoints for itself by leases, begins attempts, makes them, and says what they came to.

Any number of processes dispatch; an endpoint is one's at a time. How many may send at once is shared evenly among the
endpoints that have something to send, so that a slow one holds up nobody.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from steadhold.kit import failpoints
from steadhold.kit.plan import Call
from steadhold.kit.seal import Sealing, Unsealable
from steadhold.webhooks import delivering, heading, health
from steadhold.webhooks.connecting import Resolve, resolve
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.model import ATTEMPT_SECONDS, LANE_SECONDS, Batch, Result, Sending
from steadhold.webhooks.send import Sender

SENDS_MAX: Final = 512
"""Attempts that one process makes at once."""

ENDPOINTS_MAX: Final = 512
FRESH_SECONDS: Final = 0.2
"""For how long attempts share one question whether they may be made."""

IDLE_SECONDS: Final = (0.25, 0.5, 1.0)
"""How long a lane that has nothing to send waits each time, before it is left to others."""

FULL_SECONDS: Final = 1.0
"""How often a lane looks for tests, which go beside what is under way, while no more than that may be."""

TURN_SECONDS: Final = 10.0
"""How long an endpoint is sent to while others wait for their turn."""

RENEW_SECONDS: Final = LANE_SECONDS / 3

Play = Callable[[Call[Any]], Awaitable[Any]]
Due = Callable[[], Awaitable[Iterable[tuple[str, str]]]]
Alarm = Callable[[Exception, Mapping[str, str]], None]
Done = Callable[[Result], None]
Trace = Callable[[str, str, Sending], tuple[Sending, Done]]
"""Given workspace, endpoint and attempt: the attempt, with what it names as its cause, and who is told the end."""


def untold(_workspace: str, _webhook: str, sending: Sending) -> tuple[Sending, Done]:
    """Tell nobody of attempts."""
    return sending, _nothing


def _nothing(_result: Result) -> None: ...


@dataclass(slots=True)
class Dispatcher:
    """Sends what is due. `holder` tells this process from others; `due` says which endpoints have something to send."""

    play: Play
    due: Due
    sealing: Sealing
    rules: Sequence[Allowed]
    holder: str
    alarm: Alarm
    resolve: Resolve = resolve
    sends_max: int = SENDS_MAX
    total_seconds: float = 15.0
    turn_seconds: float = TURN_SECONDS
    trace: Trace = untold
    _lanes: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict[tuple[str, str], Any], init=False)
    _running: dict[tuple[str, str], _Lane] = field(default_factory=dict[tuple[str, str], Any], init=False)
    _turns: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float], init=False)
    crowded: bool = field(default=False, init=False)

    async def tick(self) -> int:
        """Look once which endpoints have something to send, and see to those that nobody here does; how many."""
        begun = 0
        due = list(await self.due())
        for at in self._running.keys() & due:
            self._running[at].woken.set()
        waiting = [at for at in due if at not in self._lanes]
        self._turns = {at: self._turns.get(at, 0.0) for at in (*waiting, *self._lanes)}
        self.crowded = len(self._lanes) + len(waiting) > min(ENDPOINTS_MAX, self.sends_max)
        for at in sorted(waiting, key=self._turns.__getitem__):
            if at not in self._lanes and len(self._lanes) < min(ENDPOINTS_MAX, self.sends_max):
                self._turns[at] = asyncio.get_running_loop().time()
                task = asyncio.create_task(self._watched(*at))
                self._lanes[at] = task
                task.add_done_callback(lambda _, at=at: self._lanes.pop(at, None))
                begun += 1
        return begun

    async def drained(self) -> None:
        """Wait until every lane has been left."""
        while self._lanes:
            await asyncio.wait(list(self._lanes.values()))
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Stop sending. What is under way is cut, and becomes `unknown`."""
        tasks = list(self._lanes.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def share(self) -> int:
        """How many attempts one endpoint may have here at once."""
        return max(1, self.sends_max // max(1, len(self._lanes)))

    async def _watched(self, workspace: str, webhook: str) -> None:
        try:
            fence = await self.play(delivering.lease.call(workspace, webhook, self.holder))
            if fence is not None:
                lane = self._running[workspace, webhook] = _Lane(self, workspace, webhook, fence)
                await lane.run()
        except Exception as error:  # noqa: BLE001 - one endpoint's trouble is not the others'
            self.alarm(error, {"webhook": webhook, "workspace": workspace})
        finally:
            self._running.pop((workspace, webhook), None)


@dataclass(slots=True)
class _Lane:
    """One endpoint, sent to by this process as long as it has the lease and there is something to send."""

    of: Dispatcher
    workspace: str
    webhook: str
    fence: int
    under_way: set[asyncio.Task[None]] = field(default_factory=set[Any])
    results: list[Result] = field(default_factory=list[Result])
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    sender: Sender | None = None
    width: int = 1
    begun_at: float = -math.inf
    unwell: bool = False

    async def run(self) -> None:
        """Begin, send and settle until nothing is left, then leave the endpoint to whoever comes next."""
        loop = asyncio.get_running_loop()
        ends_at, renewed_at = math.inf, loop.time()
        idle = 0
        try:
            while idle < self._patience or self.under_way or self.results:
                if loop.time() - renewed_at > RENEW_SECONDS:
                    renewed_at = loop.time()
                    if not await self.of.play(delivering.renew.call(self.workspace, self.webhook, self.fence)):
                        break
                worked = await self._settle()
                over = self.of.crowded and (self.unwell or loop.time() >= ends_at)
                if over and not self.under_way and not self.results:
                    break
                begun = 0 if over else await self._begin()
                ends_at = min(ends_at, loop.time() + self.of.turn_seconds)
                if begun is None:
                    break
                idle = 0 if worked or begun else idle + 1
                await self._wait(idle)
        finally:
            await self._leave()

    @property
    def _patience(self) -> int:
        """How often it looks again before it leaves: once where others wait for their turn."""
        return 1 if self.of.crowded else len(IDLE_SECONDS)

    async def _wait(self, idle: int) -> None:
        """Wait until an attempt has ended, or the dispatcher has seen that something is due here."""
        try:
            async with asyncio.timeout(IDLE_SECONDS[min(max(idle, 1), len(IDLE_SECONDS)) - 1]):
                await self.woken.wait()
        except TimeoutError:
            pass
        self.woken.clear()

    async def _settle(self) -> int:
        """Say together what came meanwhile."""
        told, self.results = self.results, []
        if told:
            self.unwell = all(result.state != "delivered" for result in told)
            failpoints.hit("webhooks.answered")
            try:
                await self.of.play(delivering.settle.call(self.workspace, self.webhook, told))
            except BaseException:
                self.results[:0] = told  # said once more when the lane is left: what is known must not become unknown
                raise
        return len(told)

    async def _begin(self) -> int | None:
        """Begin as many attempts as there is room for; None where the lease or the endpoint is gone."""
        room = self.of.share - len(self.under_way)
        now = asyncio.get_running_loop().time()
        full = len(self.under_way) >= self.width and now - self.begun_at < FULL_SECONDS
        if room <= 0 or full:
            return 0
        self.begun_at, until = now, now + ATTEMPT_SECONDS
        batch = await self.of.play(delivering.begin.call(self.workspace, self.webhook, self.fence, room))
        if not isinstance(batch, Batch):
            return None
        self.width = health.width(batch.endpoint.health, batch.endpoint.spec.concurrency)
        failpoints.hit("webhooks.begun")
        if batch.sendings:
            await self._send(batch, until)
        return len(batch.sendings)

    async def _send(self, batch: Batch, until: float) -> None:
        try:
            secrets, own = heading.opened(self.of.sealing, self.workspace, batch)
        except Unsealable:
            why = "the endpoint's secrets cannot be opened by this server's sealing key"
            self._told(*(Result(s.delivery, s.n, "refused", why=why) for s in batch.sendings))
            return
        sender = await self._connected(batch)
        look = _Look(self, batch.endpoint.spec.url)
        for begun in batch.sendings:
            sending, done = self.of.trace(self.workspace, self.webhook, begun)
            fields = heading.headers(sending, secrets, own)
            task = asyncio.create_task(self._attempt(sender, sending, fields, look, until, done))
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)

    async def _connected(self, batch: Batch) -> Sender:
        """The sender of the endpoint's address; a new one where that has changed."""
        spec = batch.endpoint.spec
        if self.sender is None or (self.sender.url, self.sender.concurrency) != (spec.url, spec.concurrency):
            if self.sender is not None:
                await asyncio.gather(*self.under_way, return_exceptions=True)
                await self.sender.__aexit__(None, None, None)
            made = Sender(spec.url, self.of.rules, spec.concurrency, self.of.resolve, self.of.total_seconds)
            self.sender = await made.__aenter__()
        return self.sender

    async def _attempt(
        self, sender: Sender, sending: Sending, fields: Mapping[str, str], look: _Look, until: float, done: Done
    ) -> None:
        result = Result(sending.delivery, sending.n, "unknown", why="its sender stopped", ours=True)
        try:
            result = await sender.send(sending, fields, lambda: look.still(sending), until)
        finally:
            done(result)
            self._told(result)

    def _told(self, *results: Result) -> None:
        self.results.extend(results)
        self.woken.set()

    async def _leave(self) -> None:
        under_way = list(self.under_way)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self.sender is not None:
            await self.sender.__aexit__(None, None, None)
        await self._settle()
        await self.of.play(delivering.release.call(self.workspace, self.webhook, self.fence))


@dataclass(slots=True)
class _Look:
    """Asks once for all attempts that begin together whether they may be made, and again for those that took long."""

    lane: _Lane
    url: str
    asking: asyncio.Task[set[tuple[str, int]]] | None = None
    asked_at: float = 0.0

    async def still(self, sending: Sending) -> bool:
        """Whether an attempt may be made now."""
        now = asyncio.get_running_loop().time()
        if self.asking is None or self.asking.done() or now - self.asked_at > FRESH_SECONDS:
            self.asking, self.asked_at = asyncio.create_task(self._ask()), now
        return (sending.delivery, sending.n) in await asyncio.shield(self.asking)

    async def _ask(self) -> set[tuple[str, int]]:
        lane = self.lane
        return await lane.of.play(delivering.still.call(lane.workspace, lane.webhook, lane.fence, self.url))
