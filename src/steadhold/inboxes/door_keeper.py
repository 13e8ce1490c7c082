"""Who comes in by an address of a door: what a server asks before such a request. The address is the secret."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from steadhold.access.authenticate import Bucket, Keyring
from steadhold.access.model import HOUSE
from steadhold.inboxes.door_model import Place
from steadhold.inboxes.doors import find_door
from steadhold.kit.limits import DOOR_REFUSALS_PER_SECOND_MAX
from steadhold.play.single import Player
from steadhold.web.above import Seen
from steadhold.web.ask import Principal, Problem

K = TypeVar("K")
V = TypeVar("V")

IN: Final = "/v1/in/{token}"
"""The address of every door."""

TRUSTED_SECONDS: Final = 2.0
REMEMBERED_MAX: Final = 10_000
LOOKS_MAX: Final = 8
"""Look-ups under way at once: addresses that somebody makes up cannot take all connections."""

TALLY: Final = Counter[str]()
"""What came of requests at doors in this process: accepted, duplicate, duplicate_differs, challenge, refused."""

_TOKEN: Final = re.compile(r"door_[0-9A-Za-z]{43}")


def token_of(secret: str) -> str:
    """The last part of a door's address, made of a secret of 256 bits."""
    return f"door_{secret}"


def hash_of(token: str) -> bytes:
    """All that is kept of it. It is random, so a slow hash would add nothing."""
    return hashlib.sha256(token.encode()).digest()


class Doorkeeper:
    """Finds the door of an address, on one server. It remembers briefly: whether a door still lets in says its plan."""

    def __init__(self, player: Player, keyring: Keyring, *, now: Callable[[], float] = time.monotonic) -> None:
        self._player, self._keyring, self._now = player, keyring, now
        self._refusals: OrderedDict[str, Bucket] = OrderedDict()
        self._seen: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._at_once = asyncio.Semaphore(LOOKS_MAX)

    async def principal(self, token: str) -> Principal | None:
        """Find who comes in by this address: None if no door has it. Raises what the player raises."""
        if not _TOKEN.fullmatch(token):
            return None
        hash = hash_of(token)
        seen = self._seen.get(hash)
        if seen is not None and seen[0] > self._now():
            return seen[1]
        async with self._at_once:
            asked_at = self._now()
            place = await self._player.play(find_door.call(HOUSE, hash))
        return None if place is None else self._learnt(hash, place, asked_at)

    def _learnt(self, hash: bytes, place: Place, asked_at: float) -> Principal:
        self._keyring.entitle(place.workspace, place.requests_per_second_max)
        who = Principal(place.workspace, f"door:{place.door}", place.door, "service", ())
        _remember(self._seen, hash, (asked_at + TRUSTED_SECONDS, who))
        return who

    def rate(self, who: Principal) -> Problem | None:
        """Count a request against its workspace's rate; 429 at once at a door where too many were refused lately."""
        refused = self._refusals.get(who.key_id)
        seconds = 0.0 if refused is None else refused.lacks(self._now())
        if not seconds:
            return self._keyring.rate(who)
        why = "Too much that came to this door was refused; send this one again a little later."
        return Problem("too_many_requests", why, headers=(("retry-after", str(math.ceil(seconds))),))

    def watching(self, on: Callable[[Seen], None]) -> Callable[[Seen], None]:
        """Hear of answers, too: what a door refused is counted there, and not against the workspace.

        So whoever knows an address, and no secret, takes nothing from those who have a key.
        """

        def seen(one: Seen) -> None:
            on(one)
            if one.route == IN and 400 <= one.status < 500 and one.status != 429:
                self._refused(one.of.token)

        return seen

    def _refused(self, token: str) -> None:
        _, who = self._seen.get(hash_of(token), (0.0, None))
        if who is None:
            return
        most = float(DOOR_REFUSALS_PER_SECOND_MAX)
        bucket = self._refusals.get(who.key_id) or Bucket(most, most, self._now())
        bucket.take(self._now())
        _remember(self._refusals, who.key_id, bucket)
        self._keyring.give_back(who)


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > REMEMBERED_MAX:
        known.popitem(last=False)
