"""From decisions to what is written of them: the job of a run, the rows of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from steadhold import context, events, jobs
from steadhold.access import NotEntitled, QueueFull
from steadhold.jobs.admission import SubmitOutcome
from steadhold.schedules import instants, model
from steadhold.schedules import spec as specs
from steadhold.schedules.model import Decision, Fresh, Place, Skip, Span, Start, Widen
from steadhold.schedules.spec import Spec

Admission: TypeAlias = tuple[jobs.Submission, SubmitOutcome]
"""A job, and what admission said of it."""

ADMITTED, COALESCED, SKIPPED, FAILED, SENT = range(5)


class Held(msgspec.Struct, frozen=True):
    """A schedule's row as it is while we hold it."""

    id: str
    revision: int
    body: bytes
    since: datetime
    cursor: datetime
    next_at: datetime | None
    range_at: datetime | None
    manual_at: datetime | None
    told: int
    tables: str
    pruned_to: datetime | None
    deleted: bool
    made_at: datetime
    changed_at: datetime

    @property
    def spec(self) -> Spec:
        """What it is told to do."""
        return specs.read(self.body)

    @property
    def subject(self) -> str:
        """The name under which events know it, and under which its jobs wait for each other."""
        return subject(self.id)


def subject(id: str) -> str:
    """The name under which events, and pins, know a schedule."""
    return f"schedule:{id}"


class Moment(msgspec.Struct, frozen=True):
    """The database's time once the rows are held, and the number below which none is issued."""

    now: datetime
    base: int


class Work(msgspec.Struct, frozen=True):
    """What is to be written of one held schedule."""

    held: Held
    decisions: tuple[Decision, ...]
    cursor: datetime
    next_at: datetime | None
    operation_id: str | None = None

    @property
    def asked(self) -> bool:
        """Whether somebody asked for these runs, rather than the schedule."""
        return self.operation_id is not None


class Row(msgspec.Struct, frozen=True):
    """What became of an instant, to be written: new, or of a row that is there (`grows`, `place`)."""

    outcome: int
    scheduled_at: datetime
    last_at: datetime
    count: int
    manual: bool
    local: str
    window_start: datetime
    covers: tuple[Span, ...] = ()
    reason: str | None = None
    job: str | None = None
    grows: bool = False
    place: Place | None = None
    inbox: str | None = None
    number: int = 0

    @property
    def news(self) -> int:
        """How many events tell of it: none where a range goes on, two where one of them is sent."""
        return 0 if self.grows else 1 + (self.outcome == SENT)


def read_spans(body: bytes) -> tuple[Span, ...]:
    """Spans as they are kept."""
    return msgspec.json.decode(body, type=tuple[Span, ...]) if body else ()


def submission(work: Work, decision: Start | Widen) -> jobs.Submission:
    """The job of a run: what the schedule says, and which run it is of."""
    held, spec = work.held, work.held.spec
    job, scheduled = spec.job, model.newest(decision)
    assert job is not None, "what starts a job says which"
    trigger = trigger_of(work, decision)
    window = f"{instant(decision.window_start)}&window_end={instant(scheduled)}"
    reference = f"{held.subject}?trigger_id={trigger}&scheduled_at={instant(scheduled)}&window_start={window}"
    evidence = None if spec.freshness_seconds is None else scheduled - timedelta(seconds=spec.freshness_seconds)
    manual = decision.place.manual if isinstance(decision, Widen) else decision.fresh.manual
    again = decision.place.again + 1 if isinstance(decision, Widen) else 0
    return jobs.Submission(
        type=job.type,
        input=job.input,
        input_ref=job.input_ref,
        inputs=(*job.inputs, reference),
        priority=job.priority,
        run_at=None if manual else specs.delayed(spec, held.id, scheduled),
        concurrency_key=held.subject if spec.one_at_a_time else None,
        deadline_seconds=job.deadline_seconds,
        evidence_not_before=evidence,
        tags=job.tags,
        correlation_id=trigger,
        id=specs.job_id(trigger, scheduled, again),
    )


def instant(at: datetime) -> str:
    """A moment as it is told to others."""
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def trigger_of(work: Work, decision: Start | Widen) -> str:
    """The identity of a run."""
    if isinstance(decision, Widen):
        return decision.place.trigger_id
    return _trigger(work, decision.fresh.scheduled_at, manual=decision.fresh.manual)


def row_trigger(work: Work, row: Row) -> str:
    """The identity of the run that a row is of."""
    return row.place.trigger_id if row.place else _trigger(work, row.scheduled_at, manual=row.manual)


def _trigger(work: Work, at: datetime, *, manual: bool) -> str:
    return specs.trigger_id(work.held.id, work.operation_id if manual and work.operation_id else at)


def rows_of(work: Work, submitted: Sequence[Admission | None], inboxes: AbstractSet[str], base: int) -> list[Row]:
    """What became of each decision, given what admission said of its job, and which inboxes there are."""
    number, found = max(work.held.told, base), list[Row]()
    for row in _rows(work, submitted, inboxes):
        found.append(msgspec.structs.replace(row, number=number + 1))
        number += row.news
    return found


def _rows(work: Work, submitted: Sequence[Admission | None], inboxes: AbstractSet[str]) -> Iterator[Row]:
    event = work.held.spec.event
    for decision, made in zip(work.decisions, submitted, strict=True):
        if isinstance(decision, Skip):
            yield _skipped(work, decision)
        elif made is not None:
            yield from _run(decision, *made)
        elif event is not None and isinstance(decision, Start):
            yield _sent(decision, event.inbox, there=event.inbox in inboxes)


