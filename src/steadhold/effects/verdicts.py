"""What facts, people and time do to an effect: pure decisions over what its locked row says.

Each decision answers a `Change`: the effect as it is to be, and a line for each revision on the way. One without lines
changes nothing: what was said is so already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from steadhold.effects.model import (
    ANNOUNCED_EVERY_SECONDS,
    AT_REST,
    MOVES,
    SETTLES_WITHIN_SECONDS,
    Effect,
    Fact,
    Line,
    Machine,
    Reason,
)
from steadhold.effects.outcomes import AlreadyInitiated, MoveNotPermitted, NotNeeded

GRAPH = MOVES | AT_REST
PENDING = frozenset({"pending", "disputed"})
NOTHING_LEFT = frozenset({"failed", "abandoned"})
"""What an execution comes to that leaves nothing outside to be settled."""
MONEY = frozenset({"pending", "settled", "disputed"})
"""What a settlement is while money has moved, or may."""


@dataclass(frozen=True, slots=True)
class Change:
    """An effect on its way: each step raises its revision by one."""

    now: Effect
    lines: tuple[Line, ...] = ()

    def move(
        self, machine: Machine, to: str, fact: Fact | None = None, because: str | None = None, **more: Any
    ) -> Change:
        """Move one of its states."""
        line = Line(self.now.next_revision, machine, getattr(self.now, machine), to, because, **_evidence(fact))
        return Change(replace(self.now, revision=line.revision, **{machine: to}, **more), (*self.lines, line))

    def keep(self, fact: Fact, because: str | None = None, **more: Any) -> Change:
        """Keep a fact that moves nothing."""
        line = Line(self.now.next_revision, "evidence", None, None, because, **_evidence(fact))
        return Change(replace(self.now, revision=line.revision, **more), (*self.lines, line))

    def needs(self, why: Reason, fact: Fact | None = None) -> Change:
        """Have somebody look; if somebody has to already, the fact is kept beside, and the reason told."""
        now, reasons = self.now, dict.fromkeys((*self.now.reasons, why))
        if now.reconciliation != "needed":
            at: dict[str, Any] = {"needed_since": now.now, "announce_at": _daily(now)}
            return self.move("reconciliation", "needed", fact, why, needed_for=why, **at)
        if fact is not None:
            return self.keep(fact, why, needed_for=" ".join(reasons))
        return self.announce(why, needed_for=" ".join(reasons)) if why not in now.reasons else self

    def announce(self, why: str, **more: Any) -> Change:
        """Tell once more that somebody has to look."""
        line = Line(self.now.next_revision, "reconciliation", "needed", "needed", why, announced=True)
        return Change(
            replace(self.now, revision=line.revision, announce_at=_daily(self.now), **more), (*self.lines, line)
        )

    def answered(self, fact: Fact) -> Change:
        """The outcome is known: nobody has to look for it any more, though perhaps for something else."""
        left = [reason for reason in self.now.reasons if reason != "unknown_outcome"]
        if len(left) == len(self.now.reasons):
            return self
        if left:
            return Change(replace(self.now, needed_for=" ".join(left)), self.lines)
        return self.reconciled(fact)

    def reconciled(self, fact: Fact) -> Change:
        """Nobody has to look any more."""
        return self.move("reconciliation", "reconciled", fact, needed_for="", needed_since=None, announce_at=None)


def _evidence(fact: Fact | None) -> dict[str, Any]:
    """What a line tells of the fact that it is for."""
    if fact is None:
        return {}
    references = {"venue_ref": fact.venue_ref, "evidence_ref": fact.evidence_ref, "evidence_id": fact.evidence_id}
    return {"said": fact.says, **references}


def _daily(row: Effect) -> Any:
    return row.now + timedelta(seconds=ANNOUNCED_EVERY_SECONDS)


def initiated(row: Effect, answer_within_seconds: float) -> Change | AlreadyInitiated | MoveNotPermitted:
    """Begin it, if nobody has, or if beginning it once more does nothing twice."""
    if row.execution == "abandoned" or _expired(row):
        return MoveNotPermitted(row.id, "abandoned", "initiated")
    if row.execution != "planned" and not _again(row):
        return AlreadyInitiated(row.id, row.execution)
    answer_by = row.now + timedelta(seconds=answer_within_seconds)
    more: dict[str, Any] = {"initiations": row.initiations + 1, "initiated_at": row.now, "answer_by": answer_by}
    if row.no_effect:  # what the outside called the try before is not what this one is called
        more.update(no_effect=False, venue_ref=None, evidence_ref=None)
    return Change(row).move("execution", "initiated", **more)


def _again(row: Effect) -> bool:
    """Whether it may be begun once more: the outside does nothing twice, or it is sure that nothing happened."""
    if row.execution == "unknown":
        return row.repeatable
    return row.execution == "failed" and row.no_effect and row.reconciliation != "needed"


def _expired(row: Effect) -> bool:
    return row.execution == "planned" and row.now >= row.expires_at


def abandoned(row: Effect) -> Change | MoveNotPermitted:
    """Give up what was not begun."""
    if row.execution == "abandoned":
        return Change(row)
    if row.execution != "planned":
        return MoveNotPermitted(row.id, row.execution, "abandoned")
    return Change(row).move("execution", "abandoned")


def told(row: Effect, fact: Fact) -> Change | MoveNotPermitted:
    """Take an outcome: the first is believed, one that agrees is kept, and one that contradicts has somebody look."""
    if row.execution == "planned":
        return MoveNotPermitted(row.id, row.execution, fact.says)
    if fact.says == row.execution:
        return _agreed(row, fact)
    if row.execution not in ("initiated", "unknown"):
        return Change(row).needs("contradiction", fact)
    known: dict[str, Any] = {"answer_by": None, "no_effect": fact.no_effect, **_references(row, fact)}
    change = Change(row).move("execution", fact.says, fact, **known)
    if _twice(row, fact) or (fact.says == "failed" and row.settlement in MONEY):
        change = change.needs("contradiction", fact)
    return change.needs("unknown_outcome") if fact.says == "unknown" else change.answered(fact)


def _twice(row: Effect, fact: Fact) -> bool:
    """Two references of the outside to one effect mean that it happened twice there: somebody has to look."""
    return bool(fact.venue_ref and row.venue_ref and fact.venue_ref != row.venue_ref)


def _agreed(row: Effect, fact: Fact) -> Change:
    """Take what says the same: news of it is kept. That nothing happened is no such thing where money moved."""
    if _twice(row, fact) or (fact.no_effect and row.settlement in MONEY):
        return Change(row).needs("contradiction", fact)
    known: dict[str, Any] = {"no_effect": row.no_effect or fact.no_effect, **_references(row, fact)}
    news = replace(row, **known) != row or fact.evidence_id is not None
    return Change(row).keep(fact, **known) if news else Change(row)


def _references(row: Effect, fact: Fact) -> dict[str, Any]:
    """The first that the outside called it, and the last on which something was said."""
    return {"venue_ref": row.venue_ref or fact.venue_ref, "evidence_ref": fact.evidence_ref or row.evidence_ref}


def settled(row: Effect, fact: Fact) -> Change | MoveNotPermitted:
    """Take what became of the money. That some moves though nothing happened has somebody look."""
    if row.execution == "planned":
        return MoveNotPermitted(row.id, row.execution, fact.says)
    again = fact.says == row.settlement
    if not again and fact.says not in GRAPH[row.settlement]:
        return MoveNotPermitted(row.id, row.settlement, fact.says)
    known: dict[str, Any] = {"evidence_ref": fact.evidence_ref or row.evidence_ref, "settles_by": row.settles_by}
    if not again or fact.within_seconds is not None:
        known["settles_by"] = _settles_by(row, fact.says, fact.within_seconds)
    if again:
        news = replace(row, **known) != row or fact.evidence_id is not None
        return Change(row).keep(fact, **known) if news else Change(row)
    change = Change(row).move("settlement", fact.says, fact, **known)
    odd = row.execution in NOTHING_LEFT and fact.says in ("pending", "settled")
    return change.needs("contradiction", fact) if odd else change


def _settles_by(row: Effect, settlement: str, within_seconds: float | None = None) -> datetime | None:
    within = timedelta(seconds=within_seconds or SETTLES_WITHIN_SECONDS)
    return row.now + within if settlement in PENDING else None


def reconciled(row: Effect, fact: Fact) -> Change | NotNeeded | MoveNotPermitted:
    """Take what somebody found who looked: it decides, whatever was believed before.

    Money that was overdue and is not decided by it is waited for again.
    """
    if row.reconciliation != "needed":
        return NotNeeded(row.id, row.reconciliation)
    change = Change(replace(row, no_effect=False, settles_by=row.settles_by or _settles_by(row, row.settlement)))
    if fact.says != row.execution:
        if fact.says not in GRAPH[row.execution]:
            return MoveNotPermitted(row.id, row.execution, fact.says)
        change = change.move("execution", fact.says, fact, answer_by=None, evidence_ref=fact.evidence_ref)
    return change.reconciled(fact)


def passed(row: Effect) -> Change:
    """What time has done: it decides nothing but that what was not begun will not be."""
    change, now = Change(row), row.now
    if _expired(row):
        change = change.move("execution", "abandoned", because="expired")
    if row.answer_by is not None and now >= row.answer_by:
        change = change.move("execution", "unknown", because="no_answer", answer_by=None).needs("unknown_outcome")
    if row.settles_by is not None and now >= row.settles_by:
        change = Change(replace(change.now, settles_by=None), change.lines).needs("settlement_overdue")
    if row.announce_at is not None and now >= row.announce_at and change.now.announce_at == row.announce_at:
        change = change.announce(row.reasons[0])
    return change
