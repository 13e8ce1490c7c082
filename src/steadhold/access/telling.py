"""The audit, and what events tell of keys and entitlements: never a secret, nor what one is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from steadhold.access.model import HOUSE, Actor, Entitlements, Key
from steadhold.kit.plan import Plan, each, rows
from steadhold.kit.sql import load

SQL: Final = load(__file__)

KEY: Final = {"key.made": "key.created", "key.rotated": "key.rotated", "key.revoked": "key.revoked"}
"""What happened to a key, by how the audit says it."""

EXPIRED, GRACE_OVER, ENTITLEMENTS = ("key.expired", "key.grace_ended", "entitlements.changed")


def audit(workspace: str, by: Actor, kind: str, resource: str) -> Plan[None]:
    """Record who did what to what. It locks nothing; call it last."""
    yield from rows(
        SQL.record,
        workspace=workspace,
        subject=by.subject,
        key_id=by.key_id,
        kind=kind,
        resource=resource,
        operation_id=by.operation_id,
    )


def key(workspace: str, now: Key, kind: str, by: Actor) -> Plan[None]:
    """Write down what somebody did to a held key."""
    said = {
        "key_id": now.key_id,
        "subject": now.subject,
        "kind": now.kind,
        "expires_at": now.expires_at,
        "old_secret_until": now.old_secret_until,
        "by": by.subject,
    }
    yield from _tell(workspace, [(f"key:{now.key_id}", now.revision, KEY[kind], said)])


def keys_ended(workspace: str, ended: Sequence[tuple[str, int, bool]]) -> Plan[None]:
    """Write down what the clock has ended: keys (id, revision, True), or the grace of secrets before theirs (False)."""
    told = [
        (f"key:{key_id}", revision, EXPIRED if expired else GRACE_OVER, {"key_id": key_id})
        for key_id, revision, expired in ended
    ]
    yield from _tell(workspace, told)


def entitlements(workspace: str, revision: int, now: Entitlements, by: Actor) -> Plan[None]:
    """Write down what the workspace may have from now on; a limit that is left out is none."""
    limits = {name: value for name, value in now.columns.items() if value is not None}
    yield from _tell(
        workspace, [(f"entitlements:{workspace}", revision, ENTITLEMENTS, {"limits": limits, "by": by.subject})]
    )


def _tell(workspace: str, told: Sequence[tuple[str, int, str, Mapping[str, Any]]]) -> Plan[None]:
    """Operators' keys belong to no workspace, and nobody is told of them."""
    items = [
        {"workspace": workspace, "aggregate_id": about, "revision": revision, "type": type, "data": _data(data)}
        for about, revision, type, data in told
    ]
    yield from each(SQL.tell, items if workspace != HOUSE else [])


def _data(said: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({name: value for name, value in said.items() if value is not None})
