"""access: keys, workspaces, entitlements and the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import at, change, guarded, members, pages, put_if, read


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key, which is everything but its secret."""

    key_id: str
    subject: str
    kind: str
    state: Literal["active", "revoked", "expired"]
    scopes: Sequence[str] = ()
    revision: int | None = None
    made_by: str | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    old_secret_until: datetime | None = None


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was made, or has a new secret. `key` is shown this once; a repeated answer says `secret_shown`."""

    workspace: str | None = None
    key: str | None = None
    secret_shown: bool = False

    def __repr__(self) -> str:
        """All but the secret."""
        return f"NewKey(key_id={self.key_id!r}, subject={self.subject!r}, kind={self.kind!r})"


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace."""

    name: str
    created_at: datetime | None = None


class Entitlements(msgspec.Struct, frozen=True, kw_only=True):
    """What a workspace may have, where None is no limit, and what of it is used; revision 0 until some are set."""

    revision: int
    limits: Mapping[str, Any]
    used: Mapping[str, int] = {}


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded act."""

    at: datetime
    subject: str
    kind: str
    resource: str
    key_id: str | None = None
    operation_id: str | None = None


class KeysRoom(Room[Mode]):
    """`client.keys`."""

    @verb
    def create(
        self,
        subject: str,
        kind: str,
        scopes: Sequence[str],
        *,
        expires_in_seconds: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[NewKey]:
        """Make a key for a subject: kind "service" or "person", scopes as in "state:write:orders".

        Raises:
            Problem: it would be more than the key that makes it. OutcomeUnknown: its secret may be lost; revoke it.
        """
        body = members(subject=subject, kind=kind, scopes=list(scopes), expires_in_seconds=expires_in_seconds)
        return (yield from guarded(at("keys"), body, NewKey, fences, operation_id))

    @verb
    def get(self, key_id: str) -> Script[Key]:
        """Read a key.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("keys", key_id))), Key)

    @flow
    def list(self) -> Stream[Key]:
        """All keys of the workspace."""
        yield from pages(lambda cursor: at("keys", cursor=cursor), Key)

    @verb
    def rotate(
        self, key_id: str, *, grace_seconds: int = 0, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[NewKey]:
        """Give a key a new secret; the old one serves for `grace_seconds` more."""
        body = {"grace_seconds": grace_seconds}
        return (yield from guarded(at("keys", key_id, "rotate"), body, NewKey, fences, operation_id))

    @verb
    def revoke(self, key_id: str, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None) -> Script[Key]:
        """End a key, for good and everywhere within seconds."""
        return (yield from guarded(at("keys", key_id, "revoke"), None, Key, fences, operation_id))


class WorkspacesRoom(Room[Mode]):
    """`client.workspaces`: for operators' keys."""

    @verb
    def create(self, name: str, *, subject: str = "owner", operation_id: str | None = None) -> Script[NewKey]:
        """Make a workspace. The first key of it is its `subject`'s, and is shown this once."""
        body = {"name": name, "subject": subject}
        return read((yield change("POST", at("workspaces"), body, operation_id=operation_id)), NewKey)

    @flow
    def list(self) -> Stream[Workspace]:
        """All workspaces."""
        yield from pages(lambda cursor: at("workspaces", cursor=cursor), Workspace)


class EntitlementsRoom(Room[Mode]):
    """`client.entitlements`."""

    @verb
    def get(self) -> Script[Entitlements]:
        """What the workspace may hold and do, and what of it is used."""
        return read((yield Send("GET", at("entitlements"))), Entitlements)

    @verb
    def put(
        self,
        entitlements: Mapping[str, Any],
        *,
        if_revision: int,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Entitlements]:
        """Set them, as an operator, replacing revision `if_revision`; 0 where none were ever set.

        Raises:
            RevisionConflict. OutcomeUnknown.
        """
        condition = put_if(if_revision or None)
        sent = change(
            "PUT", at("entitlements"), entitlements, fences=fences, operation_id=operation_id, headers=condition
        )
        return read((yield sent), Entitlements)


class AuditRoom(Room[Mode]):
    """`client.audit`."""

    @flow
    def list(
        self, *, subject: str | None = None, kind: str | None = None, resource: str | None = None
    ) -> Stream[Audited]:
        """What was recorded of keys, entitlements, votes and the like."""
        which = {"subject": subject, "kind": kind, "resource": resource}
        yield from pages(lambda cursor: at("audit", **which, cursor=cursor), Audited)
