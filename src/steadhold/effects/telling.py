"""What is told of an effect: the events of its history, and how it stands for its job and for whoever waits."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from steadhold.effects.model import Effect, Line
from steadhold.events import Happened, Head

Entry: TypeAlias = tuple[str, int, Happened]
"""A line of an effect's history: its aggregate, its revision, what happened."""

EVENTS: Final[dict[tuple[str, str | None], str]] = {
    ("execution", "planned"): "effect.planned",
    ("execution", "initiated"): "effect.initiated",
    ("execution", "succeeded"): "effect.succeeded",
    ("execution", "failed"): "effect.failed",
    ("execution", "unknown"): "effect.unknown",
    ("execution", "abandoned"): "effect.abandoned",
    ("settlement", "pending"): "effect.settlement_pending",
    ("settlement", "settled"): "effect.settled",
    ("settlement", "reversed"): "effect.reversed",
    ("settlement", "disputed"): "effect.disputed",
    ("reconciliation", "needed"): "effect.reconciliation_needed",
    ("reconciliation", "reconciled"): "effect.reconciled",
    ("evidence", None): "effect.evidence_kept",
}
"""How each line of a history is called."""


def subject(id: str) -> str:
    """The name under which events and waits know an effect."""
    return f"effect:{id}"


def job_subject(id: str) -> str:
    """The name under which fences and heads know a job."""
    return f"job:{id}"


def head(row: Effect) -> Head:
    """Where an effect stands. It belongs to the first job of its line, so that every retry shows it, too."""
    of = None if row.root_job_id is None else job_subject(row.root_job_id)
    return Head(subject(row.id), row.revision, row.execution, open=row.open, of=of)


def event(row: Effect, line: Line, actor: str) -> Entry:
    """The event of a line. Each says what it is about, who said it, and what on."""
    told: dict[str, Any] = {
        "kind": row.kind,
        "target": row.target,
        "job_id": row.job_id,
        "amount": row.amount,
        "currency": row.currency,
        "from": line.from_state,
        "to": line.to_state,
        "because": line.because,
        "said": line.said,
        "venue_ref": line.venue_ref,
        "evidence_ref": line.evidence_ref,
        "evidence_id": line.evidence_id,
        "by": actor,
    }
    data = msgspec.json.encode({name: value for name, value in told.items() if value is not None})
    type = EVENTS[line.machine, line.to_state]
    return subject(row.id), line.revision, Happened(type, data, causation_id=row.causation_id)
