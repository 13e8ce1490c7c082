"""The one way an effect changes: its row is held, the change is decided, written, written down, told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from steadhold import events
from steadhold.access import Actor
from steadhold.effects import telling
from steadhold.effects.model import Effect, Fact, Intent, Line
from steadhold.effects.outcomes import EvidenceConflict, Moved
from steadhold.effects.verdicts import Change
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, Refusal, each, maybe
from steadhold.kit.sql import load

SQL: Final = load(__file__)
R = TypeVar("R", bound=Refusal)
CLOCK: Final = Actor("steadhold", None)
"""Who it is that lets time pass."""


def act(
    workspace: str, id: str, revision: int | None, by: Actor, decide: Callable[[Effect], Change | R]
) -> Plan[Moved | R | Missing | RevisionConflict]:
    """Hold an effect and move it as decided; or answer what makes that unnecessary or wrong."""
    outcome = yield from learn(workspace, id, revision, by, decide, None)
    assert not isinstance(outcome, EvidenceConflict), "there was no fact"
    return outcome


def learn(
    workspace: str, id: str, revision: int | None, by: Actor, decide: Callable[[Effect], Change | R], fact: Fact | None
) -> Plan[Moved | R | EvidenceConflict | Missing | RevisionConflict]:
    """As `act`, on a fact.

    A fact that was taken before is answered as it was then, before its condition is tested: it is a replay.
    """
    while True:
        row = yield from hold(workspace, id)
        if row is None:
            return Missing()
        if known := (yield from _known(workspace, id, fact)):
            return known
        if revision is not None and revision != row.revision:
            return RevisionConflict(row.revision)
        change = decide(row)
        if not isinstance(change, Change):
            return change
        if not change.lines:
            return Moved(row, repeated=True)
        if (yield from each(SQL.move, [_changed(workspace, row, change.now)]))[0]:
            yield from _take(workspace, change.now, fact)  # before a twin in this transaction holds the row
            yield from write_down(workspace, [(change, by)])
            return Moved(change.now)


def hold(workspace: str, id: str) -> Plan[Effect | None]:
    """Lock an effect and read how it stands, by the clock after it was locked."""
    return (yield from maybe(SQL.hold, Effect, workspace=workspace, id=id))


def _known(workspace: str, id: str, fact: Fact | None) -> Plan[Moved | EvidenceConflict | None]:
    """What was answered to a fact when it was taken; None: it is news."""
    if fact is None or fact.evidence_id is None:
        return None
    item = {"workspace": workspace, "effect": id, "evidence_id": fact.evidence_id}
    for digest, answer in (yield from each(SQL.taken, [item]))[0]:
        if bytes(digest) != fact.digest:
            return EvidenceConflict(fact.evidence_id)
        return Moved(msgspec.json.decode(bytes(answer), type=Effect), repeated=True)
    return None


def _take(workspace: str, now: Effect, fact: Fact | None) -> Plan[None]:
    if fact is None or fact.evidence_id is None:
        return
    answer = msgspec.json.encode(now)
    item = {"workspace": workspace, "effect": now.id, "evidence_id": fact.evidence_id}
    yield from each(SQL.take, [{**item, "digest": fact.digest, "answer": answer}])


def write_down(workspace: str, changes: Sequence[tuple[Change, Actor]]) -> Plan[None]:
    """Keep and tell what effects became, and by whom. Their rows are written."""
    lines = [(change.now, line, by) for change, by in changes for line in change.lines]
    yield from each(SQL.write_down, [_line(workspace, *each_) for each_ in lines if not each_[1].announced])
    yield from events.record(workspace, [telling.event(now, line, by.subject) for now, line, by in lines])
    yield from events.move(workspace, [telling.head(change.now) for change, _ in changes])


def pass_time(workspace: str, changes: Sequence[tuple[Effect, Change]]) -> Plan[None]:
    """Write what time has done to effects that are held."""
    yield from each(SQL.move, [_changed(workspace, row, change.now) for row, change in changes])
    yield from write_down(workspace, [(change, CLOCK) for _, change in changes])


def planned(workspace: str, intent: Intent, root: str | None, by: Actor) -> dict[str, Any]:
    """An intent as a row."""
    return {
        "workspace": workspace,
        "id": intent.id,
        "kind": intent.kind,
        "target": intent.target,
        "request_digest": intent.request_digest,
        "repeatable": intent.repeatable,
        "amount": intent.amount,
        "currency": intent.currency,
        "data_ref": intent.data_ref,
        "causation_id": intent.causation_id,
        "job": intent.job_id,
        "root": root,
        "planned_by": by.subject,
        "expires_in_seconds": float(intent.expires_in_seconds),
    }


def first(row: Effect) -> Change:
    """The line with which a history begins."""
    return Change(row, (Line(row.revision, "execution", None, "planned"),))


def _line(workspace: str, now: Effect, line: Line, by: Actor) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "effect": now.id,
        "revision": line.revision,
        "machine": line.machine,
        "from_state": line.from_state,
        "to_state": line.to_state,
        "at": now.now,
        "actor": by.subject,
        "key_id": by.key_id,
        "because": line.because,
        "said": line.said,
        "venue_ref": line.venue_ref,
        "evidence_ref": line.evidence_ref,
        "evidence_id": line.evidence_id,
    }


_MOVING: Final = (
    "revision", "execution", "settlement", "reconciliation", "no_effect", "initiations", "initiated_at", "answer_by",
    "settles_by", "needed_for", "needed_since", "announce_at", "venue_ref", "evidence_ref", "due_at",
)  # fmt: skip


def _changed(workspace: str, row: Effect, now: Effect) -> dict[str, Any]:
    """A held row as it is to be from now on."""
    moving = {name: getattr(now, name) for name in _MOVING}
    return {"workspace": workspace, "id": now.id, "held": row.revision, **moving}
