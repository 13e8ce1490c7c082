"""state: what a name holds, and what a write can come to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeAlias

from steadhold.access import StorageExhausted
from steadhold.kit.limits import STATE_BYTES_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Path, Rule, json_fault
from steadhold.kit.sealed import OPENING, SealFault, seal_of
from steadhold.private import SealRefusal

__all__ = [
    "BatchOutcome",
    "Body",
    "Entry",
    "Get",
    "Missing",
    "NothingWritten",
    "Pruned",
    "Put",
    "Reading",
    "Revision",
    "RevisionConflict",
    "StaleFence",
    "StorageExhausted",
    "Stored",
    "WriteOutcome",
    "Written",
    "digest_of",
]


def body_fault(body: bytes) -> str | None:
    """Why no name can hold these bytes, as a sentence; None for exact JSON, and for an envelope."""
    if not body.startswith(OPENING):
        return json_fault(STATE_BYTES_MAX, body)
    if len(body) > STATE_BYTES_MAX:
        return f"At most {STATE_BYTES_MAX} bytes; these are {len(body)}."
    said = seal_of(body)
    return said.why if isinstance(said, SealFault) else None


Body: TypeAlias = Annotated[bytes, Rule(body_fault)]
"""What a name holds: exact JSON, or under a private prefix an envelope."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A revision of a name with its exact bytes. `digest` is their SHA-256."""

    revision: int
    body: bytes
    digest: bytes
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """This write won. `created` says that the name did not exist before."""

    revision: int
    written_at: datetime
    created: bool


@dataclass(frozen=True, slots=True)
class Pruned(Refusal):
    """The revision existed and is not kept any more; `oldest` is the first that is."""

    oldest: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a list: everything but the bytes, of which `bytes` is the count."""

    name: str
    revision: int
    bytes: int
    digest: bytes
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Revision:
    """A kept revision in a list. `deleted` says that it is the name's deletion, which has no bytes."""

    revision: int
    bytes: int
    digest: bytes
    written_at: datetime
    deleted: bool


@dataclass(frozen=True, slots=True)
class Put:
    """One write of a batch: `expected` None creates, a number replaces that revision; `body` None deletes."""

    name: Path
    body: Body | None
    expected: int | None


@dataclass(frozen=True, slots=True)
class Get:
    """One reading of a batch."""

    name: Path


@dataclass(frozen=True, slots=True)
class NothingWritten(Refusal):
    """A batch of which no write took effect, with the outcome of each item."""

    outcomes: tuple[WriteOutcome | Stored, ...]


WriteOutcome: TypeAlias = Written | RevisionConflict | Missing | StaleFence | StorageExhausted | SealRefusal
Reading: TypeAlias = Stored | Missing | Pruned
BatchOutcome: TypeAlias = list[WriteOutcome | Stored] | NothingWritten | StaleFence


def digest_of(body: bytes | None) -> bytes:
    """SHA-256 of the bytes; a deletion has none."""
    return b"" if body is None else hashlib.sha256(body).digest()


def lost(put: Put, current: int | None, *, present: bool) -> RevisionConflict | Missing:
    """Say why a write lost: against what the name holds now."""
    if put.expected is not None and not present:
        return Missing(current)
    return RevisionConflict(current or 0)


def settled(puts: Sequence[Put], outcomes: Sequence[WriteOutcome]) -> bool:
    """Tell whether at least one write of a batch took effect."""
    return any(isinstance(outcome, Written) for outcome in outcomes) or not puts
