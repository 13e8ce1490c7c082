"""Where subjects stand, and who waits for them: a change marks its waits due in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from steadhold.events.model import Due, Head, Waiting
from steadhold.events.plans import SQL
from steadhold.kit.plan import Plan, each, maybe, rows


def move(workspace: str, heads: Sequence[Head]) -> Plan[None]:
    """Say where subjects stand now, and mark due whoever waits for those that are not open any more. Rank heads.

    A change and its heads share a transaction; the room has locked its own rows before.
    """
    yield from each(
        SQL.move,
        [
            {
                "workspace": workspace,
                "subject": head.subject,
                "revision": head.revision,
                "state": head.state,
                "open": head.open,
                "of": head.of,
            }
            for head in heads
        ],
    )
    yield from settled(workspace, [head.subject for head in heads if not head.open])


def settled(workspace: str, subjects: Sequence[str]) -> Plan[None]:
    """Mark due whoever waits for these subjects, for a room that keeps where they stand in rows of its own.

    Those rows are locked before: a job registers its wait under the same lock, so neither misses the other.
    """
    yield from each(SQL.settled, [{"workspace": workspace, "subject": subject} for subject in subjects])


def head(workspace: str, subject: str) -> Plan[Head | None]:
    """Read where a subject stands, without holding it there; None: nothing was ever said of it."""
    return (yield from maybe(SQL.head, Head, workspace=workspace, subject=subject))


def hold(workspace: str, subject: str) -> Plan[Head | None]:
    """Read where a subject stands and keep it there until commit; None: nothing was ever said of it. Rank heads."""
    return (yield from maybe(SQL.hold, Head, workspace=workspace, subject=subject))


def heads_of(workspace: str, of: str) -> Plan[list[Head]]:
    """Read where the subjects stand that belong to another, as a job's effects do."""
    return [Head(*row) for row in (yield from rows(SQL.heads_of, workspace=workspace, of=of))]


def drop_heads(workspace: str, subjects: Sequence[str]) -> Plan[None]:
    """Forget subjects that are being purged."""
    yield from each(SQL.drop_heads, [{"workspace": workspace, "subject": subject} for subject in subjects])


def wait(workspace: str, waiting: Sequence[Waiting]) -> Plan[None]:
    """Register what jobs wait for, after `hold` (or the lock of the subject's own row) and a look that says not yet."""
    yield from each(
        SQL.wait,
        [
            {
                "workspace": workspace,
                "job_id": UUID(w.job_id),
                "subject": w.subject,
                "stage": w.stage,
                "until": w.until,
                "what": w.what,
            }
            for w in waiting
        ],
    )


def take(workspace: str, job_ids: Sequence[str]) -> Plan[list[Due | None]]:
    """Take away the waits that are over, of jobs whose rows are locked; None where it is not over, or was taken."""
    hands = yield from each(SQL.take, [_job(workspace, job_id) for job_id in job_ids])
    return [Due(str(hand[0][0]), *hand[0][1:]) if hand else None for hand in hands]


def unwait(workspace: str, job_ids: Sequence[str]) -> Plan[None]:
    """Take away waits of jobs that end otherwise; their rows are locked."""
    yield from each(SQL.unwait, [_job(workspace, job_id) for job_id in job_ids])


def _job(workspace: str, job_id: str) -> dict[str, Any]:
    return {"workspace": workspace, "job_id": UUID(job_id)}
