"""access: the verbs. Whoever changes what others may do is recorded in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from steadhold.access import telling
from steadhold.access.model import (
    UNLIMITED,
    Actor,
    Audited,
    Count,
    Entitled,
    Entitlements,
    Exceeds,
    Found,
    Grace,
    Key,
    KeyEnded,
    Lifetime,
    Made,
    Scopes,
    Taken,
    Workspace,
    exceeds,
)
from steadhold.access.scopes import Kind
from steadhold.access.telling import audit
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows
from steadhold.kit.rules import Id, Limit
from steadhold.kit.sql import load

SQL = load(__file__)

RECOUNT_SOON_SECONDS: Final = 5.0
RECOUNT_SECONDS: Final = 3_600.0
NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""After every row of the audit."""


@operation
def make_key(
    workspace: str,
    key_id: str,
    hash: bytes,
    *,
    subject: Id,
    kind: Kind,
    scopes: Scopes,
    expires_in_seconds: Lifetime | None,
    by: Actor,
) -> Plan[Made | Exceeds | KeyEnded | Taken]:
    """Make a key that is no more than the key `by` which makes it; without an expiry it takes its maker's.

    `hash` is its token's; ids and secrets are made by the caller. Outcomes: `Made`, `Exceeds(what)`,
    `KeyEnded` where the maker's key has ended meanwhile, `Taken` where the id is another key's.
    """
    maker = yield from _maker(by)
    if isinstance(maker, KeyEnded):
        return maker
    beyond = exceeds(maker, kind, scopes, expires_in_seconds)
    if beyond is not None:
        return beyond
    wanted = _wanted(hash, maker.key.env, subject, kind, scopes)
    ends = {"seconds": expires_in_seconds, "until": maker.key.expires_at}
    if not (yield from _made(workspace, key_id, wanted | ends, by)):
        return Taken(key_id)
    return (yield from _told(workspace, key_id, "key.made", by))


@operation
def import_key(
    workspace: str, key_id: str, hash: bytes, *, env: str, subject: Id, kind: Kind, scopes: Scopes
) -> Plan[Made | Taken]:
    """Make a key known whose token somebody keeps already, and its workspace too; again, it changes nothing.

    It is for whoever sits at the database: nothing is asked about a maker. An operator's key is imported into
    `HOUSE`. Outcomes: `Made` with the key as it stands now (it may have been revoked since), `Taken` where the
    id is a key's with another secret, subject or kind.
    """
    by = Actor(subject, None)
    if not (yield from _made(workspace, key_id, _wanted(hash, env, subject, kind, scopes), by)):
        known = yield from one(SQL.find, Found.read, key_id=key_id)
        same = (known.workspace, known.hash, known.key.subject, known.key.kind) == (workspace, hash, subject, kind)
        return Made(workspace, known.key) if same else Taken(key_id)
    if kind != "operator" and (yield from rows(SQL.found, workspace=workspace)):
        yield from audit(workspace, by, "workspace.created", f"workspace:{workspace}")
    return (yield from _told(workspace, key_id, "key.made", by))


@operation
def rotate_key(
    workspace: str, key_id: str, hash: bytes, *, grace_seconds: Grace, by: Actor
) -> Plan[Made | Exceeds | KeyEnded | Missing]:
    """Give a key a new secret, and let the one before it serve for the grace.

    Who rotates a key could use it, so it may not be more than `by`. Outcomes: `Made`, `Exceeds(what)`,
    `KeyEnded` (either key), `Missing`.
    """
    maker = yield from _maker(by)
    if isinstance(maker, KeyEnded):
        return maker
    held = yield from rows(SQL.lock, workspace=workspace, key_id=key_id)
    if not held:
        return Missing(None)
    kind, scopes, alive, ends_in = held[0]
    if not alive:
        return KeyEnded(key_id)
    beyond = None if key_id == by.key_id else exceeds(maker, kind, scopes, ends_in)
    if beyond is not None:
        return beyond
    yield from rows(SQL.rotate, workspace=workspace, key_id=key_id, hash=hash, grace=grace_seconds)
    return (yield from _told(workspace, key_id, "key.rotated", by))


