"""What happens by itself: instants come due, runs pass their window, new zone tables move what was planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steadhold.kit.plan import Plan, each, rows, single_operation
from steadhold.schedules import instants, recording
from steadhold.schedules import spec as specs
from steadhold.schedules.model import Skip, Standing
from steadhold.schedules.recording import SQL
from steadhold.schedules.rows import Held, Moment, Work

KEPT_SECONDS: Final = 90 * 86_400.0
"""How long runs are kept, unless the server's settings say otherwise (contracts: retention)."""

STARTS_MAX: Final = 500
"""Jobs of one pass. Schedules that would go beyond wait for the next pass, untouched; the first one never does."""


@single_operation
def tick(workspace: str, limit: int) -> Plan[int]:
    """Settle schedules whose instants are due, those that wait longest first. Answers how many, `limit` if more are.

    Whoever else is looking at a schedule settles it: none is waited for, and none is settled twice.
    """
    helds = [Held(*row) for row in (yield from rows(SQL.due, workspace=workspace, limit=limit))]
    if not helds:
        return 0
    at = yield from recording.moment()
    stands, free = yield from recording.standings(workspace, helds)
    works, cut = _fitting(helds, at, stands)
    yield from recording.write(workspace, works, at, free)
    return limit if cut else len(works)


def _fitting(helds: list[Held], at: Moment, stands: Mapping[str, Standing]) -> tuple[list[Work], bool]:
    """What is to be written in this pass, and whether that is not all."""
    works: list[Work] = []
    starts = 0
    for held in helds:
        try:
            work = recording.settled(held, at.now, stands[held.id])
        except specs.NotKnownHere:  # a server that knows its zone settles it
            continue
        starts += sum(not isinstance(said, Skip) for said in work.decisions)
        if works and starts > STARTS_MAX:
            return works, True
        works.append(work)
    return works, False


@single_operation
def replan(workspace: str, limit: int) -> Plan[int]:
    """Find the next instants anew that older zone tables gave. What is recorded stays as it was. Answers how many."""
    tables = instants.tables_version()
    helds = [Held(*row) for row in (yield from rows(SQL.planned, workspace=workspace, tables=tables, limit=limit))]
    items = [_planned(workspace, held, tables) for held in helds]
    yield from each(SQL.advance, items)
    return len(helds)


def _planned(workspace: str, held: Held, tables: str) -> dict[str, object]:
    following = specs.next_after(held.spec, held.cursor)
    return {
        "workspace": workspace,
        "id": held.id,
        "cursor": held.cursor,
        "next_at": following.at if following else None,
        "range_at": held.range_at,
        "manual_at": None,
        "told": held.told,
        "tables": tables,
    }


@single_operation
def forget(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove runs past their window, the oldest first; the schedule remembers up to where. Answers how many."""
    old = yield from rows(SQL.outlived, workspace=workspace, seconds=kept_seconds, limit=limit)
    if not old:
        return 0
    ids = sorted({id for id, *_ in old})
    yield from each(SQL.hold, [{"workspace": workspace, "id": id} for id in ids])
    gone = yield from each(SQL.forget, [
        {"workspace": workspace, "schedule": id, "scheduled_at": at, "manual": manual, "seconds": kept_seconds}
        for id, at, manual in old
    ])  # fmt: skip
    yield from each(SQL.pruned, [
        {"workspace": workspace, "id": id, "at": hand[0][0]}
        for (id, _, manual), hand in zip(old, gone, strict=True) if hand and not manual
    ])  # fmt: skip
    return len(old)
