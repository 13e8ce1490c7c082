"""approvals: what is asked and answered, as types; and the refusals that a program acts on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self, TypeAlias

import msgspec

from steadhold.sdk.context_shapes import File
from steadhold.sdk.errors import Problem

State: TypeAlias = Literal["pending", "approved", "rejected", "expired", "withdrawn"]
Decision: TypeAlias = Literal["approve", "reject"]
Algorithm: TypeAlias = Literal["sha256", "sha512"]


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Exactly what is decided about: which thing, which version of it, and the hash of its bytes."""

    reference: str
    version: str
    hash: str
    length: int | None = None

    @classmethod
    def of(cls, reference: str, version: str, data: bytes, *, algorithm: Algorithm = "sha256") -> Self:
        """The artifact that these bytes are. Hash what you will act on, just before you act on it."""
        digest = hashlib.new(algorithm, data).hexdigest()
        return cls(reference, version, f"{algorithm}:{digest}", len(data))

    @classmethod
    def of_file(cls, file: File) -> Self:
        """The artifact that a file of context is, at this revision: its bytes stay as long as the approval does.

        Of one that is sealed, that is the envelope.
        """
        stored = file.stored
        return cls(file.reference, str(file.revision), f"sha256:{stored.digest.hex()}", stored.bytes)

    def named(self) -> dict[str, str]:
        """The three members by which it is known."""
        return {"reference": self.reference, "version": self.version, "hash": self.hash}


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """Who voted what, by which key, and with which scopes it had then."""

    subject: str
    decision: Decision
    at: datetime
    scopes: Sequence[str] = ()
    key_id: str | None = None
    comment: str | None = None


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an approval: it is used once, before `usable_until`. `by` used or revoked it."""

    state: Literal["unused", "used", "revoked", "lapsed"]
    usable_until: datetime
    ended_at: datetime | None = None
    use_id: str | None = None
    by: str | None = None


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A question, its votes and its outcome; `grant` is there once it is approved."""

    approval_id: str
    revision: int
    state: State
    artifact: Artifact
    action: str
    title: str
    requester: str
    approvers: Sequence[str] | str
    quorum: int
    allow_requester: bool
    created_at: datetime
    expires_at: datetime
    usable_seconds: float
    votes: Sequence[Vote] = ()
    note: str | None = None
    ended_at: datetime | None = None
    grant: Grant | None = None

    @property
    def ended(self) -> bool:
        """Whether it has its outcome, which stays."""
        return self.state != "pending"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether exactly an artifact may be acted on now, and why."""

    approved: bool
    reason: str


class NotApprover(Problem, codes=("not_approver", "not_requester")):
    """This key does not decide here."""


class ApprovalEnded(Problem, codes=("approval_ended",)):
    """The approval has its outcome."""

    @property
    def outcome(self) -> str:
        """The outcome."""
        return str(self.extras.get("outcome", ""))


class AlreadyVoted(Problem, codes=("already_voted",)):
    """This subject voted, and otherwise."""


class ArtifactMismatch(Problem, codes=("artifact_mismatch",)):
    """What was named is not exactly what is decided about."""


class AlreadyUsed(Problem, codes=("already_used",)):
    """Another use has it."""


class NotUsable(Problem, codes=("not_usable",)):
    """There is no grant, or none any more."""

    @property
    def reason(self) -> str:
        """What the approval, or its grant, is instead."""
        return str(self.extras.get("reason", ""))
