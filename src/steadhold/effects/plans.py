"""effects: the verbs. Each decides under the row's lock, and tells what it did in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from steadhold import access, context, fences
from steadhold.access import Actor
from steadhold.effects import moving, telling, verdicts
from steadhold.effects.model import (
    ANSWER_WITHIN_SECONDS,
    Effect,
    Fact,
    Intent,
    Kept,
    Machine,
    Reconciliation,
    Settling,
    Told,
    Verdict,
    intent_fault,
    seconds_fault,
)
from steadhold.effects.moving import SQL
from steadhold.effects.outcomes import (
    AbandonOutcome,
    EffectConflict,
    FactOutcome,
    InitiateOutcome,
    Moved,
    PlanOutcome,
    ReconcileOutcome,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.kit.plan import Plan, each, maybe, operation, rows, single_operation
from steadhold.kit.rules import Id, Text

NEWEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
OLDEST: Final = datetime(1, 1, 2, tzinfo=UTC)
FURTHEST: Final = "\U0010ffff"


@operation
def plan(
    workspace: str, intent: Intent, *, by: Actor, job_fence: int | None = None, fences_held: Sequence[FenceRef] = ()
) -> Plan[PlanOutcome]:
    """Write down an action before it is begun. The same again answers the effect that there is.

    An effect of a job needs the fence of its job until it is initiated; a retry of the job may say the same. What
    its `data_ref` names in context has to be there (else `Unresolved`), and stays as long as the effect: for ever.

    Raises:
        ValueError: what is planned is malformed (see `model.intent_fault`), or a fence is of no job.
    """
    if fault := intent_fault(intent):
        raise ValueError(fault)
    if job_fence is not None and intent.job_id is None:
        raise ValueError("a job_fence is that of a job, and the intent names none")
    finds = yield from context.find(workspace, [intent.data_ref or ""])
    there = yield from maybe(SQL.look, Effect, workspace=workspace, id=intent.id)
    refs = _with_job(fences_held, intent.job_id, job_fence)
    if there is None or there.execution == "planned":
        stale = yield from _owned(workspace, refs, intent.job_id)
        if stale is not None:
            return stale
    root = (yield from _lines(workspace, [intent.job_id])).get(intent.job_id or "")
    if there is None:
        if lost := context.unknown(finds, finds):
            return lost
        made = yield from maybe(SQL.plan, Effect, **moving.planned(workspace, intent, root, by))
        if made is not None:
            yield from context.pin_found(workspace, finds, [(telling.subject(made.id), text) for text in finds])
            yield from moving.write_down(workspace, [(moving.first(made), by)])
            return Moved(made)
        there = yield from maybe(SQL.look, Effect, workspace=workspace, id=intent.id)
    if there is None or not there.is_for(intent, root):
        return EffectConflict(intent.id)
    return Moved(there, repeated=True)


@operation
def initiate(
    workspace: str,
    id: str,
    *,
    by: Actor,
    job_fence: int | None = None,
    answer_within_seconds: float = ANSWER_WITHIN_SECONDS,
    revision: int | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[InitiateOutcome]:
    """Say that the action begins now. Act once this is committed, and only if it answered `Moved`.

    Of any number that try, one is told so. `job_fence` is that of the effect's job; a retry of it names its own in
    `fences_held`. Without an outcome within `answer_within_seconds` the effect is unknown.

    Raises:
        ValueError: the seconds are not above 0, or more than a year.
    """
    if fault := seconds_fault(answer_within_seconds):
        raise ValueError(fault)
    there = yield from maybe(SQL.look, Effect, workspace=workspace, id=id)
    if there is None:
        return Missing()
    refs = _with_job(fences_held, there.job_id, job_fence)
    stale = yield from _owned(workspace, refs, there.job_id, there.root_job_id)
    if stale is not None:
        return stale
    return (
        yield from moving.act(workspace, id, revision, by, lambda row: verdicts.initiated(row, answer_within_seconds))
    )


@operation
def abandon(workspace: str, id: str, *, by: Actor, revision: int | None = None) -> Plan[AbandonOutcome]:
    """Give up an action that was not begun. Saying it again is harmless."""
    return (yield from moving.act(workspace, id, revision, by, verdicts.abandoned))


@operation
def outcome(
    workspace: str,
    id: str,
    execution: Told,
    *,
    by: Actor,
    no_effect: bool = False,
    venue_ref: Text | None = None,
    evidence_ref: Text | None = None,
    evidence_id: Id | None = None,
    revision: int | None = None,
) -> Plan[FactOutcome]:
    """Say what came of it, however late, and whoever knows. What contradicts is kept, and somebody has to look.

    Raises:
        ValueError: `no_effect` of anything but a failure.
    """
    if no_effect and execution != "failed":
        raise ValueError("no_effect says that a failure did nothing outside")
    fact = Fact("outcome", execution, no_effect, venue_ref, evidence_ref, evidence_id)
    return (yield from moving.learn(workspace, id, revision, by, lambda row: verdicts.told(row, fact), fact))


@operation
def settle(
    workspace: str,
    id: str,
    to: Settling,
    *,
    by: Actor,
    settles_within_seconds: float | None = None,
    evidence_ref: Text | None = None,
    evidence_id: Id | None = None,
    revision: int | None = None,
) -> Plan[FactOutcome]:
    """Say what became of the money, however late, and whoever knows.

    Raises:
        ValueError: the seconds are not above 0, or more than a year.
    """
    if settles_within_seconds is not None and (fault := seconds_fault(settles_within_seconds)):
        raise ValueError(fault)
    within = None if settles_within_seconds is None else float(settles_within_seconds)
    fact = Fact("settlement", to, False, None, evidence_ref, evidence_id, within)
    return (yield from moving.learn(workspace, id, revision, by, lambda row: verdicts.settled(row, fact), fact))


@operation
def reconcile(
    workspace: str,
    id: str,
    verdict: Verdict,
    evidence_ref: Text,
    *,
    by: Actor,
    evidence_id: Id | None = None,
    revision: int | None = None,
) -> Plan[ReconcileOutcome]:
    """Decide what came of it, after looking: `evidence_ref` says at what."""
    fact = Fact("reconcile", verdict, False, None, evidence_ref, evidence_id)
    done = yield from moving.learn(workspace, id, revision, by, lambda row: verdicts.reconciled(row, fact), fact)
    if isinstance(done, Moved) and not done.repeated:
        yield from access.audit(workspace, by, "effect.reconciled", telling.subject(id))
    return done


@operation
def get(workspace: str, id: str) -> Plan[Effect | Missing]:
    """Read an effect as it stands."""
    return (yield from maybe(SQL.look, Effect, workspace=workspace, id=id)) or Missing()


@operation
def history(
    workspace: str, id: str, after: int, limit: int, machine: Machine | None = None
) -> Plan[list[Kept] | Missing]:
    """List what an effect became, in order, after a revision; of one of its states, or of all."""
    if (yield from maybe(SQL.look, Effect, workspace=workspace, id=id)) is None:
        return Missing()
    item = {"effect": id, "after": after, "limit": limit, "machine": machine}
    return [Kept(*row) for row in (yield from rows(SQL.history, workspace=workspace, **item))]


@operation
def effects(
    workspace: str, reconciliation: Reconciliation | None, place: tuple[datetime, str] | None, limit: int
) -> Plan[list[Effect]]:
    """List effects in a state of reconciliation, or all, the newest first, from a place on.

    Those that need it come in the order in which they began to.
    """
    if reconciliation == "needed":
        at, id = place or (OLDEST, "")
        found = yield from rows(SQL.waiting, workspace=workspace, after_at=at, after=id, limit=limit)
    else:
        at, id = place or (NEWEST, FURTHEST)
        wanted = {"wanted": reconciliation, "before_at": at, "before": id, "limit": limit}
        found = yield from rows(SQL.listing, workspace=workspace, **wanted)
    return [Effect(*row) for row in found]


@single_operation
def pass_time(workspace: str, limit: int) -> Plan[int]:
    """Do what bounds say: abandon, expect no answer any more, have somebody look, remind. Answers how many."""
    found = [Effect(*row) for row in (yield from rows(SQL.passing, workspace=workspace, limit=limit))]
    changes = [(row, change) for row in found if (change := verdicts.passed(row)).now != row]
    yield from moving.pass_time(workspace, changes)
    return len(changes)


def _with_job(held: Sequence[FenceRef], job_id: str | None, fence: int | None) -> tuple[FenceRef, ...]:
    """The grants that are named, by a header or by the fence of the job."""
    if job_id is None or fence is None:
        return tuple(held)
    return tuple(dict.fromkeys((*held, FenceRef(telling.job_subject(job_id), fence))))


def _owned(
    workspace: str, refs: Sequence[FenceRef], job_id: str | None, root: str | None = None
) -> Plan[StaleFence | None]:
    """Require the grants, and of an effect of a job that of the job, or of a retry of it: what root they have."""
    stale = yield from fences.require(workspace, refs)
    if stale is not None or job_id is None or any(ref.subject == telling.job_subject(job_id) for ref in refs):
        return stale
    jobs = [ref.name for ref in refs if ref.kind == "job"]
    lines = yield from _lines(workspace, jobs if root is not None else [])
    return None if root in lines.values() and root is not None else StaleFence(telling.job_subject(job_id))


def _lines(workspace: str, jobs: Sequence[str | None]) -> Plan[dict[str, str]]:
    """With which job the line of each began, of those that are there."""
    items = [{"workspace": workspace, "job": job} for job in jobs if job is not None]
    return dict(pair for hand in (yield from each(SQL.lines_of_jobs, items)) for pair in hand)