@operation
def revoke_key(workspace: str, key_id: str, *, by: Actor) -> Plan[Made | Missing]:
    """End a key, for good. Again, or after its expiry, it changes nothing and answers the key as it is."""
    held = yield from rows(SQL.lock, workspace=workspace, key_id=key_id)
    if not held:
        return Missing(None)
    if not held[0][2]:
        return Made(workspace, (yield from one(SQL.look, Key.read, workspace=workspace, key_id=key_id)))
    yield from rows(SQL.revoke, workspace=workspace, key_id=key_id)
    return (yield from _told(workspace, key_id, "key.revoked", by))


@operation
def key(workspace: str, key_id: str) -> Plan[Key | Missing]:
    """Read what is known of a key of this workspace."""
    return (yield from maybe(SQL.look, Key.read, workspace=workspace, key_id=key_id)) or Missing(None)


@operation
def keys(workspace: str, after: str, limit: Limit) -> Plan[list[Key]]:
    """List keys, ended ones too, in the order in which they were made, from behind the id `after`."""
    return [Key.read(*row) for row in (yield from rows(SQL.keys, workspace=workspace, after=after, limit=limit))]


@operation
def find_key(_workspace: str, key_id: str) -> Plan[Found | None]:
    """Find a key, whatever workspace it is of; the one named only says where to ask."""
    return (yield from maybe(SQL.find, Found.read, key_id=key_id))


@operation
def note_used(workspace: str, key_ids: Sequence[str]) -> Plan[None]:
    """Write down that keys are in use, at most once a minute each."""
    yield from rows(SQL.used, workspace=workspace, key_ids=list(key_ids))


@operation
def end_keys(workspace: str, limit: int) -> Plan[int]:
    """Write down which keys have expired and which secrets' grace is over, at most `limit`; say how many."""
    ended = yield from rows(SQL.end_keys, workspace=workspace, limit=limit)
    yield from telling.keys_ended(workspace, [(row[0], row[1], bool(row[2])) for row in ended])
    return len(ended)


@operation
def create_workspace(
    workspace: str, key_id: str, hash: bytes, *, subject: Id, by: Actor, env: str = "live"
) -> Plan[Made | KeyEnded | Taken]:
    """Create a workspace with its first key: a person's, with every scope, so that it can make all others.

    The key's `env` is that of the operator's key `by`, or as given where `by` sits at the database.
    Outcomes: `Made`, `Taken` where the name is, `KeyEnded` where the operator's key has ended meanwhile.
    """
    if by.key_id is not None:
        maker = yield from _maker(by)
        if isinstance(maker, KeyEnded):
            return maker
        env = maker.key.env
    if not (yield from rows(SQL.found, workspace=workspace)):
        return Taken(workspace)
    if not (yield from _made(workspace, key_id, _wanted(hash, env, subject, "person", ("*:*",)), by)):
        raise AssertionError(f"the key id {key_id} is in use: a workspace's first key takes a fresh one")
    yield from audit(workspace, by, "workspace.created", f"workspace:{workspace}")
    return (yield from _told(workspace, key_id, "key.made", by))


@operation
def workspaces(_workspace: str, after: str, limit: Limit) -> Plan[list[Workspace]]:
    """List all workspaces by name, from behind `after`: for operators, whatever workspace is named here."""
    return [Workspace(*row) for row in (yield from rows(SQL.workspaces, after=after, limit=limit))]


@operation
def known(workspace: str) -> Plan[bool]:
    """Tell whether there is such a workspace."""
    return (yield from one(SQL.known, bool, workspace=workspace))


@operation
def entitlements(workspace: str) -> Plan[Entitled]:
    """Read how much the workspace may have, and what it uses of it now."""
    now = yield from maybe(SQL.look_entitlements, Entitled.read, workspace=workspace)
    used: dict[str, int] = {}
    for what, amount in (yield from rows(SQL.usage, workspace=workspace)):
        used[what] = used.get(what, 0) + amount
    return Entitled(now.revision if now else 0, now.limits if now else UNLIMITED, used)


