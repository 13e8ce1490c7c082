"""effects over HTTP: what each outcome is as an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from steadhold import context
from steadhold.context import answers as files
from steadhold.effects import outcomes
from steadhold.effects.model import Effect, Entered, Kept
from steadhold.effects.wire import EffectItem, EntryItem, HistoryItem
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.web import problem, reply
from steadhold.web.ask import Problem

_SAID: dict[type[Any], Callable[[Any], Problem]] = {
    StaleFence: problem.refused,
    RevisionConflict: problem.refused,
    Missing: problem.refused,
    context.Unresolved: files.refused,
    outcomes.EffectConflict: lambda r: Problem("effect_conflict", f"Effect {r.id} was planned with other content."),
    outcomes.AlreadyInitiated: lambda r: Problem(
        "already_initiated",
        f"The action was begun before, and is {r.execution}: do not act; say what came of it when you know.",
        {"execution": r.execution},
    ),
    outcomes.MoveNotPermitted: lambda r: Problem(
        "transition_not_permitted",
        f"It is {r.from_state}, which does not lead to {r.to_state}.",
        {"from": r.from_state, "to": r.to_state},
    ),
    outcomes.NotNeeded: lambda r: Problem(
        "not_needed",
        f"There is nothing to reconcile: it is {r.reconciliation}. A doubt is an outcome of unknown.",
        {"reconciliation": r.reconciliation},
    ),
    outcomes.EvidenceConflict: lambda r: Problem(
        "evidence_conflict", f"Another fact was taken as {r.evidence_id}.", {"evidence_id": r.evidence_id}
    ),
    outcomes.EntryConflict: lambda r: Problem("entry_conflict", f"Another charge is kept as {r.id}."),
}


def refused(outcome: Refusal) -> Problem:
    """The problem that a refusal is. `tests/effects/test_model.py` holds the table complete."""
    return _SAID[type(outcome)](outcome)


def effect(row: Effect, *, yours: bool = False) -> EffectItem:
    """An effect as it is shown."""
    return EffectItem(
        effect_id=row.id,
        revision=row.revision,
        execution=row.execution,
        settlement=row.settlement,
        reconciliation=row.reconciliation,
        open=row.open,
        kind=row.kind,
        target=row.target,
        request_digest=row.request_digest,
        repeatable=row.repeatable,
        initiations=row.initiations,
        planned_by=row.planned_by,
        planned_at=reply.instant(row.planned_at),
        expires_at=reply.instant(row.expires_at),
        yours=yours or UNSET,
        amount=row.amount,
        currency=row.currency,
        job_id=row.job_id,
        root_job_id=row.root_job_id,
        data_ref=row.data_ref,
        causation_id=row.causation_id,
        no_effect=row.no_effect,
        initiated_at=reply.maybe_instant(row.initiated_at),
        answer_by=reply.maybe_instant(row.answer_by),
        settles_by=reply.maybe_instant(row.settles_by),
        needed_for=row.reasons,
        needed_since=reply.maybe_instant(row.needed_since),
        venue_ref=row.venue_ref,
        evidence_ref=row.evidence_ref,
    )


def line(kept: Kept) -> HistoryItem:
    """A line of a history as it is shown."""
    return HistoryItem(
        revision=kept.revision,
        machine=kept.machine,
        from_=kept.from_state,
        to=kept.to_state,
        at=reply.instant(kept.at),
        actor=kept.actor,
        key_id=kept.key_id,
        because=kept.because,
        said=kept.said,
        venue_ref=kept.venue_ref,
        evidence_ref=kept.evidence_ref,
        evidence_id=kept.evidence_id,
    )


def entry(kept: Entered) -> EntryItem:
    """A charge as it is shown."""
    return EntryItem(
        entry_id=kept.entry.id,
        journal=kept.journal,
        amount=kept.entry.amount,
        currency=kept.entry.currency,
        recorded_at=reply.instant(kept.at),
        actor=kept.actor,
        key_id=kept.key_id,
        effect_id=kept.entry.effect_id,
        data_ref=kept.entry.data_ref,
        causation_id=kept.entry.causation_id,
        note=kept.entry.note,
    )
