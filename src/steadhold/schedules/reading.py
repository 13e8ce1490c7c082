"""What is told of schedules and of their runs. Whether the job of a run waits still, its own row says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from steadhold.jobs import withdrawing
from steadhold.kit import rules
from steadhold.kit.limits import PREVIEW_ITEMS_MAX
from steadhold.kit.outcome import Missing
from steadhold.kit.page import Page, page
from steadhold.kit.paths import EVERYWHERE
from steadhold.kit.plan import Plan, maybe, one, operation, rows
from steadhold.kit.rules import Id, Limit
from steadhold.schedules import instants
from steadhold.schedules import spec as specs
from steadhold.schedules.instants import Instant, Skipped
from steadhold.schedules.model import Kind, Outcome
from steadhold.schedules.outcomes import Preview, Run, Schedule
from steadhold.schedules.recording import SQL
from steadhold.schedules.rows import ADMITTED, Held, Moment, instant, read_spans
from steadhold.schedules.spec import TICK, Spec

Previewed: TypeAlias = Annotated[int, Meta(ge=1, le=PREVIEW_ITEMS_MAX)]

NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""Behind every instant."""

OUTCOMES: Final[tuple[Outcome, ...]] = ("started", "coalesced", "skipped", "failed", "started")


def schedule(held: Held) -> Schedule:
    """A schedule as it is told."""
    return Schedule(
        held.id, held.revision, held.spec, held.since, held.cursor, held.next_at, held.tables, held.made_at,
        held.changed_at,
    )  # fmt: skip


@operation
def get(workspace: str, id: Id) -> Plan[Schedule | Missing]:
    """Read a schedule; `Missing` has the last revision of one that was deleted."""
    held = yield from maybe(SQL.look, Held, workspace=workspace, id=id)
    if held is None or held.deleted:
        return Missing(held.revision if held else None)
    return schedule(held)


@operation
def schedules(workspace: str, after: str, limit: Limit, within: Sequence[str] = EVERYWHERE) -> Plan[Page[Schedule]]:
    """List schedules by id, from behind `after`, of those that `within` names ("" names all)."""
    found = yield from rows(SQL.page, workspace=workspace, after=after, limit=limit + 1, within=list(within))
    return page([schedule(Held(*row)) for row in found], limit, "schedules", lambda each: (each.id,))


@operation
def runs(workspace: str, id: Id, before: tuple[datetime, bool] | None, limit: Limit) -> Plan[Page[Run] | Missing]:
    """List what became of instants, the newest first, from before one; of deleted schedules, too."""
    if not (yield from rows(SQL.look, workspace=workspace, id=id)):
        return Missing()
    at, manual = before or (NEVER, False)
    found = yield from rows(SQL.runs, workspace=workspace, schedule=id, before=at, manual=manual, limit=limit + 1)
    made = yield from told(workspace, id, found)
    return page(made, limit, "schedule-runs", lambda run: (instant(run.scheduled_at), int(run.kind == "manual")))


def told(workspace: str, id: str, found: Iterable[tuple[Any, ...]]) -> Plan[list[Run]]:
    """Rows of runs as they are told, each once."""
    kept = list(dict.fromkeys(found))
    jobs = yield from withdrawing.standings(workspace, [row[12] for row in kept if row[10] == ADMITTED])
    waiting = {job for job, standing in jobs.items() if standing.live and not standing.claimed}
    return [_run(id, *row, waiting=row[12] in waiting) for row in kept]


def _run(
    id: str, at: datetime, manual: bool, last: datetime, count: int, local: str, start: datetime, covers: bytes,  # noqa: FBT001 - a row
    trigger: str, operation: str | None, revision: int, outcome: int, reason: str | None, job: str | None,
    recorded: datetime, inbox: str | None, event_id: str | None, *, waiting: bool,
) -> Run:  # fmt: skip
    kind: Kind = "manual" if manual else "schedule" if operation is None else "backfill"
    said: Outcome = "waiting" if waiting and outcome == ADMITTED else OUTCOMES[outcome]
    spans = read_spans(covers)
    return Run(
        id, kind, at, last, count, local, start, spans, trigger, operation, revision, said, reason, job, recorded,
        inbox, event_id,
    )  # fmt: skip


def asked(workspace: str, id: str, operation_id: str) -> Plan[Run | None]:
    """The manual run that an operation asked for."""
    found = yield from rows(SQL.asked, workspace=workspace, schedule=id, operation=operation_id)
    return next(iter((yield from told(workspace, id, found))), None)


@operation
def preview(workspace: str, id: Id, first: rules.Moment | None, count: Previewed) -> Plan[Preview | Missing]:
    """The next `count` instants from `first` on (None: from now), and what a change of the clock does to them."""
    held = yield from maybe(SQL.look, Held, workspace=workspace, id=id)
    if held is None or held.deleted:
        return Missing(held.revision if held else None)
    after = (yield from one(SQL.moment, Moment)).now if first is None else first - TICK
    return Preview(schedule(held), tuple(_ahead(held.spec, after, count)))


def _ahead(spec: Spec, after: datetime, count: int) -> Iterable[Instant | Skipped]:
    begin, end = specs.bounded(spec, after, NEVER)
    for item in instants.preview(specs.cadence(spec), begin, count):
        if isinstance(item, Instant) and item.at > end:
            return
        yield item
