"""Who comes in by an address of a door: what a server asks before such a request. The address is the secret."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from steadhold.access.model import HOUSE
from steadhold.inboxes.door_model import Place
from steadhold.inboxes.doors import find_door
from steadhold.play.single import Player
from steadhold.web.ask import Principal

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

    def __init__(
        self, player: Player, entitle: Callable[[str, int | None], None], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._player, self._entitle, self._now = player, entitle, now
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
        self._entitle(place.workspace, place.requests_per_second_max)
        who = Principal(place.workspace, f"door:{place.door}", place.door, "service", ())
        self._seen[hash] = (asked_at + TRUSTED_SECONDS, who)
        self._seen.move_to_end(hash)
        if len(self._seen) > REMEMBERED_MAX:
            self._seen.popitem(last=False)
        return who
