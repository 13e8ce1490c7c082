"""Grant, renew, rely on, and end: every write under a fence comes through here.

Law 2: fence and time are tested once the row is locked, and the lock is held to commit. Law 13: the next fence is
above all that may have been issued before, in this life of the data and in a lost one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from steadhold.fences.model import (
    Grant,
    Granted,
    Held,
    KeySpent,
    Marked,
    Outrun,
    Released,
    Renewal,
    Renewed,
    Wanted,
    judge,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Plan, each, maybe, one, rows
from steadhold.kit.sql import Sql, load

SQL = load(__file__)

LAG_SECONDS_MAX: Final = 0.05
"""A grant that waited longer than this for its row begins anew, so that its holder has its whole length."""


def grant(workspace: str, wanted: Sequence[Wanted]) -> Plan[list[Granted | Held | KeySpent]]:
    """Grant each subject that is free; one answer each, in order.

    A subject that somebody holds is `Held`; asked again under the key that took it, it is the same grant while
    it is held, and `KeySpent` afterwards.
    """
    answers: dict[int, Granted | Held | KeySpent] = {}
    while open_ := [n for n in range(len(wanted)) if n not in answers]:
        taken = yield from each(SQL.grant, [_asked(workspace, wanted[n]) for n in open_])
        for n, hand in zip(open_, taken, strict=True):
            if hand:
                fence, until, length_seconds, lag_seconds = hand[0]
                until = yield from begun(workspace, wanted[n].subject, fence, until, lag_seconds)
                answers[n] = Granted(wanted[n].subject, fence, until, length_seconds)
        missed = [n for n in open_ if n not in answers]
        found = yield from each(SQL.look, [{"workspace": workspace, "subject": wanted[n].subject} for n in missed])
        for n, hand in zip(missed, found, strict=True):
            if (answer := judge(wanted[n], Grant(*hand[0]) if hand else None)) is not None:
                answers[n] = answer
    return [answers[n] for n in range(len(wanted))]


def first(workspace: str, wanted: Sequence[Wanted]) -> Plan[list[Granted]]:
    """Grant each subject for the first time ever, in order: for a room that alone grants these, and knows.

    It has locked a row of its own that says so, as a job does that was never claimed.
    """
    items = [
        {"workspace": workspace, "subject": w.subject, "holder": w.holder, "length_seconds": w.length_seconds}
        for w in wanted
    ]
    hands = yield from each(SQL.first, items)
    return [Granted(w.subject, *hand[0]) for w, hand in zip(wanted, hands, strict=True)]


def _asked(workspace: str, wanted: Wanted) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "subject": wanted.subject,
        "holder": wanted.holder,
        "key": wanted.key,
        "length_seconds": float(wanted.length_seconds),
    }


def begun(workspace: str, subject: str, fence: int, until: datetime, lag_seconds: float) -> Plan[datetime]:
    """Answer when a grant ends that this transaction just made: anew, where its row was long in coming."""
    if lag_seconds > LAG_SECONDS_MAX:
        until = yield from one(SQL.restart, _same, workspace=workspace, subject=subject, fence=fence)
    return until


def _same(until: datetime) -> datetime:
    return until


def look(workspace: str, subject: str) -> Plan[Grant | None]:
    """Read who holds a subject; None where nobody ever did."""
    return (yield from maybe(SQL.look, Grant, workspace=workspace, subject=subject))


def under_key(workspace: str, kind: str, key: str) -> Plan[list[Grant]]:
    """Read what is still held of what was taken under a key, among subjects of one kind ("job")."""
    found = yield from rows(SQL.under_key, workspace=workspace, kind=kind, key=key)
    return [grant for grant in (Grant(*row) for row in found) if grant.held]


def require(workspace: str, refs: Sequence[FenceRef]) -> Plan[StaleFence | None]:
    """Rely on grants until commit; the first that is missing, ended or another's is a `StaleFence`.

    Renewals go on meanwhile; takeover, settle, release and sweep wait for the commit.
    """
    if not refs:
        return None
    return next((stale for stale in (yield from required(workspace, refs)) if stale), None)


def required(workspace: str, refs: Sequence[FenceRef]) -> Plan[list[StaleFence | None]]:
    """As `require`, with an answer for each reference."""
    return (yield from _tested(SQL.hold, workspace, refs))


def own(workspace: str, refs: Sequence[FenceRef]) -> Plan[StaleFence | None]:
    """As `require`, alone: waits for all who rely on these grants, and lets nobody renew or take them until commit."""
    return next((stale for stale in (yield from owned(workspace, refs)) if stale), None)


def owned(workspace: str, refs: Sequence[FenceRef]) -> Plan[list[StaleFence | None]]:
    """As `own`, with an answer for each reference."""
    return (yield from _tested(SQL.own, workspace, refs))


def _tested(sql: Sql, workspace: str, refs: Sequence[FenceRef]) -> Plan[list[StaleFence | None]]:
    hands = yield from each(sql, [_of(workspace, ref) for ref in refs])
    return [None if hand else StaleFence(ref.subject) for ref, hand in zip(refs, hands, strict=True)]


def _of(workspace: str, ref: FenceRef) -> dict[str, Any]:
    return {"workspace": workspace, "subject": ref.subject, "fence": ref.fence}


def renew(workspace: str, renewals: Sequence[Renewal]) -> Plan[list[Renewed | StaleFence]]:
    """Let each grant run its length from now; one that has ended is never revived, even if nobody took it."""
    items = [
        {
            "workspace": workspace,
            "subject": r.subject,
            "fence": r.fence,
            "length_seconds": None if r.length_seconds is None else float(r.length_seconds),
        }
        for r in renewals
    ]
    hands = yield from each(SQL.renew, items)
    return [
        Renewed(renewal.subject, *hand[0]) if hand else StaleFence(renewal.subject)
        for renewal, hand in zip(renewals, hands, strict=True)
    ]


def release(workspace: str, refs: Sequence[FenceRef]) -> Plan[list[Released | StaleFence]]:
    """End each grant for its holder; repeated under the same fence it says `again`, until the next grant."""
    hands = yield from each(SQL.release, [_of(workspace, ref) for ref in refs])
    return [
        Released(ref.subject, *hand[0]) if hand else StaleFence(ref.subject)
        for ref, hand in zip(refs, hands, strict=True)
    ]


def end(workspace: str, refs: Sequence[FenceRef], *, released: bool = True) -> Plan[None]:
    """End grants whose rows this plan has locked before by `own`, `lapsed` or `grant`; another fence is left alone.

    It waits for nobody, so it may stand after any other step. `released` says that the holder ended it.
    """
    yield from each(SQL.finish, [{**_of(workspace, ref), "released": released} for ref in refs])


def drop(workspace: str, subjects: Sequence[str]) -> Plan[None]:
    """Forget the grants of jobs that have ended, as `end`. Fences of other kinds stay for ever."""
    yield from each(SQL.drop, [{"workspace": workspace, "subject": subject} for subject in subjects])


def lapsed(workspace: str, kind: str, limit: int) -> Plan[list[FenceRef]]:
    """Find at most `limit` grants of a kind that the clock has ended, and lock them; `end` or `drop` each.

    Those that somebody else has locked are passed over. Play it single: it locks in order of time.
    """
    found = yield from rows(SQL.lapsed, workspace=workspace, kind=kind, limit=limit)
    return [FenceRef(*row) for row in found]


def mark(workspace: str, resource: str, fence: int) -> Plan[Marked | Outrun]:
    """Raise the highest fence that a resource has seen; a lower one is refused."""
    while not (marked := (yield from maybe(SQL.mark, Marked, workspace=workspace, resource=resource, fence=fence))):
        highest = yield from one(SQL.marks, Marked, workspace=workspace, resource=resource)
        if highest.highest > fence:
            return Outrun(resource, highest.highest)
    return marked
