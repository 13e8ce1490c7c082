"""What a handler's effects need of whoever keeps them: the same verbs over HTTP and directly on PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from steadhold.effects.model import Intent, Told
from steadhold.effects.outcomes import AlreadyInitiated, EffectConflict, MoveNotPermitted
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an effect stands."""

    revision: int
    execution: str
    initiations: int = 0
    no_effect: bool = False
    venue_ref: str | None = None
    evidence_ref: str | None = None


Planned: TypeAlias = Standing | EffectConflict | StaleFence
Begun: TypeAlias = Standing | AlreadyInitiated | MoveNotPermitted | StaleFence
Said: TypeAlias = Standing | RevisionConflict | MoveNotPermitted


@dataclass(frozen=True, slots=True)
class Start:
    """That an action begins. `key` makes the same again answer the same, to the same owner of the job alone."""

    id: str
    grant: FenceRef
    answer_within_seconds: float
    key: str


@dataclass(frozen=True, slots=True)
class Report:
    """What came of an action; `revision`: only if nobody has said anything since.

    Said again after its answer was lost, it is the same fact by its `evidence_id`.
    """

    id: str
    execution: Told
    no_effect: bool = False
    venue_ref: str | None = None
    evidence_ref: str | None = None
    evidence_id: str | None = None
    revision: int | None = None


class EffectsDoor(Protocol):
    """Plays the verbs of effects. Each raises `DoorShut` where nobody can say what happened."""

    async def plan(self, intent: Intent, fence: int) -> Planned:
        """Write an action down, or find the one that there is."""
        ...

    async def initiate(self, start: Start) -> Begun:
        """Say that it begins now."""
        ...

    async def outcome(self, report: Report) -> Said:
        """Say what came of it."""
        ...

    async def look(self, id: str) -> Standing | Missing:
        """Read where it stands."""
        ...
