"""access: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from steadhold.access.model import (
    Audited,
    Count,
    Entitled,
    Entitlements,
    Grace,
    JobTypes,
    Key,
    Lifetime,
    PerSecond,
    RevisionsKept,
    Workspace,
)
from steadhold.kit import limits
from steadhold.web.reply import Instant, instant, maybe_instant


class WorkspaceBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A workspace to create, and whose its first key is."""

    name: str
    subject: str = "owner"


class KeyBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A key to make. Without `expires_in_seconds` it lives as long as the key that makes it."""

    subject: str
    kind: Literal["service", "person"]
    scopes: Annotated[tuple[str, ...], Meta(max_length=limits.KEY_SCOPES_MAX)]
    expires_in_seconds: Lifetime | None = None


class RotateBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """For how long the secret before the new one still serves."""

    grace_seconds: Grace = 0.0


class WhoReply(msgspec.Struct, kw_only=True, frozen=True):
    """Who asks, where, and what the key is good for."""

    workspace: str | None
    subject: str
    key_id: str
    kind: Literal["service", "person", "operator"]
    scopes: tuple[str, ...]


class KeyItem(msgspec.Struct, kw_only=True, frozen=True):
    """What is known of a key: all but its secret."""

    key_id: str
    revision: int
    subject: str
    kind: Literal["service", "person", "operator"]
    scopes: tuple[str, ...]
    state: Literal["active", "revoked", "expired"]
    made_by: str | None
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    old_secret_until: Instant | None


class SecretReply(KeyItem, kw_only=True, frozen=True):
    """A key with its secret, which is shown once: a replay says `secret_shown` in its place."""

    workspace: str
    key: str | UnsetType = UNSET
    secret_shown: bool | UnsetType = UNSET


class WorkspaceItem(msgspec.Struct, kw_only=True, frozen=True):
    """A workspace in the list of all."""

    name: str
    created_at: Instant


class Limits(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How much a workspace may have. What is absent or null is not limited; revisions are kept as many as it says."""

    job_types: JobTypes | None = None
    jobs_queued_max: Count | None = None
    jobs_running_max: Count | None = None
    requests_per_second_max: PerSecond | None = None
    names_max: Count | None = None
    bytes_max: Count | None = None
    endpoints_max: Count | None = None
    revisions_kept: RevisionsKept = limits.REVISIONS_KEPT_DEFAULT

    def entitlements(self) -> Entitlements:
        """The same for the plan."""
        return Entitlements(**msgspec.structs.asdict(self))


class EntitlementsReply(msgspec.Struct, kw_only=True, frozen=True):
    """A workspace's limits, and what is used of them; revision 0 where none were ever set. A PUT tells no use."""

    revision: int
    limits: Limits
    used: dict[str, int] | UnsetType = UNSET


class AuditItem(msgspec.Struct, kw_only=True, frozen=True):
    """Who did what to what."""

    at: Instant
    subject: str
    key_id: str | None
    kind: str
    resource: str
    operation_id: str | None


def key_item(key: Key) -> KeyItem:
    """A key in a list."""
    return KeyItem(**_members(key))


def secret_reply(workspace: str, key: Key, secret: str | None) -> SecretReply:
    """A key with its secret; without one it says that it was shown."""
    shown: dict[str, Any] = {"secret_shown": True} if secret is None else {"key": secret}
    return SecretReply(workspace=workspace, **_members(key), **shown)


def workspace_item(found: Workspace) -> WorkspaceItem:
    """A workspace in the list of all."""
    return WorkspaceItem(name=found.name, created_at=instant(found.created_at))


def entitlements_reply(found: Entitled, *, told: bool) -> EntitlementsReply:
    """Limits, and what is used of them where that was counted."""
    limits = msgspec.convert(found.limits, Limits, from_attributes=True)
    return EntitlementsReply(revision=found.revision, limits=limits, used=dict(found.used) if told else UNSET)


def audit_item(row: Audited) -> AuditItem:
    """A row of the record."""
    return AuditItem(
        at=instant(row.at),
        subject=row.subject,
        key_id=row.key_id,
        kind=row.kind,
        resource=row.resource,
        operation_id=row.operation_id,
    )


def _members(key: Key) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "revision": key.revision,
        "subject": key.subject,
        "kind": key.kind,
        "scopes": key.scopes,
        "state": key.state,
        "made_by": key.made_by,
        "created_at": instant(key.created_at),
        "expires_at": maybe_instant(key.expires_at),
        "last_used_at": maybe_instant(key.last_used_at),
        "old_secret_until": maybe_instant(key.old_secret_until),
    }
