"""effects: an action outside, its three states, the facts that are told of it, and charges that are kept here."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steadhold.kit.ids import HASH_PATTERN, id_fault, whole
from steadhold.kit.limits import DELAY_SECONDS_MAX, TEXT_CHARS_MAX
from steadhold.kit.rules import Id, Text

Execution: TypeAlias = Literal["planned", "initiated", "abandoned", "succeeded", "failed", "unknown"]
Settled: TypeAlias = Literal["none", "pending", "settled", "reversed", "disputed"]
Reconciliation: TypeAlias = Literal["not_needed", "needed", "reconciled"]
Machine: TypeAlias = Literal["execution", "settlement", "reconciliation", "evidence"]
"""Which state a line of a history moved; `evidence`: none, it is a fact that was kept."""
Reason: TypeAlias = Literal["unknown_outcome", "contradiction", "settlement_overdue"]
"""Why somebody has to look."""
Told: TypeAlias = Literal["succeeded", "failed", "unknown"]
Verdict: TypeAlias = Literal["succeeded", "failed", "abandoned"]
Settling: TypeAlias = Literal["pending", "settled", "reversed", "disputed"]

RECONCILIATIONS: Final[tuple[Reconciliation, ...]] = ("not_needed", "needed", "reconciled")
MOVES: Final[dict[str, set[str]]] = {
    "planned": {"initiated", "abandoned"},
    "initiated": {"succeeded", "failed", "unknown"},
    "unknown": {"succeeded", "failed", "initiated"},
    "pending": {"settled", "reversed", "disputed"},
    "disputed": {"settled", "reversed"},
    "needed": {"reconciled"},
}
"""Where the states lead that wait for something, each with its bound and its sweep."""

AT_REST: Final[dict[str, set[str]]] = {
    "abandoned": set(),
    "succeeded": {"failed"},
    "failed": {"succeeded", "initiated"},
    "none": {"pending", "settled"},
    "settled": {"reversed", "disputed"},
    "reversed": set(),
    "not_needed": {"needed"},
    "reconciled": {"needed"},
}
"""Where the states lead that wait for nothing: only a new fact, or a new try, moves them."""

UNDECIDED: Final = frozenset({"planned", "initiated", "unknown", "pending", "disputed"})
EXPIRES_IN_SECONDS: Final = 86_400.0
ANSWER_WITHIN_SECONDS: Final = 300.0
SETTLES_WITHIN_SECONDS: Final = 30 * 86_400.0
ANNOUNCED_EVERY_SECONDS: Final = 86_400.0

AMOUNT_PATTERN: Final = "-?(0|[1-9][0-9]{0,19})([.][0-9]{1,18})?"
CURRENCY_PATTERN: Final = "[A-Z0-9]{3,12}"
_TEXT: Final = re.compile(f"[^\\0\ud800-\udfff]{{1,{TEXT_CHARS_MAX}}}")
_DIGEST: Final = re.compile(HASH_PATTERN)
_AMOUNT: Final = re.compile(whole(AMOUNT_PATTERN))
_CURRENCY: Final = re.compile(whole(CURRENCY_PATTERN))


@dataclass(frozen=True, slots=True)
class Intent:
    """An action that is meant. `id` is its identity outside, too: what the venue is given to know it again by.

    `request_digest` is the hash of what will be sent ("sha256:…"). `repeatable` promises that the outside does nothing
    twice under one id. An amount is an exact decimal, in a currency. It is abandoned unless it is initiated within
    `expires_in_seconds`. With a `job_id`, only whoever owns the job begins it.
    """

    id: str
    kind: str
    target: str
    request_digest: str
    repeatable: bool = False
    expires_in_seconds: float = EXPIRES_IN_SECONDS
    job_id: str | None = None
    amount: str | None = None
    currency: str | None = None
    data_ref: str | None = None
    causation_id: str | None = None


def intent_fault(intent: Intent) -> str | None:
    """Why an action cannot be planned so, as a sentence; None when it can."""
    if fault := next((why for name in (intent.id, intent.kind) if (why := id_fault(name))), None):
        return fault
    if not _DIGEST.fullmatch(intent.request_digest):
        return 'A digest is "sha256:" with 64, or "sha512:" with 128, of the characters 0-9 and a-f.'
    texts = (intent.target, intent.data_ref, intent.causation_id)
    if fault := next((why for text in texts if text is not None and (why := text_fault(text))), None):
        return fault
    return money_fault(intent.amount, intent.currency) or seconds_fault(intent.expires_in_seconds)


def text_fault(text: str) -> str | None:
    """Why this is no text that is kept, as a sentence; None when it is."""
    if _TEXT.fullmatch(text):
        return None
    return f"A text has 1 to {TEXT_CHARS_MAX} characters, no NUL, and no half of a pair of surrogates."


def seconds_fault(seconds: float) -> str | None:
    """Why these are no seconds that are waited for, as a sentence; None when they are."""
    return None if 0 < seconds <= DELAY_SECONDS_MAX else f"These seconds are above 0 and at most {DELAY_SECONDS_MAX}."


def money_fault(amount: str | None, currency: str | None) -> str | None:
    """Why this is no money, as a sentence; None when it is, or when nothing is said of any."""
    if amount is None and currency is None:
        return None
    if amount is None or currency is None:
        return "An amount has a currency, and a currency an amount."
    if not _AMOUNT.fullmatch(amount):
        return 'An amount is a decimal in a string, such as "12.50": up to 20 digits, and 18 after the point.'
    if not _CURRENCY.fullmatch(currency):
        return 'A currency is 3 to 12 of the characters A-Z and 0-9, such as "EUR".'
    return None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known of the world: an outcome, a settlement, or what an operator found.

    `says` is the state that it tells. Under an `evidence_id` it is taken once. `no_effect`: of a failure, that nothing
    happened outside. `within_seconds` bounds a settlement that is not over.
    """

    verb: Literal["outcome", "settlement", "reconcile"]
    says: str
    no_effect: bool = False
    venue_ref: str | None = None
    evidence_ref: str | None = None
    evidence_id: str | None = None
    within_seconds: float | None = None

    @property
    def digest(self) -> bytes:
        """By which the same fact is known again."""
        return hashlib.sha256(msgspec.json.encode(self)).digest()