@operation
def limits(workspace: str) -> Plan[Entitlements]:
    """Read how much the workspace may have: one look-up, for verbs that are not called often."""
    now = yield from maybe(SQL.look_entitlements, Entitled.read, workspace=workspace)
    return now.limits if now else UNLIMITED


@operation
def put_entitlements(
    workspace: str, wanted: Entitlements, expected: Count | None, *, by: Actor
) -> Plan[Entitled | RevisionConflict | Missing]:
    """Set all entitlements, if they are at revision `expected`; None means that none were ever set."""
    metered = wanted.names_max is not None or wanted.bytes_max is not None
    columns = wanted.columns
    kept = columns.pop("revisions_kept")
    change = {**columns, "workspace": workspace, "recount_seconds": RECOUNT_SOON_SECONDS if metered else None}
    if expected is None:
        done = yield from rows(SQL.make_entitlements, **change)
    else:
        done = yield from rows(SQL.change_entitlements, **change, expected=expected)
    if not done:
        now = yield from maybe(SQL.look_entitlements, Entitled.read, workspace=workspace)
        return RevisionConflict(now.revision) if now else Missing(None)
    yield from rows(SQL.keep_revisions, workspace=workspace, revisions_kept=kept)
    yield from telling.entitlements(workspace, done[0][0], wanted, by)
    if metered:
        yield from rows(SQL.open_meters, workspace=workspace)
        yield from _recount(workspace)
    yield from audit(workspace, by, "entitlements.changed", "entitlements")
    return Entitled(done[0][0], wanted)


@operation
def recount(workspace: str) -> Plan[int]:
    """Count anew what is metered, where that is due: writers under way when a limit came did not add to it."""
    due = yield from rows(SQL.recount_later, workspace=workspace, recount_seconds=RECOUNT_SECONDS)
    if due:
        yield from _recount(workspace)
    return len(due)


def meter(workspace: str, *, names: int = 0, bytes: int = 0) -> Plan[None]:
    """Add to what a workspace has, after the rows themselves: for rooms whose statement said it is metered."""
    more = (("bytes", bytes), ("names", names))
    yield from each(SQL.meter, [{"workspace": workspace, "what": w, "amount": amount} for w, amount in more if amount])


@operation
def trail(
    workspace: str,
    limit: Limit,
    *,
    subject: str | None = None,
    kind: str | None = None,
    resource: str | None = None,
    before: tuple[datetime, int] | None = None,
) -> Plan[list[Audited]]:
    """List the record, newest first, from before a row's moment and number; each filter matches whole values."""
    at, number = before or (NEVER, 0)
    wanted: Mapping[str, Any] = {"subject": subject, "kind": kind, "resource": resource}
    found = yield from rows(SQL.trail, workspace=workspace, **wanted, before=at, number=number, limit=limit)
    return [Audited(*row) for row in found]


def _maker(by: Actor) -> Plan[Found | KeyEnded]:
    """The key that asks, as it is now: what a server knows of it may be some seconds old."""
    found = yield from maybe(SQL.find, Found.read, key_id=by.key_id)
    return found if found is not None and found.alive else KeyEnded(by.key_id or "")


def _wanted(hash: bytes, env: str, subject: str, kind: Kind, scopes: Sequence[str]) -> dict[str, Any]:
    return {"hash": hash, "env": env, "subject": subject, "kind": kind, "scopes": list(scopes)}


def _made(workspace: str, key_id: str, wanted: Mapping[str, Any], by: Actor) -> Plan[bool]:
    item = {"seconds": None, "until": None, **wanted}
    return bool((yield from rows(SQL.make, workspace=workspace, key_id=key_id, made_by=by.key_id, **item)))


def _told(workspace: str, key_id: str, kind: str, by: Actor) -> Plan[Made]:
    """Record what was done to a key, and answer the key as it is now."""
    now = yield from one(SQL.look, Key.read, workspace=workspace, key_id=key_id)
    yield from telling.key(workspace, now, kind, by)
    yield from audit(workspace, by, kind, f"key:{key_id}")
    return Made(workspace, now)


def _recount(workspace: str) -> Plan[None]:
    yield from rows(SQL.hold_meters, workspace=workspace)
    yield from rows(SQL.recount, workspace=workspace)
