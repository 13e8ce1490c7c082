"""Consumers of an inbox: each has a floor of its own, which never falls within an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from steadhold import fences
from steadhold.fences import Granted, Held, KeySpent, Released, Renewal, Renewed, Wanted
from steadhold.inboxes import telling
from steadhold.inboxes.model import (
    Acknowledged,
    BeyondHead,
    Consumer,
    ConsumerLeased,
    Elsewhere,
    GapNotAccepted,
    Leased,
    NoConsumer,
    NoInbox,
    Number,
    Restored,
    Start,
    Written,
    subject_of,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, maybe, one, operation, rows, single_operation
from steadhold.kit.rules import Fence, Id, Length, Limit
from steadhold.kit.sql import load

SQL = load(__file__)

AckOutcome = Acknowledged | Restored | BeyondHead | GapNotAccepted | NoConsumer | StaleFence


@single_operation
def put_consumer(
    workspace: str, inbox: Id, name: Id, start: Start, expected: int | None
) -> Plan[Written | RevisionConflict | Missing | NoInbox | Restored | BeyondHead]:
    """Make a consumer (`expected` None), or let one begin further on; what it has acknowledged stays so."""
    box = yield from rows(SQL.look, workspace=workspace, inbox=inbox)
    if not box:
        return NoInbox(inbox)
    epoch, last = box[0][5], box[0][7]
    if start.at == "position" and start.epoch != epoch:
        return Restored(epoch, last)
    if start.at == "position" and start.sequence > last:
        return BeyondHead(last)
    yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    made = yield from rows(
        SQL.make_consumer, workspace=workspace, inbox=inbox, consumer=name, at=start.at, sequence=start.sequence,
        expected=expected,
    )  # fmt: skip
    if made:
        return (yield from _told(workspace, inbox, name, made[0][0], "created" if expected is None else "changed"))
    found = yield from get_consumer.plan(workspace, inbox, name)
    if isinstance(found, Consumer):
        return RevisionConflict(found.revision)
    return RevisionConflict(None) if expected is None else Missing()


def _told(workspace: str, inbox: str, name: str, revision: int, what: str) -> Plan[Written]:
    held = yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    if held:
        yield from telling.consumer(workspace, inbox, name, held[0][2], [(what, {"revision": revision})])
    return Written(revision)


@single_operation
def delete_consumer(workspace: str, inbox: Id, name: Id, expected: int) -> Plan[Written | RevisionConflict | Missing]:
    """Delete a consumer. Its lease, if somebody has one, ends by itself."""
    found = yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    if not found or not found[0][1]:
        return Missing(found[0][0] if found else None)
    revision, _, id = found[0]
    if revision != expected:
        return RevisionConflict(revision)
    gone = yield from one(SQL.drop_consumer, int, workspace=workspace, id=id, consumer=name)
    return (yield from _told(workspace, inbox, name, gone, "deleted"))


@operation
def get_consumer(workspace: str, inbox: Id, name: Id) -> Plan[Consumer | Missing]:
    """Read a consumer as it stands."""
    return (yield from maybe(SQL.consumer, Consumer, workspace=workspace, inbox=inbox, consumer=name)) or Missing()


@operation
def consumers(workspace: str, inbox: Id, after: str, limit: Limit) -> Plan[list[Consumer] | NoInbox]:
    """List the consumers of an inbox in byte order, from behind `after`."""
    found = yield from rows(SQL.consumers, workspace=workspace, inbox=inbox, after=after, limit=limit)
    if not found and not (yield from rows(SQL.look, workspace=workspace, inbox=inbox)):
        return NoInbox(inbox)
    return [Consumer(*row) for row in found]


@operation
def acknowledge(
    workspace: str,
    inbox: Id,
    name: Id,
    epoch: Id,
    sequence: Number,
    *,
    accept_gap_through: Number | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[AckOutcome]:
    """Say that everything up to `sequence` is done. Equal and lower change nothing, and answer where the consumer is.

    While the consumer is leased, its grant has to be among `fences_held`. Where events in between were removed, the
    consumer says so: `accept_gap_through` is at least the last of them, or `sequence`.
    """
    if stale := (yield from fences.require(workspace, fences_held)):
        return stale
    yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    subject = subject_of(inbox, name)
    answered = yield from rows(
        SQL.acknowledge, workspace=workspace, inbox=inbox, consumer=name, subject=subject,
        fenced=any(ref.subject == subject for ref in fences_held), epoch=epoch, sequence=sequence,
        through=accept_gap_through,
    )  # fmt: skip
    return _acknowledged(subject, sequence, *answered[0]) if answered else NoConsumer(name)


def _acknowledged(
    subject: str, sequence: int, verdict: str, epoch: str, position: int, was: int, first: int, last: int
) -> AckOutcome:
    match verdict:
        case "fits":
            return Acknowledged(epoch, position, moved=sequence > was)
        case "leased":
            return StaleFence(subject)
        case "restored":
            return Restored(epoch, last)
        case "beyond":
            return BeyondHead(last)
        case _:
            return GapNotAccepted(was + 1, first - 1)


@operation
def require(
    workspace: str, inbox: Id, name: Id, epoch: Id, position: Number
) -> Plan[NoConsumer | Restored | Elsewhere | None]:
    """Require that a consumer stands at a position, and keep it there until commit."""
    yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    found = yield from get_consumer.plan(workspace, inbox, name)
    if isinstance(found, Missing):
        return NoConsumer(name)
    if found.epoch != epoch:
        return Restored(found.epoch, found.last_sequence)
    return None if found.position == position else Elsewhere(found.epoch, found.position)


@single_operation
def lease(
    workspace: str, inbox: Id, name: Id, owner: Id, lease_seconds: Length, key: Id | None = None
) -> Plan[Leased | ConsumerLeased | NoConsumer | StaleFence]:
    """Have a consumer alone, for `lease_seconds`.

    Asked again under the same `key` it is the same grant, while it holds; `StaleFence` afterwards.
    """
    if not (yield from rows(SQL.consumer, workspace=workspace, inbox=inbox, consumer=name)):
        return NoConsumer(name)
    wanted = Wanted(subject_of(inbox, name), owner, float(lease_seconds), key)
    (answer,) = yield from fences.grant(workspace, [wanted])
    if isinstance(answer, Held):
        return ConsumerLeased(answer.holder, answer.expires_in_seconds)
    if isinstance(answer, KeySpent):
        return StaleFence(wanted.subject)
    held = yield from rows(SQL.hold_consumer, workspace=workspace, inbox=inbox, consumer=name)
    if held and not answer.again:
        yield from _begun(workspace, inbox, name, held[0][2], answer, owner)
    return Leased(answer.fence, answer.until, answer.length_seconds, answer.again)


def _begun(workspace: str, inbox: str, name: str, id: UUID, granted: Granted, owner: str) -> Plan[None]:
    """Tell of a lease; and first of the one before, where the clock alone has ended it."""
    begun: dict[str, Any] = {"fence": granted.fence, "owner": owner, "lease_seconds": granted.length_seconds}
    was = yield from rows(SQL.begin_lease, workspace=workspace, id=id, consumer=name, fence=granted.fence)
    over = [("lease_expired", {"fence": was[0][0]})] if was and was[0][0] is not None else []
    yield from telling.consumer(workspace, inbox, name, id, [*over, ("leased", begun)])


@operation
def renew(
    workspace: str, inbox: Id, name: Id, fence: Fence, lease_seconds: Length | None = None
) -> Plan[Renewed | StaleFence]:
    """Have the consumer for its whole length from now. What has ended is lost, even if nobody took it since."""
    (answer,) = yield from fences.renew(workspace, [Renewal(subject_of(inbox, name), fence, lease_seconds)])
    return answer


@single_operation
def release(workspace: str, inbox: Id, name: Id, fence: Fence) -> Plan[Released | StaleFence]:
    """Give the consumer back; repeated under the same fence it is `again`, until the next grant."""
    (answer,) = yield from fences.release(workspace, [FenceRef(subject_of(inbox, name), fence)])
    if isinstance(answer, Released) and not answer.again:
        yield from telling.ended(workspace, [(inbox, name, fence)], "released")
    return answer


@single_operation
def expire(workspace: str, limit: int) -> Plan[int]:
    """Write down which leases the clock has ended. Answers how many it looked at."""
    refs = yield from fences.lapsed(workspace, "consumer", limit)
    yield from fences.end(workspace, refs, released=False)
    ended = [(*ref.name.split("/", 1), ref.fence) for ref in refs]
    yield from telling.ended(workspace, [(inbox, name, fence) for inbox, name, fence in ended], "lease_expired")
    return len(refs)
