"""Who presents a key, and how often: what a server asks before every request.

What is read of a key is trusted for two seconds, by no more than which a revocation is late. A long poll or a
stream asks again while it lasts, and so ends soon after its key does.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from steadhold.access import plans
from steadhold.access.model import HOUSE, Actor, Found, workspace_fault
from steadhold.access.scopes import allows, reach
from steadhold.access.token import opens, parse_token
from steadhold.play.single import Player
from steadhold.web.ask import Principal, Problem, Request

V = TypeVar("V")

TRUSTED_SECONDS: Final = 2.0
NOTED_SECONDS: Final = 60.0
REMEMBERED_MAX: Final = 10_000
LOOKS_MAX: Final = 8
"""Look-ups under way at once: ids that somebody makes up cannot take all connections."""

NO_HASH: Final = bytes(32)
"""What an unknown key is compared with, so that it takes as long as a known one. Nothing hashes to it."""


def permits(who: Principal, scope: str, name: str | None = None) -> bool:
    """Whether a key may do this to a name, or without one to everything."""
    return allows(who.kind, who.scopes, scope, name)


def within(who: Principal, scope: str) -> tuple[str, ...]:
    """The prefixes below which a key may do this, EVERYWHERE or fewer: for doors that show only what is in scope."""
    return reach(who.kind, who.scopes, scope)


def actor(ask: Request) -> Actor:
    """Who asks, as the verbs and the audit know it."""
    return Actor(ask.who.subject, ask.who.key_id, ask.operation)


@dataclass(slots=True)
class Seen:
    """What was read of a key id: until when it is trusted, and what opens it. Moments are the process's own."""

    trusted_until: float
    who: Principal | None = None
    hash: bytes = NO_HASH
    old_hash: bytes = NO_HASH
    ends_at: float = -math.inf
    old_ends_at: float = -math.inf
    unused_seconds: float = 0.0

    @classmethod
    def of(cls, found: Found | None, asked_at: float) -> Seen:
        """Count from the moment the question was sent, so that nothing lasts longer than the database said."""
        seen = cls(asked_at + TRUSTED_SECONDS)
        if found is None or not found.alive:
            return seen
        key = found.key
        workspace = None if found.workspace == HOUSE else found.workspace
        seen.who = Principal(workspace, key.subject, key.key_id, key.kind, key.scopes)
        seen.hash, seen.old_hash = found.hash, found.old_hash or NO_HASH
        seen.ends_at = asked_at + (math.inf if found.ends_in is None else found.ends_in)
        seen.old_ends_at = asked_at + (found.old_ends_in or -math.inf)
        seen.unused_seconds = math.inf if found.unused_seconds is None else found.unused_seconds
        return seen


@dataclass(slots=True)
class Bucket:
    """Requests that may be sent at once: as many as in one second, filling up again evenly."""

    rate: float
    left: float
    at: float

    def take(self, now: float) -> float:
        """Take one, or answer how many seconds until there is one."""
        seconds = self.lacks(now)
        if not seconds:
            self.left -= 1
        return seconds

    def lacks(self, now: float) -> float:
        """Answer how many seconds it is until there is one to take."""
        self.left = min(self.rate, self.left + (now - self.at) * self.rate)
        self.at = now
        return 0.0 if self.left >= 1 else (1 - self.left) / self.rate


