"""effects: what left the building keeps its own identity and history, whatever becomes of the job that began it."""

from __future__ import annotations

from steadhold.effects.journals import enter, entries
from steadhold.effects.model import Effect, Entered, Entry, Fact, Intent, Kept
from steadhold.effects.outcomes import (
    AlreadyInitiated,
    EffectConflict,
    EntryConflict,
    EvidenceConflict,
    Moved,
    MoveNotPermitted,
    NotNeeded,
    Recorded,
)
from steadhold.effects.plans import (
    abandon,
    effects,
    get,
    history,
    initiate,
    outcome,
    pass_time,
    plan,
    reconcile,
    settle,
)

__all__ = [
    "AlreadyInitiated",
    "Effect",
    "EffectConflict",
    "Entered",
    "Entry",
    "EntryConflict",
    "EvidenceConflict",
    "Fact",
    "Intent",
    "Kept",
    "MoveNotPermitted",
    "Moved",
    "NotNeeded",
    "Recorded",
    "abandon",
    "effects",
    "enter",
    "entries",
    "get",
    "history",
    "initiate",
    "outcome",
    "pass_time",
    "plan",
    "reconcile",
    "settle",
]
