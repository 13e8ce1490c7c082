"""locks: the verbs. Whoever comes first has it, until the holder or the clock ends it; each grant under a new fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from steadhold import events, fences
from steadhold.events import Happened
from steadhold.fences import Marked, Outrun, Renewal
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import LOCK_KEY_SECONDS_MAX, LOCK_SILENCE_SECONDS_MAX, LOCK_TICKET_SECONDS_MAX
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.kit.paths import EVERYWHERE
from steadhold.kit.plan import Plan, each, maybe, one, operation, rows, single_operation
from steadhold.kit.rules import Fence, Id, Length
from steadhold.kit.sql import load
from steadhold.locks.model import (
    KIND,
    AcquireOutcome,
    Clear,
    Granted,
    Held,
    Lapsed,
    Lock,
    LockLost,
    Queued,
    Released,
    Renewed,
    Seen,
    judge,
    name_of,
    subject_of,
)

SQL = load(__file__)

Entry = tuple[str, int, Happened]

HEARD_SECONDS_MIN: Final = LOCK_SILENCE_SECONDS_MAX * 0.65
"""A ticket that is good for longer than this need not be written again: requests look again within 0.8 s."""

BEHIND_ALL: Final = "\x7f"
"""Behind every character of an Id."""


@operation
def acquire(
    workspace: str,
    name: Id,
    owner: Id,
    ttl_seconds: Length,
    operation_id: Id | None = None,
    *,
    request: str | None = None,
    waits: bool = False,
) -> Plan[AcquireOutcome]:
    """Take a lock for `ttl_seconds`, unless somebody holds it or waits for it longer.

    Asked again under the same operation it is the same grant while that is current, and `LockLost` ever after; another
    owner's grant is an `OperationMismatch`. A `request` that `waits` goes on asking, and stands in line: `Queued`,
    until it is granted, or says by `leave` that it is over.
    """
    asked = {
        "workspace": workspace, "subject": subject_of(name), "owner": owner, "operation": operation_id,
        "request": request, "ttl_seconds": float(ttl_seconds), "kept_seconds": float(LOCK_TICKET_SECONDS_MAX),
        "remembered_seconds": float(LOCK_KEY_SECONDS_MAX),
    }  # fmt: skip
    happened: list[Entry] = []
    verdict, seen = yield from _tried(name, asked, happened)
    outcome: AcquireOutcome = verdict
    if isinstance(verdict, Granted) and seen.won:
        data = {"fence": verdict.fence, "owner": owner, "ttl_seconds": verdict.ttl_seconds}
        happened.append(_told(subject_of(name), seen.revision, "lock.granted", data))
        outcome = yield from _begun(workspace, verdict, seen)
    elif isinstance(verdict, Granted) and operation_id is not None and request is not None:
        outcome = yield from _answered(workspace, verdict, operation_id, request)
    elif isinstance(verdict, Held) and operation_id is not None and request is not None and waits:
        outcome = yield from _stand(workspace, verdict, seen, operation_id, request)
    yield from events.record(workspace, happened)
    return outcome


def _tried(name: str, asked: dict[str, Any], happened: list[Entry]) -> Plan[tuple[Clear, Seen]]:
    """Try until it is clear who has the lock; what the clock has ended is written down on the way."""
    while True:
        seen = yield from one(SQL.take, Seen, **asked)
        verdict = judge(name, asked["owner"], asked["operation"], seen)
        if isinstance(verdict, Lapsed):
            happened += yield from _expire(asked["workspace"], [asked["subject"]])
        elif verdict is not None:
            return verdict, seen


def _begun(workspace: str, granted: Granted, seen: Seen) -> Plan[Granted]:
    """Have the holder's whole length begin once the row is its own, also where the row had to be waited for."""
    lag_seconds = seen.lag_seconds or 0.0
    until = yield from fences.begun(workspace, subject_of(granted.name), granted.fence, granted.until, lag_seconds)
    if until == granted.until:
        return granted
    began = until - timedelta(seconds=granted.ttl_seconds)
    return replace(granted, until=until, waited_seconds=(began - (seen.asked_at or began)).total_seconds())


def _answered(workspace: str, granted: Granted, operation_id: str, request: str) -> Plan[Granted | LockLost]:
    ticket = {"operation": operation_id, "subject": subject_of(granted.name), "request": request}
    answered = yield from rows(SQL.answer, workspace=workspace, **ticket)
    return granted if answered else LockLost(granted.name)


def _stand(workspace: str, held: Held, seen: Seen, operation_id: str, request: str) -> Plan[Queued]:
    """Have a place in line, and say that its request is alive, unless that was said just now."""
    heard = seen.live_until if seen.asked_at is not None else None
    if heard is None or (heard - seen.now).total_seconds() < HEARD_SECONDS_MIN:
        yield from rows(
            SQL.stand, workspace=workspace, operation=operation_id, subject=subject_of(held.name), request=request,
            silence_seconds=float(LOCK_SILENCE_SECONDS_MAX), kept_seconds=float(LOCK_TICKET_SECONDS_MAX),
        )  # fmt: skip
    return Queued(held.name, held.holder, held.expires_in_seconds)