def _sent(start: Start, inbox: str, *, there: bool) -> Row:
    """A run that is an event: on its way once this commits, if there is somewhere to go."""
    fresh = msgspec.structs.replace(start.fresh, window_start=start.window_start, covers=start.covers)
    row = _row(fresh, SENT) if there else _row(fresh, FAILED, "inbox_missing")
    return msgspec.structs.replace(row, inbox=inbox) if there else row


def _skipped(work: Work, skip: Skip) -> Row:
    span = skip.span
    start = specs.window_start(work.held.spec, span.first, work.held.since)
    reason, grows = skip.reason, skip.grows
    return Row(SKIPPED, span.first, span.last, span.count, skip.manual, skip.local, start, (), reason, grows=grows)


def _run(decision: Start | Widen, job: jobs.Submission, outcome: SubmitOutcome) -> Iterator[Row]:
    if not isinstance(outcome, (jobs.Submitted, jobs.Existing)):
        code = refusal_code(outcome)
        refused = decision.absorbs if isinstance(decision, Widen) else (*decision.absorbs, decision.fresh)
        yield from (_row(fresh, FAILED, code) for fresh in refused)
        return
    yield from (_row(fresh, COALESCED) for fresh in decision.absorbs)
    if isinstance(decision, Start):
        whole = msgspec.structs.replace(decision.fresh, window_start=decision.window_start, covers=decision.covers)
        yield _row(whole, ADMITTED, job=job.id)
    else:
        yield _placed(decision.place, ADMITTED, decision.window_start, decision.covers, job.id)
    yield from (_placed(place, COALESCED, place.window_start, place.covers) for place in decision.replaces)


def refusal_code(outcome: SubmitOutcome) -> str:
    """The code with which admission refused."""
    match outcome:
        case NotEntitled() | QueueFull():
            return outcome.code
        case jobs.InvalidInput():
            return "invalid_input"
        case jobs.KeyConflict():
            return "key_conflict"
        case context.Unresolved():
            return "unknown_reference"
        case jobs.Submitted() | jobs.Existing():
            raise AssertionError("an admitted job was not refused")


def _row(fresh: Fresh, outcome: int, reason: str | None = None, job: str | None = None) -> Row:
    at = fresh.scheduled_at
    return Row(outcome, at, at, 1, fresh.manual, fresh.local, fresh.window_start, fresh.covers, reason, job)


def _placed(place: Place, outcome: int, start: datetime, covers: tuple[Span, ...], job: str | None = None) -> Row:
    at = place.scheduled_at
    return Row(outcome, at, at, 1, place.manual, "", start, covers, None, job, place=place)


def item(workspace: str, work: Work, row: Row) -> dict[str, Any]:
    """A new row."""
    return {
        "workspace": workspace,
        "schedule": work.held.id,
        "scheduled_at": row.scheduled_at,
        "manual": row.manual,
        "last_at": row.last_at,
        "count": row.count,
        "local": row.local,
        "window_start": row.window_start,
        "covers": msgspec.json.encode(row.covers) if row.covers else b"",
        "trigger_id": _trigger(work, row.scheduled_at, manual=row.manual),
        "operation_id": work.operation_id if work.asked else None,
        "revision": work.held.revision,
        "outcome": row.outcome,
        "reason": row.reason,
        "job": row.job,
        "inbox": row.inbox,
        "event_id": sent_as(work, row) if row.outcome == SENT else None,
    }


def sent_as(work: Work, row: Row) -> str:
    """The id of the event that a run sends: it follows the one that tells of the run."""
    return events.event_id(work.held.subject, row.number + 1)


def grown(workspace: str, work: Work, row: Row) -> dict[str, Any]:
    """A range that goes on."""
    more = {"last_at": row.last_at, "count": row.count}
    return {"workspace": workspace, "schedule": work.held.id, "scheduled_at": work.held.range_at, **more}


def rewritten(workspace: str, id: str, place: Place, row: Row | None = None) -> dict[str, Any]:
    """A row that is there: of the place that another took, that stands for more now, or (None) whose job has ended."""
    return {
        "workspace": workspace,
        "schedule": id,
        "scheduled_at": place.scheduled_at,
        "manual": place.manual,
        "outcome": row.outcome if row else ADMITTED,
        "live": row is not None and row.outcome == ADMITTED,
        "job": row.job if row else None,
        "window_start": row.window_start if row else None,
        "covers": msgspec.json.encode(row.covers) if row and row.covers else None,
    }


def advance(workspace: str, work: Work, made: Sequence[Row], at: Moment) -> dict[str, Any]:
    """Where the schedule stands once its rows are written."""
    own = [row for row in made if not row.manual and row.place is None]
    range_at = work.held.range_at
    if own and not work.asked:
        last = own[-1]
        range_at = None if last.outcome != SKIPPED else range_at if last.grows else last.scheduled_at
    manual = [row.scheduled_at for row in made if row.manual and row.place is None]
    told = sum(row.news for row in made)
    return {
        "workspace": workspace,
        "id": work.held.id,
        "cursor": work.cursor,
        "next_at": work.next_at,
        "range_at": range_at,
        "manual_at": manual[-1] if manual else None,
        "told": max(work.held.told, at.base) + told if told else work.held.told,
        "tables": instants.tables_version(),
    }
