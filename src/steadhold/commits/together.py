"""Several plans in one transaction, each as if it were alone, in the one lock order of the house.

The lowest statement in the lock order is executed first, once for all plans that wait at it, with its items sorted:
as in a flush of the lockstep player. So whatever the plans are, and in whatever order they were named, two
transactions that play some together take their rows in the same order and cannot wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steadhold import fences, state
from steadhold.commits.model import APPLY, Item, Refused, first_stale
from steadhold.jobs import moving
from steadhold.kit.fields import FenceRef
from steadhold.kit.plan import Hands, Plan, Refusal, Step
from steadhold.kit.ranks import place
from steadhold.kit.sql import Sql

GRANTS: Final = place("grants")


class OutOfOrder(RuntimeError):
    """A plan went back in the lock order, so it cannot be played together with others."""


class Branch:
    """One of the plans on its way."""

    __slots__ = ("item", "outcome", "place", "plan", "step")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.plan: Plan[Any] = item.call.begin()
        self.step: Step | None = None
        self.place = -1
        self.outcome: Any = None

    def advance(self, hands: Hands | None) -> None:
        """Go on to the next statement, or to the end."""
        try:
            self.step = self.plan.send(hands) if hands is not None else next(self.plan)
        except StopIteration as end:
            self.step, self.outcome = None, end.value
            return
        if 0 <= self.step.sql.place < self.place:
            raise OutOfOrder(f"{self.item.call.name} goes back in the lock order with {self.step.sql.name}")
        self.place = max(self.place, self.step.sql.place)

    @property
    def refused(self) -> Refused | None:
        """How it was refused, if it was."""
        if isinstance(self.outcome, Refusal):
            return Refused(self.item.list, self.item.index, self.outcome)
        return None


def together(workspace: str, items: Sequence[Item]) -> Plan[list[Any] | Refused]:
    """Play calls to their outcomes, or to the refusal of one: that of a grant, else the first in the order given.

    Whoever plays this undoes what a refusal leaves.
    """
    branches: list[Branch] = []
    try:
        for item in items:
            branches.append(Branch(item))
            branches[-1].advance(None)
        refused = yield from _carry(workspace, branches)
        return refused or [branch.outcome for branch in branches]
    finally:
        for branch in branches:
            branch.plan.close()


def _carry(workspace: str, branches: Sequence[Branch]) -> Plan[Refused | None]:
    """Execute what waits, the lowest first, until all have ended or nothing can change the answer any more."""
    locked: set[str] = set()
    while True:
        told = [refused for branch in branches if (refused := branch.refused)]
        waiting = _waiting(branches)
        if not waiting:
            return told[0] if told else None
        sql = min(waiting, key=_turn)[1].sql
        if sql.place > GRANTS and (stale := first_stale(told)):
            return stale
        rows = _rows(sql)
        if rows and rows not in locked:
            locked.add(rows)
            yield from _lock(workspace, rows, [step for _, step in waiting if _rows(step.sql) == rows])
        yield from _execute(sql, [(branch, step) for branch, step in waiting if step.sql is sql])


def _turn(waiting: tuple[Branch, Step]) -> tuple[int, int, bool, tuple[int, int, str]]:
    """The lock order; where all rows of a kind are locked at once, conditions are tested before anything changes."""
    branch, step = waiting
    sql, rows = step.sql, _rows(step.sql)
    if rows:
        return sql.place, FIRST[rows], branch.item.list == APPLY, sql.order
    return sql.place, sql.order[1], False, sql.order


def _rows(sql: Sql) -> str:
    """Which rows a statement locks, of those that several statements of one rank may come to; "" for others."""
    if sql.rank == "grants" and "subject" in sql.by:
        return "grants"
    if sql.rank == "jobs" and sql.by == ("id",):
        return "jobs"
    return "names" if sql.name in STATE else ""


def _waiting(branches: Sequence[Branch]) -> list[tuple[Branch, Step]]:
    """Whose statements still matter: behind the first refusal none do."""
    waiting: list[tuple[Branch, Step]] = []
    for branch in branches:
        if branch.refused:
            break
        if branch.step is not None:
            waiting.append((branch, branch.step))
    return waiting


def _execute(sql: Sql, group: Sequence[tuple[Branch, Step]]) -> Plan[None]:
    hands = yield Step(sql, [item for _, step in group for item in step.items])
    at = 0
    for branch, step in group:
        count = len(step.items)
        branch.advance(hands[at : at + count])
        at += count


def _lock(workspace: str, rows: str, steps: Sequence[Step]) -> Plan[None]:
    """Lock all rows of a kind at once, where different statements would each lock some."""
    if len({step.sql.name for step in steps}) > 1:
        yield from LOCKS[rows](workspace, steps)


def _lock_grants(workspace: str, steps: Sequence[Step]) -> Plan[None]:
    refs = {item["subject"]: item.get("fence") or 1 for step in steps for item in step.items}
    yield from fences.owned(workspace, [FenceRef(subject, fence) for subject, fence in sorted(refs.items())])


def _lock_jobs(workspace: str, steps: Sequence[Step]) -> Plan[None]:
    yield from moving.hold(workspace, [item["id"] for step in steps for item in step.items])


def _lock_names(workspace: str, steps: Sequence[Step]) -> Plan[None]:
    names: dict[str, bool] = {}
    for step in steps:
        for item in step.items:
            names[item["name"]] = names.get(item["name"], False) or step.sql.name == "state.write"
    yield from state.hold(workspace, names)


STATE: Final = frozenset({"state.hold", "state.write"})
LOCKS: Final[Mapping[str, Callable[[str, Sequence[Step]], Plan[None]]]] = {
    "grants": _lock_grants,
    "jobs": _lock_jobs,
    "names": _lock_names,
}
"""The rows that one commit may come to by several statements of one rank."""

FIRST: Final[Mapping[str, int]] = {
    "grants": 0,
    "jobs": min(moving.SQL.finish.order, moving.SQL.hold.order)[1],
    "names": 0,
}
"""Where among the statements of its rank the first of them stands."""