@operation
def leave(workspace: str, name: str, operation_id: str, request: str) -> Plan[None]:
    """Say that a request is over: its ticket keeps its place for `lock_ticket_seconds_max`, and holds up nobody."""
    ticket = {"operation": operation_id, "subject": subject_of(name), "request": request}
    yield from rows(SQL.leave, workspace=workspace, **ticket)


@operation
def give_back(workspace: str, name: str, operation_id: str, request: str, fence: int) -> Plan[None]:
    """Release what a request was granted that nobody was told of, unless another under its operation was told since."""
    ticket = {"operation": operation_id, "subject": subject_of(name), "request": request}
    if (yield from rows(SQL.disown, workspace=workspace, **ticket)):
        yield from release.plan(workspace, name, fence)


@operation
def renew(workspace: str, name: Id, fence: Fence, ttl_seconds: Length) -> Plan[Renewed | LockLost]:
    """Hold a lock for `ttl_seconds` from now. What has ended is lost, even if nobody took it since."""
    (answer,) = yield from fences.renew(workspace, [Renewal(subject_of(name), fence, float(ttl_seconds))])
    if isinstance(answer, StaleFence):
        return LockLost(name)
    return Renewed(name, fence, float(ttl_seconds), answer.until, answer.server_time)


@operation
def release(workspace: str, name: Id, fence: Fence) -> Plan[Released | LockLost]:
    """End a grant; repeated under the same fence it is `again`, until the next grant."""
    subject = subject_of(name)
    found = yield from rows(SQL.release, workspace=workspace, subject=subject, fence=fence)
    if not found:
        return LockLost(name)
    owner, revision, again, waiting = found[0]
    if not again:
        yield from events.record(
            workspace, [_told(subject, revision, "lock.released", {"fence": fence, "owner": owner})]
        )
    return Released(name, fence, revision, again, waiting)


@operation
def require(workspace: str, name: Id, fence: Fence) -> Plan[StaleFence | None]:
    """Rely on a lock until the transaction ends."""
    return (yield from fences.require(workspace, [FenceRef(subject_of(name), fence)]))


@operation
def get(workspace: str, name: Id) -> Plan[Lock | Missing]:
    """Read who holds a lock; `Missing` where nobody ever did."""
    return (yield from maybe(SQL.look, _lock, workspace=workspace, subject=subject_of(name))) or Missing()


@operation
def names(workspace: str, prefix: str, after: str, limit: int, within: Sequence[str] = EVERYWHERE) -> Plan[list[Lock]]:
    """List locks whose names begin with `prefix`, in byte order, from behind `after`.

    `within` are the names that may be shown; "" stands for all.
    """
    span: dict[str, Any] = {
        "workspace": workspace, "first": subject_of(prefix), "last": subject_of(prefix) + BEHIND_ALL,
        "after": subject_of(after), "limit": limit,
    }  # fmt: skip
    only = [subject_of(name) for name in within]
    found = yield from rows(SQL.names, **span) if "" in within else rows(SQL.few, **span, only=only)
    hands = yield from each(SQL.look, [{"workspace": workspace, "subject": subject} for (subject,) in found])
    return [_lock(*hand[0]) for hand in hands]


def _lock(
    subject: str, fence: int, owner: str, ends: datetime | None, revision: int, waiting: int, now: datetime
) -> Lock:
    until = ends if ends is not None and ends > now else None
    return Lock(name_of(subject), fence, owner, until, revision, waiting, now)


@operation
def mark(workspace: str, resource: Id, fence: Fence) -> Plan[Marked | Outrun]:
    """Raise the highest fence that a resource has seen, for one that cannot keep it; a lower one is refused."""
    return (yield from fences.mark(workspace, resource, fence))


@single_operation
def expire(workspace: str, limit: int) -> Plan[int]:
    """Write down which locks the clock has ended. Answers how many rows it looked at."""
    refs = yield from fences.lapsed(workspace, KIND, limit)
    happened = yield from _expire(workspace, [ref.subject for ref in refs])
    yield from events.record(workspace, happened)
    return len(refs)


def _expire(workspace: str, subjects: Sequence[str]) -> Plan[list[Entry]]:
    hands = yield from each(SQL.expire, [{"workspace": workspace, "subject": subject} for subject in subjects])
    return [
        _told(subject, revision, "lock.expired", {"fence": fence, "owner": owner})
        for subject, hand in zip(subjects, hands, strict=True)
        for fence, owner, revision in hand
    ]


def _told(subject: str, revision: int | None, type: str, data: dict[str, Any]) -> Entry:
    assert revision is not None, "a grant that was just made, or ended, has its revision"
    return subject, revision, Happened(type, msgspec.json.encode(data))


@single_operation
def forget(workspace: str, limit: int) -> Plan[int]:
    """Remove tickets whose request is long over, and operations that nobody will ask again. Answers how many it saw."""
    return (
        yield from one(SQL.past, int, workspace=workspace, kept_seconds=float(LOCK_TICKET_SECONDS_MAX), limit=limit)
    )
