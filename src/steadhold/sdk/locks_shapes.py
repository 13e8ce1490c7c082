"""What the verbs of locks answer, and how long a holder may rely on a grant."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import LockLost, Said


def _elapsed() -> float:
    """Seconds on a clock that nobody sets, and that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


CLOCK: Final[Callable[[], float]] = _elapsed if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


class Grant(msgspec.Struct, kw_only=True, frozen=True):
    """A lock that was taken. `relied_until` is on `CLOCK`, this machine's own: the lock is held until then."""

    name: str
    owner: str
    fence: int
    ttl_seconds: float
    waited_seconds: float
    expires_at: datetime
    server_time: datetime
    relied_until: float = 0.0

    @property
    def grant(self) -> FenceRef:
        """What writes rely on: `fences=[lock.grant]`."""
        return FenceRef(f"lock:{self.name}", self.fence)


class Renewed(msgspec.Struct, kw_only=True, frozen=True):
    """A lock that is held for `ttl_seconds` from `server_time`."""

    name: str
    fence: int
    ttl_seconds: float
    expires_at: datetime
    server_time: datetime


class LockState(msgspec.Struct, kw_only=True, frozen=True):
    """What a lock is: `fence` is the highest it ever had, `waiting` requests stand in line."""

    name: str
    held: bool
    fence: int
    revision: int
    waiting: int
    owner: str | None = None
    expires_at: datetime | None = None


class Lock:
    """A lock that is held, as far as this machine can know without asking."""

    def __init__(self, taken: Grant) -> None:
        self.name, self.owner, self.fence, self.ttl_seconds = taken.name, taken.owner, taken.fence, taken.ttl_seconds
        self.grant: Final = taken.grant
        self.relied_until = taken.relied_until
        self.ended: str = ""

    def __repr__(self) -> str:
        return f"Lock({self.name!r}, fence={self.fence})"

    @property
    def remaining_seconds(self) -> float:
        """How long it is held yet, unless renewed; 0 once it is lost."""
        return 0.0 if self.ended else max(0.0, self.relied_until - CLOCK())

    @property
    def held(self) -> bool:
        """Whether it is held. No network is asked."""
        return self.remaining_seconds > 0

    def ensure_held(self) -> None:
        """Go on only while the lock is held. No network is asked; what is written should carry `grant` besides.

        Raises:
            LockLost: it is not.
        """
        if not self.held:
            raise self.lost()

    def lost(self) -> LockLost:
        """The exception that tells why the lock is lost."""
        why = self.ended or "its time is over"
        return LockLost(
            Said(
                409,
                "lock_lost",
                "The lock is lost",
                f"The lock {self.name}, held under fence {self.fence}, is lost: {why}.",
            )
        )
