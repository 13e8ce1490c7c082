"""private: prefixes under which a room keeps envelopes alone, and why it refuses anything else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Refusal
from steadhold.kit.sealed import OPENING, Kind, SealFault, seal_of

ELSEWHERE: Final = -1
"""The revision of an envelope that is bound to another place: no write makes it."""
NAMES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Prefix:
    """A private prefix."""

    prefix: str
    revision: int
    made_at: datetime
    made: bool = False


@dataclass(frozen=True, slots=True)
class PlaintextPresent(Refusal):
    """Names under the prefix hold what can be read (409 `plaintext_present`); `names` are the first of them."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaintextRefused(Refusal):
    """What would be stored under a private prefix is no envelope of the profile (422 `plaintext_refused`)."""

    why: str = "Under a private prefix lies nothing but envelopes."


@dataclass(frozen=True, slots=True)
class EnvelopeMismatch(Refusal):
    """The envelope is bound to another place or revision (422 `envelope_mismatch`); the write makes `next_revision`."""

    next_revision: int


@dataclass(frozen=True, slots=True)
class NotPrivate(Refusal):
    """An envelope where no private prefix is (422 `not_private`): its reader would take it for what it is not."""


SealRefusal: TypeAlias = PlaintextRefused | EnvelopeMismatch | NotPrivate
MakeOutcome: TypeAlias = Prefix | PlaintextPresent | RevisionConflict
LiftOutcome: TypeAlias = Prefix | Missing | RevisionConflict


def revision_of(workspace: str, kind: Kind, name: str, body: bytes | None) -> int | None:
    """The revision that an envelope for a name is bound to, `ELSEWHERE` for one of another; None for plaintext."""
    if body is None or not body.startswith(OPENING):
        return None
    said = seal_of(body)
    if isinstance(said, SealFault):
        return None
    there = (said.bound.workspace, said.bound.kind, said.bound.name) == (workspace, kind, name)
    return said.bound.revision if there else ELSEWHERE


def refusal(why: str, next_revision: int) -> SealRefusal | None:
    """What a statement says that judged a write: `plaintext`, `mismatch` or `open`."""
    match why:
        case "plaintext":
            return PlaintextRefused()
        case "mismatch":
            return EnvelopeMismatch(next_revision)
        case "open":
            return NotPrivate()
        case _:
            return None
