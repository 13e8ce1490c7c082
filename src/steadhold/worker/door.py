"""What a worker needs of whoever keeps the jobs: the same verbs over HTTP and directly on PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from steadhold.jobs.model import Settlement
from steadhold.jobs.outcomes import Beat, Beaten, Checkpoint, Claimed
from steadhold.jobs.plans import CheckpointOutcome
from steadhold.jobs.settling import SettleOutcome
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.worker.effects_door import EffectsDoor


class DoorShut(Exception):
    """No answer came. Every verb may be said again: one that took effect before answers the same."""


class Jammed(DoorShut):
    """A stranger holds a row of one of these, and nothing was done: each apart delays only itself."""


class DoorRefused(Exception):
    """The door is open, and not to us: the key, its scopes or the address are wrong. Saying it again mends nothing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A claim. `key` makes a second claim under it answer what the first took; `floor` is a hint."""

    worker: str
    types: tuple[str, ...]
    limit: int
    lease_seconds: float | None
    versions: tuple[str, ...]
    floor: datetime
    key: str
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage to be committed: exact JSON, and the digest of what it was given."""

    id: str
    fence: int
    name: str
    result: bytes
    input_digest: bytes | None


class Door(Protocol):
    """Plays a worker's verbs. Each raises `DoorShut` where nobody can say what happened."""

    wakes: bool
    """Whether a claim that finds nothing waits for something, up to its `wait_seconds`."""

    claim_max: int
    """How many jobs one claim may take."""

    effects: EffectsDoor
    """The verbs of effects."""

    async def claim(self, ask: Ask) -> list[Claimed]:
        """Take jobs."""
        ...

    async def heartbeat_many(self, beats: Sequence[Beat]) -> Sequence[Beaten | StaleFence]:
        """Renew leases, one answer each."""
        ...

    async def checkpoint(self, stage: Stage) -> CheckpointOutcome:
        """Commit a stage."""
        ...

    async def stage(self, id: str, name: str) -> Checkpoint | Missing:
        """Read a committed stage."""
        ...

    async def settle_many(self, settlements: Sequence[Settlement], *, patient: bool = False) -> Sequence[SettleOutcome]:
        """Say what became of jobs, one answer each. `patient`: wait for a row that a stranger holds.

        Raises:
            Jammed. DoorShut.
        """
        ...

    async def listen(self, woken: Callable[[str], None]) -> None:
        """Call `woken` with a type whenever somebody says that a job of it is ready; until it is cancelled."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


Doors: TypeAlias = Callable[[], Awaitable[Door]]
"""Opens a door in the event loop that asks: one for the work, another for renewing leases."""
