"""inboxes: the verbs. Numbers come from a counter that is held from the number to the commit, and is taken last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from steadhold.inboxes import telling
from steadhold.inboxes.items import Item, Sent, event_id
from steadhold.inboxes.model import (
    KEPT_SECONDS,
    Appended,
    AppendOutcome,
    BeyondHead,
    Gap,
    Inbox,
    KeyPruned,
    Mismatch,
    NoInbox,
    Number,
    Page,
    ReadOutcome,
    Received,
    Restored,
    Retention,
    Written,
)
from steadhold.kit.ids import uuid7_ms
from steadhold.kit.limits import INBOX_PAGE_BYTES_MAX, INBOX_PURGE_ITEMS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.paths import EVERYWHERE
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows, single_operation, whole_operation
from steadhold.kit.rules import Id, Limit
from steadhold.kit.sql import Row, load

SQL = load(__file__)

SWEEP_SECONDS: Final = 60.0
"""How soon an inbox is looked at again in which there were events that it does not keep."""

IDLE_SECONDS: Final = 900.0
"""How soon one is looked at again in which there were none."""

KEYS_SECONDS: Final = 3_600.0
"""How often keys are looked at that are not known any more."""


@whole_operation(SQL.append)
def append(
    workspace: str, inbox: Id, items: Sequence[Sent], life: Any = None
) -> Plan[list[Appended | Mismatch] | NoInbox]:
    """Append events, an outcome each, in order. With a `life`, to the inbox of this id only, not to one made anew.

    A key that is known gives the first place again, or `Mismatch` for other content. The counter is held until the
    commit and taken last: in a transaction of your own use `send`, which never takes it.
    """
    if not items:
        return [] if (yield from rows(SQL.look, workspace=workspace, inbox=inbox)) else NoInbox(inbox)
    asked = [_asked(workspace, inbox, item, life) for item in items]
    hands = yield from each(SQL.append, asked)
    if not hands[0]:
        return NoInbox(inbox)
    return [_placed(item, hand[0]) for item, hand in zip(items, hands, strict=True)]


@whole_operation(SQL.append)
def append_one(workspace: str, inbox: Id, item: Sent) -> Plan[AppendOutcome]:
    """Append one event, as `append`."""
    outcome = yield from append.plan(workspace, inbox, (item,))
    return outcome if isinstance(outcome, NoInbox) else outcome[0]


def _asked(workspace: str, inbox: str, item: Item, life: Any) -> dict[str, Any]:
    digest = item.digest
    return {
        "workspace": workspace,
        "inbox": inbox,
        "life": life,
        "key": item.known_as,
        "event_id": item.event_id or event_id(workspace, inbox, item, digest),
        "digest": digest,
        "head": item.head,
        "content_type": item.content_type,
        "body": item.body,
    }


def _placed(item: Item, row: Row) -> Appended | Mismatch:
    sequence, epoch, event, accepted_at, duplicate, differs = row
    return Mismatch(item.key, sequence, epoch) if differs else Appended(sequence, epoch, event, accepted_at, duplicate)


@operation
def receipt(
    workspace: str, inbox: Id, known_as: str, kept_seconds: float = KEPT_SECONDS
) -> Plan[Appended | Missing | KeyPruned]:
    """Read what was accepted under a key (`client:<key>`): the reconciling read after an answer was lost.

    `KeyPruned` where the key is a UUIDv7 older than keys are known: then nobody can say.
    """
    found = yield from rows(SQL.receipt, workspace=workspace, inbox=inbox, key=known_as)
    if not found:
        return Missing()
    epoch, sequence, event, accepted_at, now, age_seconds = found[0]
    if sequence is not None:
        return Appended(sequence, epoch, event, accepted_at, True)
    key = known_as.partition(":")[2]
    made = uuid7_ms(key)
    if made is not None and now.timestamp() - made / 1_000 > kept_seconds + (age_seconds or 0):
        return KeyPruned(key)
    return Missing()


@operation
def read(
    workspace: str,
    inbox: Id,
    epoch: str | None = None,
    after: Number | None = None,
    limit: Limit = 100,
    bytes_max: int = INBOX_PAGE_BYTES_MAX,
) -> Plan[ReadOutcome]:
    """Read what follows a position, without moving anything. None: from the first event that is retained.

    What was removed behind the position is a `Gap`, once for each range. A page ends with the event that brings it
    to `bytes_max`.
    """
    found = yield from rows(
        SQL.page, workspace=workspace, inbox=inbox, epoch=epoch, after=after, limit=limit, bytes=bytes_max
    )
    if not found:
        return NoInbox(inbox)
    now, first, last, low, gaps = found[0][:5]
    if epoch is not None and epoch != now:
        return Restored(now, last)
    if after is not None and after > last:
        return BeyondHead(last)
    events = tuple(Received(*row[5:]) for row in found if row[5] is not None)
    return Page(now, events, tuple(map(_gap, gaps)), events[-1].sequence if events else low, first, last)


def _gap(text: str) -> Gap:
    first, last, reason, at = msgspec.json.decode(text)
    return Gap(first, last, reason, datetime.fromtimestamp(at, UTC))


@single_operation
def put(
    workspace: str, inbox: Id, retention: Retention, expected: int | None
) -> Plan[Written | RevisionConflict | Missing]:
    """Make an inbox (`expected` None), or change what it keeps if it has the expected revision."""
    keeps = {
        "max_age_seconds": retention.max_age_seconds,
        "max_events": retention.max_events,
        "max_bytes": retention.max_bytes,
    }
    if expected is None:
        return (yield from _made(workspace, inbox, keeps))
    held = yield from _held(workspace, inbox, expected)
    if isinstance(held, Missing | RevisionConflict):
        return held
    revision = yield from one(SQL.change, int, workspace=workspace, inbox=inbox, present=True, **keeps)
    yield from _sweep_at(workspace, inbox, held, 0.0, ["retention"])
    yield from telling.inbox(workspace, inbox, revision, "changed")
    return Written(revision)


def _made(workspace: str, inbox: str, keeps: dict[str, Any]) -> Plan[Written | RevisionConflict]:
    if why := telling.name_fault(inbox):
        raise ValueError(f"{inbox!a}: {why}")
    made = yield from rows(SQL.make, workspace=workspace, inbox=inbox, **keeps)
    if not made:
        found = yield from rows(SQL.look, workspace=workspace, inbox=inbox)
        return RevisionConflict(found[0][1] if found else None)
    id, revision = made[0]
    yield from _sweep_at(workspace, inbox, id, SWEEP_SECONDS, ["retention", "keys"])
    yield from telling.inbox(workspace, inbox, revision, "created")
    return Written(revision)


def _held(workspace: str, inbox: str, expected: int) -> Plan[Any]:
    found = yield from rows(SQL.hold, workspace=workspace, inbox=inbox)
    if not found:
        return Missing()
    id, revision, present = found[0]
    if not present:
        return Missing(revision)
    return id if revision == expected else RevisionConflict(revision)


def _sweep_at(workspace: str, inbox: str, id: Any, seconds: float, whats: list[str]) -> Plan[None]:
    yield from rows(SQL.plan_sweep, workspace=workspace, inbox=inbox, id=id, seconds=seconds, whats=whats)


@single_operation
def delete(workspace: str, inbox: Id, expected: int) -> Plan[Written | RevisionConflict | Missing]:
    """Delete an inbox with all that it holds, its consumers too.

    One that is made anew under its name begins at 1, in another epoch.
    """
    yield from rows(SQL.hold_consumers, workspace=workspace, inbox=inbox)
    held = yield from _held(workspace, inbox, expected)
    if isinstance(held, Missing | RevisionConflict):
        return held
    nothing = {"max_age_seconds": None, "max_events": None, "max_bytes": None}
    revision = yield from one(SQL.change, int, workspace=workspace, inbox=inbox, present=False, **nothing)
    yield from _sweep_at(workspace, inbox, held, 0.0, ["gone"])
    yield from telling.inbox(workspace, inbox, revision, "deleted")
    return Written(revision)


@operation
def get(workspace: str, inbox: Id) -> Plan[Inbox | Missing]:
    """Read an inbox as it stands."""
    return (yield from maybe(SQL.look, _inbox, workspace=workspace, inbox=inbox)) or Missing()


@operation
def inboxes(workspace: str, after: str, limit: Limit, within: Sequence[str] = EVERYWHERE) -> Plan[list[Inbox]]:
    """List inboxes in byte order, from behind `after`. `within` are those that may be shown; "" stands for all."""
    found = yield from rows(
        SQL.names, workspace=workspace, after=after, limit=limit, all="" in within, only=list(within)
    )
    return [_inbox(*row) for row in found]


def _inbox(
    name: str, revision: int, max_age_seconds: float | None, max_events: int | None, max_bytes: int | None,
    epoch: str, first: int, last: int, size: int, made_at: datetime,
) -> Inbox:  # fmt: skip
    return Inbox(name, revision, Retention(max_age_seconds, max_events, max_bytes), epoch, first, last, size, made_at)


@single_operation
def sweep(workspace: str, limit: int, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove what an inbox does not keep, and what a deleted one left. Answers how many inboxes it looked at."""
    found = yield from rows(SQL.due_sweeps, workspace=workspace, limit=limit)
    for id, what, name in found:
        if what == "gone":
            yield from _clear(workspace, name, id)
        elif not (yield from rows(SQL.hold_idle, workspace=workspace, inbox=name, id=id)):
            yield from _sweep_at(workspace, name, id, 1.0, [what])
        elif what == "retention":
            yield from _shrink(workspace, name, id)
        else:
            yield from _forget_keys(workspace, name, id, kept_seconds)
    return len(found)


