"""The verbs. Whoever changes a schedule settles what was due, then moves on: no run is lost, none is a surprise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from steadhold import context, fences
from steadhold.jobs import relying
from steadhold.jobs.model import Count
from steadhold.kit import rules
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import BACKFILL_INSTANTS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, each, rows, single_operation
from steadhold.kit.rules import Id
from steadhold.schedules import instants, model, reading, recording, telling
from steadhold.schedules import spec as specs
from steadhold.schedules.fitting import Keepable
from steadhold.schedules.model import TICK, Fresh
from steadhold.schedules.outcomes import (
    Backfilled,
    BackfillOutcome,
    Deleted,
    DeleteOutcome,
    NeverDue,
    PauseOutcome,
    PutOutcome,
    RunsPruned,
    Schedule,
    TargetMissing,
    TooManyInstants,
    Triggered,
    TriggerOutcome,
    Written,
)
from steadhold.schedules.recording import SQL
from steadhold.schedules.rows import Held, Moment, Work, subject
from steadhold.schedules.spec import Spec


@single_operation
def put(
    workspace: str, id: Id, spec: Keepable, expected: Count | None, fences_held: Sequence[FenceRef] = ()
) -> Plan[PutOutcome]:
    """Say when a schedule runs what, if it has revision `expected`; None means that there is none of this id.

    What was due under the spec before is settled first. The same spec again changes nothing. A new schedule, and one
    that is made again, begins now: no earlier instant runs. Outcomes: `Written`, `NeverDue` where the spec has no
    instant to come, `TargetMissing` where there is no inbox to send to, `Unresolved` where what the job is given is not
    in context, `RevisionConflict`, `Missing(last_revision)`, `StaleFence`.
    """
    finds = yield from context.find(workspace, [] if spec.job is None else relying.given(spec.job))
    stale = yield from fences.require(workspace, fences_held)
    if stale is not None:
        return stale
    while True:  # again where a rival made it first
        held = yield from recording.hold(workspace, id)
        at = yield from recording.moment()
        if refused := _unexpected(held, expected):
            return refused
        if held is not None and not held.deleted and held.spec == spec:
            return Written(reading.schedule(held), changed=False)
        after = at.now if held is None else max(at.now, held.cursor)
        following = specs.next_after(spec, after)
        if following is None:
            return NeverDue()
        if spec.event and not (yield from recording.inboxes_there(workspace, [spec.event])):
            return TargetMissing(spec.event.inbox)
        if lost := context.unknown(finds, finds):
            return lost
        next_at = None if spec.paused else following.at
        if held is not None:
            written = yield from _told(workspace, held, at, spec, next_at)
            yield from _rely(workspace, held.subject, finds)
            return written
        if made := (yield from rows(SQL.make, **_made(workspace, id, spec, at, next_at))):
            revision = made[0][0]
            yield from telling.changed(workspace, id, at.base + 1, "created", revision)
            yield from _rely(workspace, subject(id), finds)
            return Written(_schedule(id, revision, spec, at.now, next_at), created=True)


def _rely(workspace: str, owner: str, finds: context.Finds) -> Plan[None]:
    """Keep what a schedule gives its jobs, and nothing that it gave them before."""
    yield from context.unpin_owners(workspace, [owner])
    yield from context.pin_found(workspace, finds, [(owner, text) for text in finds])


def _unexpected(held: Held | None, expected: int | None) -> RevisionConflict | Missing | None:
    if held is None or held.deleted:
        return None if expected is None else Missing(held.revision if held else None)
    return None if expected == held.revision else RevisionConflict(held.revision)


def _told(workspace: str, held: Held, at: Moment, spec: Spec, next_at: datetime | None) -> Plan[Written]:
    yield from recording.settle(workspace, held, at)
    again = held.deleted
    after = yield from _changed(workspace, held.id, at, spec, next_at, "created" if again else "changed")
    return Written(reading.schedule(after), created=again, made_again=again)


def _changed(workspace: str, id: str, at: Moment, spec: Spec, next_at: datetime | None, what: str) -> Plan[Held]:
    yield from rows(SQL.change, **_made(workspace, id, spec, at, next_at), deleted=what == "deleted")
    after = yield from recording.hold(workspace, id)
    assert after is not None, "a schedule that is held is not removed"
    yield from telling.changed(workspace, id, after.told, what, after.revision)
    return after


def _made(workspace: str, id: str, spec: Spec, at: Moment, next_at: datetime | None) -> dict[str, object]:
    return {
        "workspace": workspace,
        "id": id,
        "spec": specs.stored(spec),
        "now": at.now,
        "next_at": next_at,
        "tables": instants.tables_version(),
    }


def _schedule(id: str, revision: int, spec: Spec, now: datetime, next_at: datetime | None) -> Schedule:
    return Schedule(id, revision, spec, now, now, next_at, instants.tables_version(), now, now)


@single_operation
def delete(workspace: str, id: Id, expected: Count, fences_held: Sequence[FenceRef] = ()) -> Plan[DeleteOutcome]:
    """Delete a schedule of revision `expected`, once what was due is settled. Its cursor, runs and jobs stay."""
    held = yield from _held(workspace, id, expected, fences_held)
    if not isinstance(held, Held):
        return held
    at = yield from recording.moment()
    yield from recording.settle(workspace, held, at)
    yield from context.unpin_owners(workspace, [held.subject])
    return Deleted((yield from _changed(workspace, id, at, held.spec, None, "deleted")).revision)


def _held(
    workspace: str, id: str, expected: int | None, fences_held: Sequence[FenceRef]
) -> Plan[Held | StaleFence | Missing | RevisionConflict]:
    stale = yield from fences.require(workspace, fences_held)
    if stale is not None:
        return stale
    held = yield from recording.hold(workspace, id)
    if held is None or held.deleted:
        return Missing(held.revision if held else None)
    if expected is not None and expected != held.revision:
        return RevisionConflict(held.revision)
    return held


@single_operation
def pause(
    workspace: str, id: Id, *, revision: Count | None = None, fences_held: Sequence[FenceRef] = ()
) -> Plan[PauseOutcome]:
    """Let no instant run any more, once what was due is settled. A paused schedule stays as it is."""
    return (yield from _paused(workspace, id, revision, fences_held, paused=True))


@single_operation
def resume(
    workspace: str, id: Id, *, revision: Count | None = None, fences_held: Sequence[FenceRef] = ()
) -> Plan[PauseOutcome]:
    """Let instants run again from now on; those of the time that it was paused are skipped, and recorded as that."""
    return (yield from _paused(workspace, id, revision, fences_held, paused=False))


def _paused(
    workspace: str, id: str, revision: int | None, fences_held: Sequence[FenceRef], *, paused: bool
) -> Plan[PauseOutcome]:
    held = yield from _held(workspace, id, revision, fences_held)
    if not isinstance(held, Held):
        return held
    if held.spec.paused == paused:
        return Written(reading.schedule(held), changed=False)
    at = yield from recording.moment()
    yield from recording.settle(workspace, held, at)
    spec = msgspec.structs.replace(held.spec, paused=paused)
    following = None if paused else specs.next_after(spec, max(held.cursor, at.now))
    what = "paused" if paused else "resumed"
    after = yield from _changed(workspace, id, at, spec, following.at if following else None, what)
    return Written(reading.schedule(after))


@single_operation
def trigger(
    workspace: str,
    id: Id,
    operation_id: Id,
    *,
    revision: Count | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[TriggerOutcome]:
    """Run now, whether it is paused or not, as far as overlap allows; its cadence goes on as it was.

    The run carries `operation_id`, and answers for the time since the last instant. It is recorded whatever
    came of it: skipped, coalesced into one that waits, or refused by admission. Asked again by the same
    `operation_id`, it is the same run.
    """
    held = yield from _held(workspace, id, revision, fences_held)
    if not isinstance(held, Held):
        return held
    if known := (yield from reading.asked(workspace, id, operation_id)):
        return Triggered(known)
    at = yield from recording.moment()
    held = yield from recording.settle(workspace, held, at)
    now = at.now if held.manual_at is None else max(at.now, held.manual_at + TICK)
    run = model.manual(held.spec, now, held.since)
    yield from _asked(workspace, held, at, [run], operation_id)
    made = yield from reading.asked(workspace, id, operation_id)
    assert made is not None, "what was asked for is recorded"
    return Triggered(made)


def _asked(workspace: str, held: Held, at: Moment, runs: Sequence[Fresh], operation_id: str) -> Plan[None]:
    stands, free = yield from recording.standings(workspace, [held])
    decisions = model.overlapped(held.spec, runs, stands[held.id])
    work = Work(held, decisions, held.cursor, held.next_at, operation_id)
    yield from recording.write(workspace, [work], at, free)


@single_operation
def backfill(
    workspace: str,
    id: Id,
    first: rules.Moment,
    until: rules.Moment,
    operation_id: Id,
    *,
    revision: Count | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[BackfillOutcome]:
    """Run the instants of the present spec from `first` on and before `until` that nothing was recorded of.

    Those that are to come are left to the schedule; those that were run or skipped are `existing`. Overlap applies, as
    if they were due now. Outcomes: `Backfilled`, `TooManyInstants`, `RunsPruned` where it is not known any more what
    was recorded, `Missing`, `RevisionConflict`, `StaleFence`.
    """
    held = yield from _held(workspace, id, revision, fences_held)
    if not isinstance(held, Held):
        return held
    at = yield from recording.moment()
    after, last = first - TICK, min(until - TICK, at.now)
    if refused := _beyond(held, after, last):
        return refused
    held = yield from recording.settle(workspace, held, at)
    wanted = list(specs.between(held.spec, after, last))
    known = yield from _known(workspace, id, [one.at for one in wanted])
    new = [model.fresh(held.spec, one, held.since) for one in wanted if one.at not in known]
    yield from _asked(workspace, held, at, new, operation_id)
    made = yield from _known(workspace, id, [run.scheduled_at for run in new])
    return Backfilled(
        tuple((yield from reading.told(workspace, id, made.values()))),
        tuple((yield from reading.told(workspace, id, known.values()))),
    )


def _beyond(held: Held, after: datetime, last: datetime) -> RunsPruned | TooManyInstants | None:
    if held.pruned_to is not None and after < held.pruned_to:
        return RunsPruned(held.pruned_to)
    count = specs.counted(held.spec, after, last)
    return TooManyInstants(count, BACKFILL_INSTANTS_MAX) if count > BACKFILL_INSTANTS_MAX else None


def _known(workspace: str, id: str, wanted: Sequence[datetime]) -> Plan[dict[datetime, tuple[Any, ...]]]:
    items = [{"workspace": workspace, "schedule": id, "at": at} for at in wanted]
    hands = yield from each(SQL.standing_there, items)
    return {at: hand[0] for at, hand in zip(wanted, hands, strict=True) if hand}
