"""What is told of a schedule and of its runs: its history, and the events that runs send to an inbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw

from steadhold import events
from steadhold.events import Happened
from steadhold.inboxes.sending import lead
from steadhold.kit.plan import Plan
from steadhold.schedules.rows import SENT, Row, Work, instant, row_trigger, sent_as

Entry: TypeAlias = tuple[str, int, Happened]

NAMES: Final = (
    "schedule.waiting", "schedule.coalesced", "schedule.skipped", "schedule.failed", "schedule.started",
)  # fmt: skip
"""By outcome."""

CHANGES: Final = (
    "schedule.created", "schedule.changed", "schedule.paused", "schedule.resumed", "schedule.deleted",
)  # fmt: skip
"""What somebody does with a schedule."""


def events_of(work: Work, made: Sequence[Row]) -> Iterator[Entry]:
    """An event for each row that is new or has another outcome now; a range that goes on was told when it began.

    Behind that of a run that is an event itself stands what it sends, as one of the same history: so what a schedule
    sends arrives in the order of its instants.
    """
    for row in made:
        if row.news:
            trigger = row_trigger(work, row)
            about = Happened(NAMES[row.outcome], _about(work, row, trigger), correlation_id=trigger)
            yield work.held.subject, row.number, about
        if row.outcome == SENT:
            yield work.held.subject, row.number + 1, _sent(work, row)


def _about(work: Work, row: Row, trigger: str) -> bytes:
    data = {
        "trigger_id": trigger,
        "scheduled_at": instant(row.scheduled_at),
        "job_id": row.job,
        "inbox": row.inbox,
        "event_id": sent_as(work, row) if row.outcome == SENT else None,
        "reason": row.reason,
    }
    if row.count > 1:
        data |= {"last_at": instant(row.last_at), "count": row.count}
    return msgspec.json.encode({name: value for name, value in data.items() if value is not None})


def _sent(work: Work, row: Row) -> Happened:
    event, trigger = work.held.spec.event, row_trigger(work, row)
    assert event is not None, "what was sent says to where"
    said: dict[str, Any] = {
        "schedule_id": work.held.id,
        "trigger_id": trigger,
        "scheduled_at": instant(row.scheduled_at),
        "local_time": row.local,
        "window": {"start": instant(row.window_start), "end": instant(row.scheduled_at)},
    }
    if row.covers:
        said["covers"] = [
            {"first": instant(span.first), "last": instant(span.last), "count": span.count} for span in row.covers
        ]
    data = msgspec.json.encode({**said, "data": Raw(event.data)})
    cause = events.event_id(work.held.subject, row.number)
    return Happened(event.type, data, None, event.schema_version, trigger, cause)


def tell(workspace: str, both: Sequence[tuple[Work, Sequence[Row]]]) -> Plan[None]:
    """Write the history of held schedules, and lead what their runs send to its inboxes."""
    told = [entry for work, made in both for entry in events_of(work, made)]
    yield from events.record(workspace, told)
    ways = {(work.held.subject, row.number + 1): row.inbox for work, made in both for row in made if row.inbox}
    for inbox in sorted(set(ways.values())):
        yield from lead(workspace, inbox, [entry for entry in told if ways.get(entry[:2]) == inbox])


def changed(workspace: str, id: str, number: int, what: str, revision: int) -> Plan[None]:
    """Write down that somebody changed a held schedule: `schedule.<what>`."""
    name, data = f"schedule.{what}", msgspec.json.encode({"revision": revision})
    assert name in CHANGES, "every event has its place in the guide"
    yield from events.record(workspace, [(f"schedule:{id}", number, Happened(name, data))])
