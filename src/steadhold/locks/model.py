"""Locks: who holds one, who waits, and what becomes of an asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeAlias

from steadhold.kit.plan import Refusal
from steadhold.operations import OperationMismatch

MOVES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "held": frozenset({"released", "expired"}),
    "released": frozenset(),
    "expired": frozenset(),
    "waiting": frozenset({"granted", "gone"}),
    "granted": frozenset(),
    "gone": frozenset(),
})  # fmt: skip
"""What becomes of a grant, and of a ticket."""

KIND: Final = "lock"


@dataclass(frozen=True, slots=True)
class Granted:
    """The lock is the owner's until `until`, unless renewed. `again`: it was already, under the same operation.

    `waited_seconds` lie between this request and the grant, on the database's clock; they are below zero where the
    grant is older than the request. So the holder may rely on it until the request was sent + waited + ttl.
    """

    name: str
    owner: str
    fence: int
    ttl_seconds: float
    until: datetime
    waited_seconds: float
    server_time: datetime
    again: bool = False


@dataclass(frozen=True, slots=True)
class Held(Refusal):
    """Somebody holds the lock; or it is free (`holder` None), and goes to whoever waits for it first."""

    name: str
    holder: str | None
    expires_in_seconds: float


@dataclass(frozen=True, slots=True)
class Queued:
    """As `Held`, and the request stands in line: it is no refusal, since the ticket has to be kept."""

    name: str
    holder: str | None
    expires_in_seconds: float


@dataclass(frozen=True, slots=True)
class LockLost(Refusal):
    """The grant has ended, or never was: its operation, or its fence, is good for nothing any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Renewed:
    """The lock is held until `until`, which is its length from `server_time`."""

    name: str
    fence: int
    ttl_seconds: float
    until: datetime
    server_time: datetime


@dataclass(frozen=True, slots=True)
class Released:
    """The grant has ended. `again`: its holder had released it before. `waiting`: somebody stands in line."""

    name: str
    fence: int
    revision: int
    again: bool
    waiting: bool


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock is at `server_time`. `fence` is the highest it ever had; `until` None: nobody holds it."""

    name: str
    fence: int
    owner: str
    until: datetime | None
    revision: int
    waiting: int
    server_time: datetime

    @property
    def held(self) -> bool:
        """Whether somebody holds it."""
        return self.until is not None


@dataclass(frozen=True, slots=True)
class Lapsed:
    """The clock has ended the grant, and nobody has written that down: do so, and ask again."""


Clear: TypeAlias = Granted | Held | LockLost | OperationMismatch
Verdict: TypeAlias = Clear | Lapsed
AcquireOutcome: TypeAlias = Clear | Queued


@dataclass(frozen=True, slots=True)
class Seen:
    """What one try to take a lock saw; the fields are the columns of its row.

    `won`: this try took it. Fence, holder, length and end are those of the row as it is now, `last` tells whether
    this operation took it last, `used` whether it ever did, `behind` that others come first.
    """

    won: bool
    fence: int | None
    holder: str | None
    length_seconds: float | None
    until: datetime | None
    revision: int | None
    lag_seconds: float | None
    last: bool
    used: bool
    behind: bool
    asked_at: datetime | None
    live_until: datetime | None
    now: datetime

    @property
    def held(self) -> bool:
        """Whether somebody holds the lock."""
        return self.until is not None and self.until > self.now


def subject_of(name: str) -> str:
    """The subject of a lock's grant, and of its events."""
    return f"{KIND}:{name}"


def name_of(subject: str) -> str:
    """The lock that a subject is about."""
    return subject.partition(":")[2]


def judge(name: str, owner: str, operation_id: str | None, seen: Seen) -> Verdict | None:
    """Say what a try came to. None: the lock changed hands meanwhile, so look again."""
    if seen.won:
        return granted(name, owner, seen)
    if seen.used or seen.last:
        if not (seen.last and seen.held):
            return LockLost(name)
        return granted(name, owner, seen) if seen.holder == owner else OperationMismatch(operation_id or "")
    if seen.until is not None and seen.held:
        return Held(name, seen.holder, (seen.until - seen.now).total_seconds())
    if seen.behind:
        return Held(name, None, 0.0)
    return None if seen.until is None else Lapsed()


def granted(name: str, owner: str, seen: Seen) -> Granted:
    """The grant that a try took, or that its operation has."""
    assert seen.fence is not None
    assert seen.until is not None
    assert seen.length_seconds is not None
    began = seen.until - timedelta(seconds=seen.length_seconds)
    asked = (seen.asked_at or began) if seen.won else seen.now
    waited = (began - asked).total_seconds()
    return Granted(
        name, owner, seen.fence, seen.length_seconds, seen.until, waited, seen.now, again=not seen.won
    )  # fmt: skip
