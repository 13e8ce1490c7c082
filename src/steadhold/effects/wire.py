"""effects: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from steadhold.effects.model import (
    AMOUNT_PATTERN,
    ANSWER_WITHIN_SECONDS,
    CURRENCY_PATTERN,
    EXPIRES_IN_SECONDS,
    Execution,
    Machine,
    Reconciliation,
    Settled,
    Settling,
    Told,
    Verdict,
)
from steadhold.kit import limits
from steadhold.kit.ids import HASH_PATTERN, ID_PATTERN, NO_NUL, UUID_PATTERN, whole
from steadhold.web.reply import Instant

Id: TypeAlias = Annotated[str, Meta(pattern=whole(ID_PATTERN))]
JobId: TypeAlias = Annotated[str, Meta(pattern=whole(UUID_PATTERN))]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.TEXT_CHARS_MAX, pattern=NO_NUL)]
Hash: TypeAlias = Annotated[str, Meta(pattern=whole(HASH_PATTERN))]
Amount: TypeAlias = Annotated[str, Meta(pattern=whole(AMOUNT_PATTERN))]
Currency: TypeAlias = Annotated[str, Meta(pattern=whole(CURRENCY_PATTERN))]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=limits.DELAY_SECONDS_MAX)]
Fence: TypeAlias = Annotated[int, Meta(ge=1, le=999_999_999_999_999)]


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken in: members that are not known are refused."""


class PlanBody(Taken, kw_only=True, frozen=True):
    """An action that is meant. An amount is a decimal in a string, and has a currency."""

    effect_id: Id
    kind: Id
    target: Text
    request_digest: Hash
    repeatable: bool = False
    expires_in_seconds: Seconds = EXPIRES_IN_SECONDS
    job_id: JobId | None = None
    job_fence: Fence | None = None
    amount: Amount | None = None
    currency: Currency | None = None
    data_ref: Text | None = None
    causation_id: Text | None = None


class InitiateBody(Taken, kw_only=True, frozen=True):
    """The action begins now."""

    job_fence: Fence | None = None
    answer_within_seconds: Seconds = ANSWER_WITHIN_SECONDS


class OutcomeBody(Taken, kw_only=True, frozen=True):
    """What came of it. `no_effect` is for failures: nothing happened outside."""

    execution: Told
    no_effect: bool = False
    venue_ref: Text | None = None
    evidence_ref: Text | None = None
    evidence_id: Id | None = None


class SettlementBody(Taken, kw_only=True, frozen=True):
    """What became of the money."""

    to: Settling
    settles_within_seconds: Seconds | None = None
    evidence_ref: Text | None = None
    evidence_id: Id | None = None


class ReconcileBody(Taken, kw_only=True, frozen=True):
    """What somebody found who looked, and at what."""

    outcome: Verdict
    evidence_ref: Text
    evidence_id: Id | None = None


class NothingBody(Taken, kw_only=True, frozen=True):
    """Nothing has to be said."""


class EntryBody(Taken, kw_only=True, frozen=True):
    """A charge."""

    entry_id: Id
    amount: Amount
    currency: Currency
    effect_id: Id | None = None
    data_ref: Text | None = None
    causation_id: Text | None = None
    note: Text | None = None


class EffectItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An effect as it stands. `yours` is said to whoever may act now."""

    effect_id: str
    revision: int
    execution: Execution = msgspec.field()
    settlement: Settled = msgspec.field()
    reconciliation: Reconciliation = msgspec.field()
    open: bool = msgspec.field()
    kind: str
    target: str
    request_digest: str
    repeatable: bool = msgspec.field()
    initiations: int = msgspec.field()
    planned_by: str
    planned_at: Instant
    expires_at: Instant
    yours: bool | UnsetType = UNSET
    amount: str | None = None
    currency: str | None = None
    job_id: str | None = None
    root_job_id: str | None = None
    data_ref: str | None = None
    causation_id: str | None = None
    no_effect: bool = False
    initiated_at: Instant | None = None
    answer_by: Instant | None = None
    settles_by: Instant | None = None
    needed_for: tuple[str, ...] = ()
    needed_since: Instant | None = None
    venue_ref: str | None = None
    evidence_ref: str | None = None


class HistoryItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line of a history: which state moved, from where and to where; or, as `evidence`, a fact that was kept."""

    revision: int
    machine: Machine = msgspec.field()
    at: Instant
    actor: str
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    because: str | None = None
    said: str | None = None
    venue_ref: str | None = None
    evidence_ref: str | None = None
    evidence_id: str | None = None
    key_id: str | None = None


class EntryItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A charge as it is kept."""

    entry_id: str
    journal: str
    amount: str
    currency: str
    recorded_at: Instant
    actor: str
    effect_id: str | None = None
    data_ref: str | None = None
    causation_id: str | None = None
    note: str | None = None
    key_id: str | None = None
