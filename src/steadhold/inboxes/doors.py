"""Doors of inboxes: the verbs. What comes in is proven first, under the door's lock, and then appended as anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from steadhold import access, events
from steadhold.access import Actor
from steadhold.events import Happened
from steadhold.inboxes.door_model import (
    Came,
    CameIn,
    Door,
    DoorsFull,
    Held,
    Knock,
    Place,
    Sealed,
    SecretUnfit,
    event_of,
)
from steadhold.inboxes.items import Item, event_id
from steadhold.inboxes.model import Appended, Mismatch, NoInbox
from steadhold.inboxes.plans import append
from steadhold.inboxes.schemes import Proven, Refused, Scheme, secret_of, verify
from steadhold.kit.limits import INBOX_DOORS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, maybe, one, operation, rows, single_operation
from steadhold.kit.seal import Sealing, Unsealable
from steadhold.kit.sql import load

SQL = load(__file__)


def of_door(workspace: str, door: str) -> str:
    """What a door's secret is sealed for."""
    return f"door secret {workspace} {door}"


@operation
def find_door(_workspace: str, hash: bytes) -> Plan[Place | None]:
    """Find the door of an address, whatever workspace it is of; the one named only says where to ask."""
    return (yield from maybe(SQL.find_door, Place, hash=hash))


@operation
def come_in(workspace: str, door: str, knock: Knock, sealing: Sealing) -> Plan[Came]:
    """Append what a third party sent, if a secret of the door signed it.

    An id that came before changes nothing, whatever the bytes: `CameIn.duplicate`. Nothing is stored before all is
    proven; what was rotated out, or deleted, before this holds the door proves nothing.
    """
    held = yield from maybe(SQL.enter, Held, workspace=workspace, door=door)
    if held is None:
        return Missing()
    secrets = _opened(sealing, workspace, door, held)
    verdict = verify(held.scheme, [secret for secret in secrets if secret], knock.headers, knock.body, held.now)
    if isinstance(verdict, Refused) and None in secrets:
        return Sealed()
    if not isinstance(verdict, Proven):
        return verdict
    event = event_of(door, held, verdict, knock)
    if not isinstance(event, Item):
        return event
    placed = yield from append.plan(workspace, held.inbox, (event,), held.life)
    return Missing() if isinstance(placed, NoInbox) else _came(workspace, held.inbox, event, placed[0])


def _opened(sealing: Sealing, workspace: str, door: str, held: Held) -> list[bytes | None]:
    """The secrets that prove, None for one that cannot be opened here: another may prove without it."""

    def opened(sealed: bytes) -> bytes | None:
        try:
            return secret_of(held.scheme, sealing.open(sealed, of_door(workspace, door)).decode())
        except Unsealable:
            return None

    return [opened(sealed) for sealed in (held.sealed, held.old_sealed) if sealed is not None]


def _came(workspace: str, inbox: str, event: Item, placed: Appended | Mismatch) -> CameIn:
    if isinstance(placed, Mismatch):
        return CameIn(inbox, event_id(workspace, inbox, event, event.digest), duplicate=True, differs=True)
    return CameIn(inbox, placed.event_id, placed.duplicate)


@single_operation
def make_door(
    workspace: str, inbox: str, door: str, scheme: Scheme, id_from: str | None, hash: bytes, sealed: bytes, *, by: Actor
) -> Plan[Door | DoorsFull | NoInbox]:
    """Make a door, whose address hashes to `hash` and whose secret is `sealed` for `of_door`."""
    held = yield from rows(SQL.hold, workspace=workspace, inbox=inbox)
    if not held or not held[0][2]:
        return NoInbox(inbox)
    life = held[0][0]
    if (yield from one(SQL.count_doors, int, workspace=workspace, id=life)) >= INBOX_DOORS_MAX:
        return DoorsFull()
    yield from rows(
        SQL.make_door, workspace=workspace, inbox=inbox, id=life, door=door, scheme=scheme, id_from=id_from, hash=hash,
        sealed=sealed,
    )  # fmt: skip
    made = yield from one(SQL.door, Door, workspace=workspace, inbox=inbox, door=door)
    yield from _told(workspace, made, made.revision, "door.created", {"scheme": scheme}, by)
    return made


def _told(workspace: str, door: Door, revision: int, deed: str, data: Mapping[str, Any], by: Actor) -> Plan[None]:
    """Say by an event what became of a door, under its revision; and in the audit who did it."""
    happened = Happened(deed, msgspec.json.encode({"inbox": door.inbox, "door_id": door.id, **data}))
    yield from events.record(workspace, [(f"webhook:door:{door.id}", revision, happened)])
    yield from access.audit(workspace, by, deed, door.subject)


def _hold(workspace: str, inbox: str, door: str) -> Plan[Door | Missing]:
    yield from rows(SQL.hold_door, workspace=workspace, inbox=inbox, door=door)
    return (yield from maybe(SQL.door, Door, workspace=workspace, inbox=inbox, door=door)) or Missing()


@single_operation
def rotate_door(
    workspace: str, inbox: str, door: str, sealed: bytes, fits: Sequence[Scheme], grace_seconds: float, *, by: Actor
) -> Plan[Door | Missing | SecretUnfit]:
    """Take a new secret, and for the grace the one before it too; the one before that ends. It `fits` these schemes."""
    held = yield from _hold(workspace, inbox, door)
    if isinstance(held, Missing):
        return held
    if held.scheme not in fits:
        return SecretUnfit(held.scheme)
    yield from rows(SQL.rotate_door, workspace=workspace, door=door, sealed=sealed, grace_seconds=float(grace_seconds))
    now = yield from one(SQL.door, Door, workspace=workspace, inbox=inbox, door=door)
    yield from _told(workspace, now, now.revision, "door.rotated", {"grace_seconds": grace_seconds}, by)
    return now


@single_operation
def delete_door(
    workspace: str, inbox: str, door: str, expected: int, *, by: Actor
) -> Plan[Door | Missing | RevisionConflict]:
    """Close a door for ever: once this is answered, nothing comes in by its address."""
    held = yield from _hold(workspace, inbox, door)
    if isinstance(held, Missing):
        return held
    if held.revision != expected:
        return RevisionConflict(held.revision)
    yield from rows(SQL.drop_door, workspace=workspace, door=door)
    yield from _told(workspace, held, held.revision + 1, "door.deleted", {}, by)
    return held


@operation
def get_door(workspace: str, inbox: str, door: str) -> Plan[Door | Missing]:
    """Read a door; never its secrets, nor its address."""
    return (yield from maybe(SQL.door, Door, workspace=workspace, inbox=inbox, door=door)) or Missing()


@operation
def doors(workspace: str, inbox: str, after: str, limit: int) -> Plan[list[Door] | NoInbox]:
    """List the doors of an inbox in the order in which they were made, from behind the id `after`."""
    found = yield from rows(SQL.doors, workspace=workspace, inbox=inbox, after=after, limit=limit)
    if not found and not (yield from rows(SQL.look, workspace=workspace, inbox=inbox)):
        return NoInbox(inbox)
    return [Door(*row) for row in found]
