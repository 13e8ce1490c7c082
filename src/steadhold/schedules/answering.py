"""What is told of schedules, their runs and their instants to come."""

from __future__ import annotations

from steadhold.schedules.asking import body_of
from steadhold.schedules.instants import Instant, Skipped
from steadhold.schedules.outcomes import Preview, Run, Schedule
from steadhold.schedules.wire import Covered, PreviewItem, PreviewReply, RunReply, ScheduleReply, Window
from steadhold.web import reply


def schedule(found: Schedule, *, made_again: bool = False) -> ScheduleReply:
    """A schedule."""
    return ScheduleReply(
        id=found.id,
        revision=found.revision,
        spec=body_of(found.spec),
        paused=found.spec.paused,
        next_at=reply.maybe_instant(found.next_at),
        cursor=reply.instant(found.cursor),
        zone_tables=found.tables,
        made_at=reply.instant(found.made_at),
        changed_at=reply.instant(found.changed_at),
        made_again=made_again,
    )


def run(found: Run) -> RunReply:
    """What became of an instant."""
    failed = found.outcome == "failed"
    return RunReply(
        schedule_id=found.schedule_id,
        kind=found.kind,
        scheduled_at=reply.instant(found.scheduled_at),
        local_time=found.local_time,
        window=Window(start=reply.instant(found.window_start), end=reply.instant(found.last_at)),
        trigger_id=found.trigger_id,
        spec_revision=found.spec_revision,
        outcome=found.outcome,
        recorded_at=reply.instant(found.recorded_at),
        reason=None if failed else found.reason,
        code=found.reason if failed else None,
        job_id=found.job_id,
        inbox=found.inbox,
        event_id=found.event_id,
        operation_id=found.operation_id,
        last_at=reply.instant(found.last_at) if found.count > 1 else None,
        count=found.count,
        covers=[
            Covered(first=reply.instant(span.first), last=reply.instant(span.last), count=span.count)
            for span in found.covers
        ],
    )


def preview(found: Preview) -> PreviewReply:
    """The instants to come."""
    schedule = found.schedule
    return PreviewReply(paused=schedule.spec.paused, zone_tables=schedule.tables, items=[*map(_item, found.instants)])


def _item(item: Instant | Skipped) -> PreviewItem:
    if isinstance(item, Skipped):
        local, last = item.local.isoformat(timespec="seconds"), item.last.isoformat(timespec="seconds")
        return PreviewItem(local_time=local, skipped=item.why, last_local_time=None if last == local else last)
    offset = item.local.utcoffset()
    return PreviewItem(
        local_time=item.local.isoformat(timespec="seconds"),
        scheduled_at=reply.instant(item.at),
        offset_seconds=None if offset is None else int(offset.total_seconds()),
        moved=item.moved,
        asked=None if item.asked is None else item.asked.isoformat(timespec="seconds"),
    )
