"""approvals: a question about one exact artifact, who asks it of whom, and what was done to it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from steadhold.access import Actor, Kind
from steadhold.kit.rules import Comment, Seconds, Text, Uuid

State: TypeAlias = Literal["pending", "approved", "rejected", "expired", "withdrawn"]
Grant: TypeAlias = Literal["unused", "used", "revoked", "lapsed"]
Decision: TypeAlias = Literal["approve", "reject"]
Act: TypeAlias = Literal["request", "approve", "reject", "withdraw", "use", "revoke"]
Reason: TypeAlias = Literal[
    "unused", "same_use", "artifact_mismatch", "pending", "rejected", "expired", "withdrawn", "used", "revoked",
    "lapsed",
]  # fmt: skip
"""Why a grant may be used (the first two), or may not."""

STATES: Final[tuple[State, ...]] = ("pending", "approved", "rejected", "expired", "withdrawn")
MOVES: Final[dict[str, set[str]]] = {
    "pending": {"approved", "rejected", "expired", "withdrawn"},
    "approved": set(),
    "rejected": set(),
    "expired": set(),
    "withdrawn": set(),
    "unused": {"used", "revoked", "lapsed"},
    "used": set(),
    "revoked": set(),
    "lapsed": set(),
}
"""Both machines: outcomes first, then the grant of what was approved. An outcome never changes."""

WHOEVER_ASKS: Final = "approvals:request"
WHOEVER_VOTES: Final = "approvals:vote"
"""Who may decide where nobody is named: every person whose key may vote."""

USABLE_SECONDS: Final = 86_400.0
WARNED_AFTER: Final = 0.8
"""How much of its life has passed when `approval.expiring` is told."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


# --- what is asked, and by whom ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Artifact:
    """Exactly what is decided about: which thing, which version, and the hash of its bytes ("sha256:…", "sha512:…").

    `length`, in bytes, is told to who decides, and is no part of its identity: the hash covers it.
    """

    reference: str
    version: str
    hash: str
    length: int | None = None

    @classmethod
    def of(cls, reference: str, version: str, data: bytes) -> Artifact:
        """The artifact that these bytes are."""
        return cls(reference, version, f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))

    def same(self, other: Artifact) -> bool:
        """Whether both name the same bytes of the same version. What has no hash is the same as nothing."""
        mine, others = (self.reference, self.version, self.hash), (other.reference, other.version, other.hash)
        return bool(self.hash) and mine == others


def hash_fault(hash: str) -> str | None:
    """Why no artifact can have this hash, as a sentence; None when one can."""
    if _HASH.fullmatch(hash):
        return None
    return 'A hash is "sha256:" with 64, or "sha512:" with 128, of the characters 0-9 and a-f.'


@dataclass(frozen=True, slots=True)
class By:
    """Who acts: the subject, kind and scopes of the key. `key_id` is None for whoever sits at the database itself."""

    subject: str
    kind: Kind
    scopes: tuple[str, ...]
    key_id: str | None = None
    operation_id: str | None = None

    @property
    def actor(self) -> Actor:
        """The same, for the audit."""
        return Actor(self.subject, self.key_id, self.operation_id)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `approvers` are subjects, or one scope: every person whose key has it. Frozen once it is asked.

    `quorum` distinct approvers have to approve within `expires_in_seconds`; then it may be acted on, once, within
    `usable_seconds` of the decision. The requester does not decide unless `allow_requester`.
    """

    id: Uuid
    artifact: Artifact
    action: Text
    title: Text
    expires_in_seconds: Seconds
    note: Comment | None = None
    approvers: tuple[str, ...] | str = WHOEVER_VOTES
    quorum: int = 1
    usable_seconds: Seconds = USABLE_SECONDS
    allow_requester: bool = False


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody did to an approval, which raised it to `revision`; `scopes` are those of the key at the time."""

    revision: int
    act: Act
    subject: str
    key_id: str | None
    scopes: tuple[str, ...]
    comment: str | None
    at: datetime

    @classmethod
    def read(cls, revision: int, act: Act, subject: str, key_id: str | None, scopes: list[str], *rest: Any) -> Deed:
        """Make one of a row, whose scopes are an array."""
        return cls(revision, act, subject, key_id, tuple(scopes), *rest)


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval as its row says it, at `now` by the database's clock. `deeds` are what was done to it, in order.

    `floor`: its next revision is above that, too (design law 13).
    """

    id: str
    revision: int
    artifact: Artifact
    action: str
    title: str
    note: str | None
    requester: str
    approvers: tuple[str, ...] | str
    quorum: int
    allow_requester: bool
    created_at: datetime
    expires_at: datetime
    usable_seconds: float
    state: State
    ended_at: datetime | None
    grant: Grant | None
    usable_until: datetime | None
    grant_ended_at: datetime | None
    use_id: str | None
    warned: bool
    now: datetime
    floor: int
    deeds: tuple[Deed, ...] = ()

    @classmethod
    def read(cls, id: str, revision: int, *row: Any) -> Approval:
        """Make one of a row: the artifact's four columns, four texts, the approvers' two, then the rest."""
        subjects, scope = row[8:10]
        approvers: tuple[str, ...] | str = scope if subjects is None else tuple(subjects)
        columns: list[Any] = [id, revision, Artifact(*row[:4]), *row[4:8], approvers, *row[10:]]
        return cls(*columns)

    @property
    def votes(self) -> tuple[Deed, ...]:
        """What was voted."""
        return tuple(deed for deed in self.deeds if deed.act in ("approve", "reject"))

    @property
    def due_at(self) -> datetime | None:
        """When time alone will move it."""
        if self.state == "pending":
            return self.expires_at if self.warned else self.warn_at
        return self.usable_until if self.grant == "unused" else None

    @property
    def warn_at(self) -> datetime:
        """When most of its life has passed."""
        return self.created_at + (self.expires_at - self.created_at) * WARNED_AFTER

    def raised(self, steps: int) -> int:
        """The revision that so many changes make."""
        return max(self.revision, self.floor) + steps
