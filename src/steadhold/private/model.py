"""private: prefixes under which a room keeps envelopes alone, and why it refuses anything else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Refusal
from steadhold.kit.sealed import OPENING, Kind, Seal, SealFault, seal_of

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


@dataclass(frozen=True, slots=True)
class RewrapNeeded(Refusal):
    """What is sealed cannot go to another name (422 `rewrap_needed`): open it, and seal it for that."""


SealRefusal: TypeAlias = PlaintextRefused | EnvelopeMismatch | NotPrivate
MakeOutcome: TypeAlias = Prefix | PlaintextPresent | RevisionConflict
LiftOutcome: TypeAlias = Prefix | Missing | RevisionConflict


def revision_of(workspace: str, kind: Kind, name: str, body: bytes | None) -> int | None:
    """The revision that an envelope for a name is bound to, `ELSEWHERE` for one of another; None for plaintext."""
    return (
        None if body is None or not body.startswith(OPENING) else bound_revision(workspace, kind, name, seal_of(body))
    )


def bound_revision(workspace: str, kind: Kind, name: str, said: Seal | SealFault) -> int | None:
    """The revision that a seal is bound to, `ELSEWHERE` for one of another name; None for what is none."""
    if isinstance(said, SealFault):
        return None
    there = (said.bound.workspace, said.bound.kind, said.bound.name) == (workspace, kind, name)
    return said.bound.revision if there else ELSEWHERE


def judged(sealed: int | None, next_revision: int) -> PlaintextRefused | EnvelopeMismatch | None:
    """Why a write under a private prefix, which will be `next_revision`, stores nothing."""
    if sealed is None:
        return PlaintextRefused()
    return None if sealed == next_revision else EnvelopeMismatch(next_revision)


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
