"""The one way an approval changes: its row is held, the change is decided, written, written down, told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from steadhold import access, events, fences
from steadhold.approvals import telling, verdicts
from steadhold.approvals.model import WARNED_AFTER, Act, Approval, Asked, By, Deed
from steadhold.approvals.outcomes import Moved
from steadhold.approvals.telling import Entry
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, Refusal, each, maybe
from steadhold.kit.sql import load

SQL: Final = load(__file__)
R = TypeVar("R", bound=Refusal)
MOMENT_SECONDS: Final = 1e-5
"""Times that lie closer are the same one: PostgreSQL counts in microseconds."""


def act(
    workspace: str,
    id: str,
    revision: int | None,
    fences_held: Sequence[FenceRef],
    decide: Callable[[Approval], Approval | Moved | R],
) -> Plan[tuple[Approval, Approval] | Moved | R | StaleFence | Missing | RevisionConflict]:
    """Hold an approval and move it as decided: as it was and as it is; or what makes that unnecessary or wrong."""
    stale = yield from fences.require(workspace, fences_held)
    if stale is not None:
        return stale
    while True:
        row = yield from hold(workspace, id)
        if row is None:
            return Missing()
        if revision is not None and revision != row.revision:
            return RevisionConflict(row.revision)
        now = decide(row)
        if not isinstance(now, Approval):
            return now
        if (yield from each(SQL.move, [changed(workspace, row, now)]))[0]:
            return row, now


def hold(workspace: str, id: str) -> Plan[Approval | None]:
    """Lock an approval and read how it stands, by the clock after it was locked."""
    row = yield from maybe(SQL.hold, Approval.read, workspace=workspace, id=id)
    return None if row is None else (yield from with_deeds(workspace, [row]))[0]


def with_deeds(workspace: str, found: Sequence[Approval]) -> Plan[list[Approval]]:
    """Rows with what was done to them, as they stand."""
    hands = yield from each(SQL.deeds, [{"workspace": workspace, "id": row.id} for row in found])
    whole = [
        replace(row, deeds=tuple(Deed.read(*deed) for deed in hand)) for row, hand in zip(found, hands, strict=True)
    ]
    return [verdicts.as_of_now(row) for row in whole]


def done(
    workspace: str,
    row: Approval,
    now: Approval,
    deed: Act,
    by: By,
    entries: Sequence[Entry],
    comment: str | None = None,
) -> Plan[Moved]:
    """Write down who moved an approval, tell it, and answer how it stands. The first entry is the deed's own."""
    done = yield from write_down(workspace, row.id, row.raised(1), deed, by, comment)
    yield from events.record(workspace, entries)
    if now.state != row.state:
        yield from events.move(workspace, [telling.head(now)])
    yield from access.audit(workspace, by.actor, entries[0][2].type, telling.subject(now.id))
    return Moved(replace(now, deeds=(*row.deeds, done)))


def write_down(workspace: str, id: str, revision: int, deed: Act, by: By, comment: str | None) -> Plan[Deed]:
    """Keep who did what, and so made this revision."""
    item = {
        "workspace": workspace,
        "id": id,
        "revision": revision,
        "act": deed,
        "subject": by.subject,
        "key_id": by.key_id,
        "scopes": listed(by.scopes),
        "comment": comment,
    }
    at = (yield from each(SQL.write_down, [item]))[0][0][0]
    return Deed(revision, deed, by.subject, by.key_id, by.scopes, comment, at)


def changed(workspace: str, row: Approval, now: Approval) -> dict[str, Any]:
    """A held row as it is to be from now on."""
    return {
        "workspace": workspace,
        "id": now.id,
        "held": row.revision,
        "revision": now.revision,
        "state": now.state,
        "ended_at": now.ended_at,
        "grant": now.grant,
        "usable_until": now.usable_until,
        "grant_ended_at": now.grant_ended_at,
        "use_id": now.use_id,
        "warned": now.warned,
        "due_at": now.due_at,
    }


def question(workspace: str, asked: Asked, by: By) -> dict[str, Any]:
    """A question as a row."""
    artifact, approvers = asked.artifact, asked.approvers
    return {
        "workspace": workspace,
        "id": asked.id,
        "reference": artifact.reference,
        "version": artifact.version,
        "hash": artifact.hash,
        "length": artifact.length,
        "action": asked.action,
        "title": asked.title,
        "note": asked.note,
        "requester": by.subject,
        "approvers": None if isinstance(approvers, str) else listed(dict.fromkeys(approvers)),
        "scope": approvers if isinstance(approvers, str) else None,
        "quorum": asked.quorum,
        "allow_requester": asked.allow_requester,
        "expires_in_seconds": asked.expires_in_seconds,
        "usable_seconds": asked.usable_seconds,
        "warned_after": WARNED_AFTER,
    }


def asked_before(row: Approval, asked: Asked, by: By) -> Moved:
    """Answer for a question whose id is there: it is the same question again."""
    expires_in_seconds = (row.expires_at - row.created_at).total_seconds()
    then = replace(
        asked, artifact=row.artifact, action=row.action, title=row.title, note=row.note, approvers=row.approvers,
        quorum=row.quorum, usable_seconds=row.usable_seconds, allow_requester=row.allow_requester,
    )  # fmt: skip
    now = asked if isinstance(asked.approvers, str) else replace(asked, approvers=tuple(dict.fromkeys(asked.approvers)))
    same_time = abs(expires_in_seconds - asked.expires_in_seconds) < MOMENT_SECONDS
    if then != now or by.subject != row.requester or not same_time:
        raise ValueError(f"{asked.id} is another approval: take a fresh id for another question")
    return Moved(row, repeated=True)


def listed(names: Iterable[str]) -> str:
    """Names as one text, for a statement to take apart."""
    return msgspec.json.encode(list(names)).decode()
