"""The one way instants are settled: schedules are held, what is due is decided, jobs, runs and cursors move together.

Whoever records does it in this order, in one transaction of its own: the schedules' rows, where they stand, the rows of
jobs that nobody has claimed, and then everything is written. Nobody who holds a job waits for its schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from steadhold import jobs
from steadhold.jobs import withdrawing
from steadhold.jobs.moving import Held as HeldJob
from steadhold.kit.plan import Plan, each, one
from steadhold.kit.plan import rows as plain
from steadhold.kit.sql import load
from steadhold.schedules import model, rows, telling
from steadhold.schedules.model import Place, Range, Skip, Standing
from steadhold.schedules.rows import Admission, Held, Moment, Row, Work
from steadhold.schedules.spec import Event

SQL: Final = load(__file__)

LIVE_MAX: Final = 1_000
"""Runs whose jobs are looked at where they decide; an edit may have left many. One of more may go on."""

LIVE_LOOKS: Final = 20
"""Runs whose jobs are looked at where they decide nothing, only to note which have ended."""

Stands: TypeAlias = tuple[dict[str, Standing], dict[str, HeldJob]]
"""Where held schedules stand, by id; and the unclaimed jobs of theirs that are locked now, by theirs."""


def hold(workspace: str, id: str) -> Plan[Held | None]:
    """Lock a schedule, deleted or not; None where there never was one."""
    hand = (yield from each(SQL.hold, [{"workspace": workspace, "id": id}]))[0]
    return Held(*hand[0]) if hand else None


def moment() -> Plan[Moment]:
    """The time now."""
    return (yield from one(SQL.moment, Moment))


def standings(workspace: str, helds: Sequence[Held]) -> Plan[Stands]:
    """Look where held schedules stand, and hold those jobs of theirs that may be taken back."""
    live = yield from _live(workspace, helds)
    seen = yield from withdrawing.standings(workspace, [p.job_id for places in live.values() for p in places])
    alive = {id for id, job in seen.items() if job.live}
    ended = [(id, place) for id, places in live.items() for place in places if place.job_id not in alive]
    yield from each(SQL.rewrite, [rows.rewritten(workspace, id, place) for id, place in ended])
    movable = [
        place.job_id
        for held in helds
        if held.spec.overlap == "coalesce"
        for place in live[held.id]
        if place.job_id in alive and not seen[place.job_id].claimed
    ]
    free = yield from withdrawing.hold_unclaimed(workspace, movable)
    ranges = yield from _ranges(workspace, helds)
    return {held.id: _standing(held, live[held.id], ranges.get(held.id), alive, free) for held in helds}, free


def _standing(
    held: Held, places: Sequence[Place], range: Range | None, alive: set[str], free: Mapping[str, HeldJob]
) -> Standing:
    waiting = tuple(place for place in places if place.job_id in free)
    busy = len(places) == LIVE_MAX or any(place.job_id in alive for place in places)
    return Standing(held.since, range, waiting, busy)


def _live(workspace: str, helds: Sequence[Held]) -> Plan[dict[str, list[Place]]]:
    most = {held.id: LIVE_LOOKS if held.spec.overlap == "enqueue" else LIVE_MAX for held in helds}
    hands = yield from each(SQL.live, [{"workspace": workspace, "schedule": id, "most": n} for id, n in most.items()])
    return {id: [_place(*row) for row in hand] for id, hand in zip(most, hands, strict=True)}


def _place(at: datetime, manual: bool, job: str, trigger: str, start: datetime, covers: bytes, again: int) -> Place:  # noqa: FBT001 - a row
    return Place(at, manual, job, trigger, start, rows.read_spans(covers), again)


def _ranges(workspace: str, helds: Sequence[Held]) -> Plan[dict[str, Range]]:
    having = [held for held in helds if held.range_at is not None]
    items = [{"workspace": workspace, "schedule": held.id, "at": held.range_at} for held in having]
    hands = yield from each(SQL.ranges, items)
    return {held.id: Range(*hand[0]) for held, hand in zip(having, hands, strict=True) if hand}


def settled(held: Held, now: datetime, standing: Standing) -> Work:
    """What is to be written of what is due."""
    said = model.settle(held.spec, held.cursor, now, standing)
    return Work(held, said.decisions, said.cursor, said.next_at)


def settle(workspace: str, held: Held, at: Moment) -> Plan[Held]:
    """Settle all that is due of one held schedule, before it is told anything else. Answers how it stands then."""
    if held.deleted:
        return held
    stands, free = yield from standings(workspace, [held])
    work = settled(held, at.now, stands[held.id])
    if not work.decisions:
        return held
    yield from write(workspace, [work], at, free)
    after = yield from hold(workspace, held.id)
    assert after is not None, "a schedule that is held is not removed"
    return after


def write(workspace: str, works: Sequence[Work], at: Moment, free: Mapping[str, HeldJob]) -> Plan[list[list[Row]]]:
    """Admit jobs, take back those whose place was taken, write runs and events, move the cursors. Rows by work.

    `free` are the unclaimed jobs that are held. A run whose job is refused takes no place: what waits goes on.
    """
    submitted = yield from _submitted(workspace, works)
    there = yield from inboxes_there(workspace, [work.held.spec.event for work in works if work.decisions])
    made = [rows.rows_of(work, submitted[n], there, at.base) for n, work in enumerate(works)]
    both = list(zip(works, made, strict=True))
    taken = [
        (free[row.place.job_id], work.held.subject)
        for work, mine in both
        for row in mine
        if row.place is not None and row.place.job_id in free
    ]
    yield from withdrawing.withdraw(workspace, taken, "coalesced")
    yield from _kept(workspace, both)
    yield from each(SQL.advance, [rows.advance(workspace, work, mine, at) for work, mine in both])
    yield from telling.tell(workspace, both)
    return made


def inboxes_there(workspace: str, sent: Iterable[Event | None]) -> Plan[set[str]]:
    """Which of the inboxes are there that events are to go to."""
    wanted = sorted({event.inbox for event in sent if event is not None})
    if not wanted:
        return set()
    return {name for (name,) in (yield from plain(SQL.inboxes, workspace=workspace, inboxes=wanted))}


def _submitted(workspace: str, works: Sequence[Work]) -> Plan[list[list[Admission | None]]]:
    wanted = [
        [
            None if isinstance(said, Skip) or work.held.spec.job is None else rows.submission(work, said)
            for said in work.decisions
        ]
        for work in works
    ]
    flat = [job for mine in wanted for job in mine if job is not None]
    instead = [
        model.taken(said)
        for work in works if work.held.spec.job is not None
        for said in work.decisions if not isinstance(said, Skip)
    ]  # fmt: skip
    outcomes = iter((yield from jobs.submit_all.plan(workspace, flat, instead))) if flat else iter(())
    return [[None if job is None else (job, next(outcomes)) for job in mine] for mine in wanted]


def _kept(workspace: str, both: Sequence[tuple[Work, Sequence[Row]]]) -> Plan[None]:
    flat = [(work, row) for work, mine in both for row in mine]
    new = [rows.item(workspace, work, row) for work, row in flat if row.place is None and not row.grows]
    yield from each(SQL.record, new)
    yield from each(SQL.grow, [rows.grown(workspace, work, row) for work, row in flat if row.grows])
    yield from each(
        SQL.rewrite,
        [rows.rewritten(workspace, work.held.id, row.place, row) for work, row in flat if row.place is not None],
    )
