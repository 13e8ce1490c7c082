"""What refuses a verb of webhooks: nothing was changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from steadhold.access import StorageExhausted
from steadhold.events import WritersOpen
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Refusal
from steadhold.webhooks.model import State


@dataclass(frozen=True, slots=True)
class SecretsFull(Refusal):
    """Two secrets that were rotated out still sign (409)."""


@dataclass(frozen=True, slots=True)
class Disabled(Refusal):
    """The endpoint is disabled: nothing is sent to it but a ping (409)."""


@dataclass(frozen=True, slots=True)
class Ended(Refusal):
    """The delivery has ended: there is nothing left to cancel (409)."""

    state: State


@dataclass(frozen=True, slots=True)
class ReplayEnded(Refusal):
    """The replay is over: there is nothing left to cancel (409)."""


@dataclass(frozen=True, slots=True)
class Pruned(Refusal):
    """What was asked for is past its window (410); the first that is left was made then."""

    first_retained: datetime | None


Refused: TypeAlias = (
    Missing | RevisionConflict | WritersOpen | StorageExhausted | SecretsFull | Disabled | Ended | ReplayEnded | Pruned
)
