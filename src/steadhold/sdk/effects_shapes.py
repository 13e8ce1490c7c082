"""effects: what is asked and answered, as types; and the refusals that a program acts on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from steadhold.kit import exact
from steadhold.kit.exact import JsonValue
from steadhold.sdk.errors import Problem

Execution: TypeAlias = Literal["planned", "initiated", "abandoned", "succeeded", "failed", "unknown"]
Settled: TypeAlias = Literal["none", "pending", "settled", "reversed", "disputed"]
Reconciliation: TypeAlias = Literal["not_needed", "needed", "reconciled"]
Told: TypeAlias = Literal["succeeded", "failed", "unknown"]
Settling: TypeAlias = Literal["pending", "settled", "reversed", "disputed"]
Verdict: TypeAlias = Literal["succeeded", "failed", "abandoned"]
Machine: TypeAlias = Literal["execution", "settlement", "reconciliation", "evidence"]


def digest_of(request: JsonValue | bytes) -> str:
    """The `request_digest` of what will be sent: the SHA-256 of its bytes, or of its exact JSON."""
    data = request if isinstance(request, bytes) else exact.encode(request)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """An action outside, and its three states. `open`: something is not decided, or somebody has to look."""

    effect_id: str
    revision: int
    execution: Execution
    settlement: Settled
    reconciliation: Reconciliation
    open: bool
    kind: str
    target: str
    request_digest: str
    repeatable: bool
    initiations: int
    planned_by: str
    planned_at: datetime
    expires_at: datetime
    yours: bool = False
    amount: str | None = None
    currency: str | None = None
    job_id: str | None = None
    root_job_id: str | None = None
    data_ref: str | None = None
    causation_id: str | None = None
    no_effect: bool = False
    initiated_at: datetime | None = None
    answer_by: datetime | None = None
    settles_by: datetime | None = None
    needed_for: Sequence[str] = ()
    needed_since: datetime | None = None
    venue_ref: str | None = None
    evidence_ref: str | None = None

    @property
    def ended(self) -> bool:
        """Whether all of it is decided, and nobody has to look. A new fact may open it again."""
        return not self.open


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a history: which state moved, from where and where to; or, as `evidence`, a fact that was kept."""

    revision: int
    machine: Machine
    at: datetime
    actor: str
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    because: str | None = None
    said: str | None = None
    venue_ref: str | None = None
    evidence_ref: str | None = None
    evidence_id: str | None = None
    key_id: str | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A charge that a journal keeps."""

    entry_id: str
    journal: str
    amount: str
    currency: str
    recorded_at: datetime
    actor: str
    effect_id: str | None = None
    data_ref: str | None = None
    causation_id: str | None = None
    note: str | None = None
    key_id: str | None = None


class AlreadyInitiated(Problem, codes=("already_initiated",)):
    """The action was begun before: do not act."""

    @property
    def execution(self) -> str:
        """Where it is."""
        return str(self.extras.get("execution", ""))


class EffectConflict(Problem, codes=("effect_conflict",)):
    """Another action was planned under this id."""


class EvidenceConflict(Problem, codes=("evidence_conflict",)):
    """Another fact was taken under this identity."""


class EntryConflict(Problem, codes=("entry_conflict",)):
    """Another charge is kept under this id."""


class NotNeeded(Problem, codes=("not_needed",)):
    """There is nothing to reconcile."""
