"""webhooks: the verbs of endpoints. Each change raises the revision, is told by an event, and stands in the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from steadhold import access, events
from steadhold.access import Actor, StorageExhausted
from steadhold.events import Happened, WritersOpen
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, maybe, one, rows, single_operation
from steadhold.kit.rules import Limit, Uuid
from steadhold.kit.sql import load
from steadhold.webhooks.model import (
    TAKER,
    Endpoint,
    Grace,
    Secret,
    Shown,
    Spec,
    endpoint,
)
from steadhold.webhooks.outcomes import SecretsFull

SQL = load(__file__)

OLD_SECRETS_MAX: Final = 2
"""Secrets of an endpoint that were rotated out and still sign."""

Sealed = tuple[bytes, str | None]
"""A sealed secret, and the public key where it has one."""


@single_operation
def create(
    workspace: str, id: Uuid, spec: Spec, secrets: tuple[Sealed, ...], *, by: Actor
) -> Plan[Shown | StorageExhausted]:
    """Make an endpoint, disabled. Outcomes: `Shown`, `StorageExhausted`."""
    most = (yield from access.limits.plan(workspace)).endpoints_max
    if most is not None and (used := (yield from one(SQL.count, int, workspace=workspace))) >= most:
        return StorageExhausted("endpoints", used, most)
    yield from rows(SQL.make, workspace=workspace, id=id, **_columns(spec))
    for sealed, public in secrets:
        yield from rows(SQL.add_secret, workspace=workspace, id=id, sealed=sealed, public=public)
    made = yield from one(SQL.look, endpoint, workspace=workspace, id=id)
    yield from told(workspace, made, "webhook.created", _told_of(spec), by)
    return (yield from _shown(workspace, made))


def _told_of(spec: Spec) -> dict[str, Any]:
    """What an event tells of an endpoint: where it is, but not what stands behind the host, which may be a secret."""
    scheme, _, rest = spec.url.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return {"origin": f"{scheme}://{host}", "types": list(spec.types)}


def _columns(spec: Spec) -> dict[str, Any]:
    return {
        "url": spec.url,
        "types": list(spec.types),
        "ordered": spec.ordered,
        "blocks": spec.blocks,
        "rate": spec.rate,
        "concurrency": spec.concurrency,
        "headers": spec.headers,
        "header_names": list(spec.header_names),
        "retry_seconds": list(spec.retry_seconds),
    }


def told(
    workspace: str, at: Endpoint, name: str, data: Mapping[str, Any], by: Actor | None, revision: int | None = None
) -> Plan[None]:
    """Say by an event what became of an endpoint, under its revision; and in the audit who did it."""
    happened = Happened(name, msgspec.json.encode({"webhook_id": at.id, **data}))
    yield from events.record(workspace, [(at.subject, revision or at.revision, happened)])
    if by is not None:
        yield from access.audit(workspace, by, name, at.subject)


def _shown(workspace: str, at: Endpoint) -> Plan[Shown]:
    found = yield from rows(SQL.secrets, workspace=workspace, id=at.id)
    return Shown(at, tuple(Secret(*row) for row in found))


def hold(workspace: str, id: str, expected: int | None = None) -> Plan[Endpoint | Missing | RevisionConflict]:
    """Lock an endpoint, at this revision where one is expected."""
    held = yield from maybe(SQL.hold, endpoint, workspace=workspace, id=id)
    if held is None:
        return Missing()
    return held if expected in {None, held.revision} else RevisionConflict(held.revision)


def write(
    workspace: str, held: Endpoint, spec: Spec, *, enabled: bool, why: str | None, deleted: bool = False,
    anew: bool = False,
) -> Plan[Endpoint]:  # fmt: skip
    """Write an endpoint that is held; `anew`: its health begins again."""
    stands = {"enabled": enabled, "why": why, "deleted": deleted, "anew": anew}
    found = yield from rows(SQL.change, workspace=workspace, id=held.id, **_columns(spec), **stands)
    revision, at = found[0]
    return replace(held, revision=revision, spec=spec, enabled=enabled, why=why, changed_at=at)


@single_operation
def change(
    workspace: str, id: Uuid, expected: int, edit: Callable[[Spec], Spec], *, by: Actor
) -> Plan[Shown | Missing | RevisionConflict]:
    """Change where an endpoint is and what it takes. Outcomes: `Shown`, `Missing`, `RevisionConflict`."""
    held = yield from hold(workspace, id, expected)
    if not isinstance(held, Endpoint):
        return held
    now = yield from write(workspace, held, edit(held.spec), enabled=held.enabled, why=held.why)
    yield from told(workspace, now, "webhook.changed", _told_of(now.spec), by)
    return (yield from _shown(workspace, now))


@single_operation
def enable(workspace: str, id: Uuid, *, by: Actor) -> Plan[Shown | Missing | WritersOpen]:
    """Let deliveries begin, of whatever commits after this. Again, it lets a paused endpoint be tried at once."""
    held = yield from hold(workspace, id)  # first: who holds it may be about to write an event, which waits for wanting
    if not isinstance(held, Endpoint):
        return Missing()
    if not (yield from events.want(workspace, TAKER)):
        return WritersOpen()
    now = yield from write(workspace, held, held.spec, enabled=True, why=None, anew=True)
    yield from rows(SQL.resume, workspace=workspace, id=id)
    yield from told(workspace, now, "webhook.enabled", {}, by)
    fresh = yield from one(SQL.look, endpoint, workspace=workspace, id=id)
    return (yield from _shown(workspace, fresh))


@single_operation
def disable(workspace: str, id: Uuid, *, by: Actor) -> Plan[Shown | Missing]:
    """Begin no more attempts: those that have begun may arrive, what is pending is skipped. Again it does nothing."""
    held = yield from hold(workspace, id)
    if not isinstance(held, Endpoint):
        return Missing()
    if held.enabled:
        held = yield from off(workspace, held, "asked", by)
    return (yield from _shown(workspace, held))


def off(workspace: str, held: Endpoint, why: str, by: Actor | None) -> Plan[Endpoint]:
    """Disable an endpoint that is held, and say so."""
    now = yield from write(workspace, held, held.spec, enabled=False, why=why)
    yield from told(workspace, now, "webhook.disabled", {"why": why, "failures": held.health.failures}, by)
    return now


@single_operation
def delete(workspace: str, id: Uuid, expected: int, *, by: Actor) -> Plan[Endpoint | Missing | RevisionConflict]:
    """Remove an endpoint and its secrets; its deliveries stay readable as long as all are."""
    held = yield from hold(workspace, id, expected)
    if not isinstance(held, Endpoint):
        return held
    gone = yield from write(workspace, held, replace(held.spec, headers=None), enabled=False, why="asked", deleted=True)
    yield from rows(SQL.forget_secrets, workspace=workspace, id=id)
    yield from told(workspace, gone, "webhook.deleted", {}, by)
    yield from unwanted(workspace)
    return gone


def unwanted(workspace: str) -> Plan[None]:
    """Be given no more events once nobody here takes any. One that is disabled does: as skipped, to be replayed."""
    yield from events.hold_taker(workspace, TAKER)
    if not (yield from rows(SQL.endpoints, workspace=workspace)):
        yield from events.unwant(workspace, TAKER)


@single_operation
def rotate(
    workspace: str, id: Uuid, secret: Sealed, grace_seconds: Grace, *, by: Actor
) -> Plan[Shown | Missing | SecretsFull]:
    """Sign with a new secret, and for the grace with the one before it too. The grace is of this call alone."""
    held = yield from hold(workspace, id)
    if not isinstance(held, Endpoint):
        return Missing()
    found = [Secret(*row) for row in (yield from rows(SQL.secrets, workspace=workspace, id=id))]
    asymmetric = secret[1] is not None
    old = [s for s in found if s.until is not None and (s.public is not None) == asymmetric]
    if grace_seconds > 0 and len(old) >= OLD_SECRETS_MAX:
        return SecretsFull()
    item = {"workspace": workspace, "id": id, "grace_seconds": float(grace_seconds), "asymmetric": asymmetric}
    yield from rows(SQL.retire, **item)
    yield from rows(SQL.add_secret, workspace=workspace, id=id, sealed=secret[0], public=secret[1])
    now = yield from write(workspace, held, held.spec, enabled=held.enabled, why=held.why)
    yield from told(workspace, now, "webhook.rotated", {"grace_seconds": grace_seconds}, by)
    return (yield from _shown(workspace, now))


@single_operation
def get(workspace: str, id: Uuid) -> Plan[Shown | Missing]:
    """Read an endpoint."""
    found = yield from maybe(SQL.look, endpoint, workspace=workspace, id=id)
    return Missing() if found is None else (yield from _shown(workspace, found))


@single_operation
def listed(workspace: str, after: str, limit: Limit) -> Plan[list[Endpoint]]:
    """List endpoints in the order in which they were made, from behind the id `after`."""
    found = yield from rows(SQL.list, workspace=workspace, after=after, limit=limit)
    return [endpoint(*row) for row in found]