def _shrink(workspace: str, name: str, id: Any) -> Plan[None]:
    count = yield from one(SQL.shrink, int, workspace=workspace, inbox=name, id=id, limit=INBOX_PURGE_ITEMS_MAX)
    yield from _sweep_at(workspace, name, id, _pause(count, SWEEP_SECONDS if count else IDLE_SECONDS), ["retention"])


def _forget_keys(workspace: str, name: str, id: Any, kept_seconds: float) -> Plan[None]:
    count = yield from one(
        SQL.forget_keys, int, workspace=workspace, inbox=name, id=id, kept_seconds=float(kept_seconds),
        limit=INBOX_PURGE_ITEMS_MAX,
    )  # fmt: skip
    yield from _sweep_at(workspace, name, id, _pause(count, KEYS_SECONDS), ["keys"])


def _pause(count: int, seconds: float) -> float:
    """Where a batch was full there is more: go on at once."""
    return 0.0 if count >= INBOX_PURGE_ITEMS_MAX else seconds


def _clear(workspace: str, name: str, id: Any) -> Plan[None]:
    count = yield from one(SQL.clear, int, workspace=workspace, id=id, limit=INBOX_PURGE_ITEMS_MAX)
    if count:
        yield from _sweep_at(workspace, name, id, 0.0, ["gone"])
    else:
        yield from rows(SQL.cleared, workspace=workspace, id=id)
