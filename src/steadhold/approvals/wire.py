"""approvals: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from steadhold.approvals.model import USABLE_SECONDS, WHOEVER_VOTES, Decision, Grant, Reason, State
from steadhold.kit import limits
from steadhold.kit.ids import NO_NUL
from steadhold.kit.rules import Comment, Hash, Id, Seconds, Text
from steadhold.web.reply import Instant

Version: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX, pattern=NO_NUL)]
Seen: TypeAlias = Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX, pattern=NO_NUL)]
Number: TypeAlias = Annotated[int, Meta(ge=1, le=limits.APPROVERS_MAX)]
Approvers: TypeAlias = Annotated[list[Id], Meta(min_length=1, max_length=limits.APPROVERS_MAX)] | str


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken in: members that are not known are refused."""


class ArtifactBody(Taken, kw_only=True, frozen=True):
    """Exactly what is decided about. `length` counts bytes."""

    reference: Text
    version: Version
    hash: Hash
    length: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class RequestBody(Taken, kw_only=True, frozen=True):
    """A question. `approvers` are subjects, or a scope: every person whose key has it."""

    artifact: ArtifactBody
    action: Text
    title: Text
    expires_in_seconds: Seconds
    note: Comment | None = None
    approvers: Approvers = WHOEVER_VOTES
    quorum: Number = 1
    usable_seconds: Seconds = USABLE_SECONDS
    allow_requester: bool = False


class VoteBody(Taken, kw_only=True, frozen=True):
    """A vote, with the hash of what the voter has seen: without it, or with another, it is a mismatch."""

    decision: Decision
    hash: Seen = ""
    comment: Comment | None = None


class VerifyBody(Taken, kw_only=True, frozen=True):
    """What is about to be acted on. What is left out matches nothing."""

    reference: Seen = ""
    version: Seen = ""
    hash: Seen = ""
    use_id: Id | None = None


class UseBody(Taken, kw_only=True, frozen=True):
    """What is acted on, and by which act. What is left out matches nothing."""

    use_id: Id
    reference: Seen = ""
    version: Seen = ""
    hash: Seen = ""


class NothingBody(Taken, kw_only=True, frozen=True):
    """Nothing has to be said."""


class ArtifactItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What is decided about."""

    reference: str
    version: str
    hash: str
    length: int | None = None


class VoteItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Who voted what, by which key, and with which scopes it had then."""

    subject: str
    decision: Decision
    at: Instant
    scopes: tuple[str, ...]
    key_id: str | None = None
    comment: str | None = None


class GrantItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What follows from an approval: it is used once, before `usable_until`. `by` used or revoked it."""

    state: Grant
    usable_until: Instant
    ended_at: Instant | None = None
    use_id: str | None = None
    by: str | None = None


class ApprovalItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An approval as it stands. `grant` is there once it is approved."""

    approval_id: str
    revision: int
    state: State
    artifact: ArtifactItem
    action: str
    title: str
    requester: str
    approvers: tuple[str, ...] | str
    quorum: int
    allow_requester: bool = msgspec.field()
    created_at: Instant
    expires_at: Instant
    usable_seconds: float
    votes: list[VoteItem] = msgspec.field()
    note: str | None = None
    ended_at: Instant | None = None
    grant: GrantItem | UnsetType = UNSET


class VerdictReply(msgspec.Struct, kw_only=True, frozen=True):
    """Whether exactly this artifact may be acted on now, and why."""

    approved: bool
    reason: Reason
