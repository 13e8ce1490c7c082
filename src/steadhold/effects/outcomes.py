"""What the verbs of effects come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from steadhold import context
from steadhold.effects.model import Effect, Entered
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal


@dataclass(frozen=True, slots=True)
class Moved:
    """It took effect, now or (`repeated`) when it was said before; the effect as it stands, or stood then."""

    effect: Effect
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """The entry of a journal, made now or (`repeated`) before."""

    entered: Entered
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class EffectConflict(Refusal):
    """Another effect has this id (409)."""

    id: str


@dataclass(frozen=True, slots=True)
class AlreadyInitiated(Refusal):
    """Somebody began it, so nobody else may (409)."""

    id: str
    execution: str


@dataclass(frozen=True, slots=True)
class MoveNotPermitted(Refusal):
    """A state does not lead there (409)."""

    id: str
    from_state: str
    to_state: str


@dataclass(frozen=True, slots=True)
class NotNeeded(Refusal):
    """There is nothing to reconcile (409)."""

    id: str
    reconciliation: str


@dataclass(frozen=True, slots=True)
class EvidenceConflict(Refusal):
    """Another fact was taken under this identity (409)."""

    evidence_id: str


@dataclass(frozen=True, slots=True)
class EntryConflict(Refusal):
    """Another charge has this id (409)."""

    id: str


Common: TypeAlias = RevisionConflict | Missing
PlanOutcome: TypeAlias = Moved | EffectConflict | context.Unresolved | StaleFence
InitiateOutcome: TypeAlias = Moved | AlreadyInitiated | MoveNotPermitted | StaleFence | Common
FactOutcome: TypeAlias = Moved | EvidenceConflict | MoveNotPermitted | Common
AbandonOutcome: TypeAlias = Moved | MoveNotPermitted | Common
ReconcileOutcome: TypeAlias = Moved | NotNeeded | EvidenceConflict | MoveNotPermitted | Common
EnterOutcome: TypeAlias = Recorded | EntryConflict