@dataclass(frozen=True, slots=True)
class Line:
    """What raised an effect to `revision`: a move of one of its states, or a fact that was kept.

    `announced`: it is only told again that somebody has to look; the history has that already.
    """

    revision: int
    machine: Machine
    from_state: str | None
    to_state: str | None
    because: str | None = None
    said: str | None = None
    venue_ref: str | None = None
    evidence_ref: str | None = None
    evidence_id: str | None = None
    announced: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A line of a history as it is kept: who made it, under which key, and when."""

    revision: int
    machine: Machine
    from_state: str | None
    to_state: str | None
    at: datetime
    actor: str
    key_id: str | None
    because: str | None
    said: str | None
    venue_ref: str | None
    evidence_ref: str | None
    evidence_id: str | None


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect as its row says it, at `now` by the database's clock.

    `root_job_id` is the first job of its line, whose retries act for it too. `needed_for` are reasons, with a space
    between. `floor`: its next revision is above that, too (design law 13).
    """

    id: str
    revision: int
    kind: str
    target: str
    request_digest: str
    repeatable: bool
    amount: str | None
    currency: str | None
    data_ref: str | None
    causation_id: str | None
    job_id: str | None
    root_job_id: str | None
    planned_by: str
    planned_at: datetime
    expires_in_seconds: float
    expires_at: datetime
    execution: Execution
    settlement: Settled
    reconciliation: Reconciliation
    no_effect: bool
    initiations: int
    initiated_at: datetime | None
    answer_by: datetime | None
    settles_by: datetime | None
    needed_for: str
    needed_since: datetime | None
    announce_at: datetime | None
    venue_ref: str | None
    evidence_ref: str | None
    now: datetime
    floor: int

    @property
    def open(self) -> bool:
        """Whether something of it is not decided, or somebody has to look."""
        return bool(UNDECIDED & {self.execution, self.settlement}) or self.reconciliation == "needed"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why somebody has to look."""
        return tuple(self.needed_for.split())

    @property
    def due_at(self) -> datetime | None:
        """When time alone will do something to it."""
        bounds = [self.answer_by, self.settles_by, self.announce_at]
        if self.execution == "planned":
            bounds.append(self.expires_at)
        return min((at for at in bounds if at is not None), default=None)

    @property
    def next_revision(self) -> int:
        """What its next change makes of it."""
        return max(self.revision, self.floor) + 1

    def is_for(self, intent: Intent, root: str | None) -> bool:
        """Whether it is the effect of this intent, of its very job or of a job whose line began with `root`.

        An effect outlives its job: that job is known when its line is not any more.
        """
        mine = [getattr(self, name) for name in SAME]
        line = self.job_id == intent.job_id or (root is not None and self.root_job_id == root)
        return line and mine == [getattr(intent, name) for name in SAME]


SAME: Final = ("id", "kind", "target", "request_digest", "repeatable", "expires_in_seconds", "amount", "currency",
               "data_ref", "causation_id")  # fmt: skip
"""What two intents of one effect have in common, beside the line of their jobs."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge to be kept in a journal, once under its id."""

    id: str
    amount: str
    currency: str
    effect_id: Id | None = None
    data_ref: Text | None = None
    causation_id: Text | None = None
    note: Text | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """A charge as it is kept, for ever."""

    journal: str
    entry: Entry
    actor: str
    key_id: str | None
    at: datetime

    @classmethod
    def read(cls, journal: str, *row: Any) -> Entered:
        """Make one of a row: the journal, the entry's seven columns, then the rest."""
        return cls(journal, Entry(*row[:7]), *row[7:])