class Keyring:
    """Finds who presents a key, on one server. It may be asked for every request: it remembers, briefly."""

    def __init__(self, player: Player, *, now: Callable[[], float] = time.monotonic) -> None:
        self._player, self._now = player, now
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._looks: dict[str, asyncio.Task[Seen]] = {}
        self._at_once = asyncio.Semaphore(LOOKS_MAX)
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._used: dict[str, set[str]] = {}

    async def principal(self, text: str) -> Principal | None:
        """Find who presents this key: None if it is unknown, mistyped, revoked or expired.

        Raises what the player raises when the database cannot be asked.
        """
        token = parse_token(text)
        if token is None:
            return None
        seen = self._trusted(token.key_id) or await self._look(token.key_id)
        return self._holder(token.key_id, seen, *opens(token.hash, seen.hash, seen.old_hash))

    async def holder(self, key_id: str, proven: Callable[[bytes], bool]) -> tuple[Principal, bytes] | None:
        """Find whose key this is where something proves that its secret was shown before, as a session's cookie does.

        `proven` is asked of the hash of the secret, which is given too, and of the one before it while that serves.
        """
        seen = self._trusted(key_id) or await self._look(key_id)
        current, old = proven(seen.hash), proven(seen.old_hash)
        who = self._holder(key_id, seen, current, old)
        return None if who is None else (who, seen.hash if current else seen.old_hash)

    def _trusted(self, key_id: str) -> Seen | None:
        seen = self._seen.get(key_id)
        return None if seen is None or seen.trusted_until <= self._now() else seen

    def _holder(self, key_id: str, seen: Seen, current: bool, old: bool) -> Principal | None:  # noqa: FBT001 - as `opens` says them
        now = self._now()
        if seen.who is None or now >= seen.ends_at or not (current or (old and now < seen.old_ends_at)):
            return None
        if seen.unused_seconds >= NOTED_SECONDS:
            self._used.setdefault(seen.who.workspace or HOUSE, set()).add(key_id)
            seen.unused_seconds = 0.0
        return seen.who

    def rate(self, who: Principal) -> Problem | None:
        """Count a request against its workspace's rate on this server; 429 when it comes too soon."""
        bucket = self._buckets.get(who.workspace or HOUSE)
        seconds = bucket.take(self._now()) if bucket else 0.0
        if not seconds:
            return None
        return Problem(
            "too_many_requests",
            "The workspace sends more requests than it is entitled to; send this one again a little later.",
            headers=(("retry-after", str(math.ceil(seconds))),),
        )

    def give_back(self, who: Principal) -> None:
        """Count a request no longer against its workspace's rate: somebody sent it who is nobody there."""
        bucket = self._buckets.get(who.workspace or HOUSE)
        if bucket:
            bucket.left += 1

    def entitle(self, workspace: str, rate: int | None) -> None:
        """Learn how many requests a second a workspace may send; None without end."""
        if rate is None:
            self._buckets.pop(workspace, None)
            return
        bucket = self._buckets.get(workspace)
        if bucket is None or bucket.rate != rate:
            bucket = Bucket(rate, rate, self._now())
        _remember(self._buckets, workspace, bucket)

    async def known(self, workspace: str) -> bool:
        """Tell whether there is such a workspace."""
        if workspace_fault(workspace) is not None:
            return False
        if workspace not in self._known and not await self._player.play(plans.known.call(workspace)):
            return False
        _remember(self._known, workspace, None)
        return True

    def forget(self, key_id: str) -> None:
        """Read a key anew the next time: something was done to it here."""
        self._seen.pop(key_id, None)
        self._looks.pop(key_id, None)

    async def note(self) -> None:
        """Write down which keys were used since the last time; for a loop that comes by every few seconds."""
        used, self._used = self._used, {}
        for workspace, key_ids in used.items():
            await self._player.play(plans.note_used.call(workspace, sorted(key_ids)))

    async def _look(self, key_id: str) -> Seen:
        """One look-up at a time for each key; who waits for it may leave without ending it for the others."""
        task = self._looks.get(key_id)
        if task is None:
            task = self._looks[key_id] = asyncio.create_task(self._ask(key_id))
            task.add_done_callback(lambda done: self._learnt(key_id, done))
        return await asyncio.shield(task)

    async def _ask(self, key_id: str) -> Seen:
        async with self._at_once:
            asked_at = self._now()
            found = await self._player.play(plans.find_key.call(HOUSE, key_id))
        if found is not None:
            self.entitle(found.workspace, found.requests_per_second_max)
        return Seen.of(found, asked_at)

    def _learnt(self, key_id: str, done: asyncio.Task[Seen]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if self._looks.get(key_id) is done:  # else it was forgotten meanwhile, and this may be too old
            del self._looks[key_id]
            if not failed:
                _remember(self._seen, key_id, done.result())


def _remember(cache: OrderedDict[str, V], name: str, value: V) -> None:
    cache[name] = value
    cache.move_to_end(name)
    if len(cache) > REMEMBERED_MAX:
        cache.popitem(last=False)
