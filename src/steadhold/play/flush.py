"""Many plans of one workspace in one transaction, each statement executed once for all that wait at it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from steadhold.kit import failpoints
from steadhold.kit.plan import Call, Hands, Plan, Refusal, Step
from steadhold.kit.sql import Item, Sql
from steadhold.play.trampoline import lock_order, portions, unsorted
from steadhold.play.transaction import Transaction

T = TypeVar("T")


class Entry(Generic[T]):
    """A caller waiting for its call."""

    __slots__ = ("answer", "arrived", "call", "outcome", "place", "plan", "step", "together")

    def __init__(self, call: Call[T], loop: asyncio.AbstractEventLoop) -> None:
        self.call, self.arrived = call, loop.time()
        self.answer: asyncio.Future[T] = loop.create_future()
        self.plan: Plan[T] | None = None
        self.step: Step | None = None
        self.place = -1  # how far it has come in the lock order
        self.outcome: Any = None
        self.together = False  # whether it has more to ask than a whole statement

    def settle(self) -> None:
        """Let the caller have its outcome, if it still waits."""
        if not self.answer.done():
            self.answer.set_result(self.outcome)

    def fail(self, error: BaseException) -> None:
        """Let the caller have an error, if it still waits."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def forget(self) -> None:
        """Drop what was begun, so that the call can be begun again."""
        if self.plan:
            self.plan.close()
        self.plan, self.step, self.outcome, self.place = None, None, None, -1


class OutOfOrder(Exception):
    """A plan went back in the lock order: it has to be a `single_operation`."""


class Flush:
    """Carries plans along in lockstep, always from the lowest statement in the lock order.

    Every flush of every process takes its rows in the order of the ranks, and within one statement in the
    order of their keys. What is left is two statements of one rank that meet crosswise (one flush settles a
    job and renews another's lease, a second flush the other way round): there the short lock timeout ends
    one of them, and whoever was in it is played alone.
    """

    def __init__(self, at: Transaction) -> None:
        self.at = at
        self.waiting: dict[Sql, list[Entry[Any]]] = {}
        self.suspects: Sequence[Entry[Any]] = ()

    async def run(self, entries: Sequence[Entry[Any]]) -> None:
        """Play all entries to their outcomes. On an error `suspects` are those who may be to blame."""
        self.waiting.clear()
        for entry in entries:
            self.suspects = (entry,)
            entry.plan = entry.call.begin()
            self._advance(entry, None)
        while self.waiting:
            sql = min(self.waiting, key=lambda waiting: waiting.order)
            await self._execute(sql, self.waiting.pop(sql))
        self.suspects = ()

    def _advance(self, entry: Entry[Any], hands: Hands | None) -> None:
        plan = entry.plan
        if plan is None:
            raise AssertionError("only an entry that was begun advances")
        try:
            step = plan.send(hands) if hands is not None else next(plan)
        except StopIteration as end:
            entry.outcome, entry.step = end.value, None
            return
        if 0 <= step.sql.place < entry.place:
            raise OutOfOrder(f"{entry.call.name} asks {step.sql.name} after a statement of a later rank")
        entry.step, entry.place = step, max(entry.place, step.sql.place)
        self.waiting.setdefault(step.sql, []).append(entry)

    async def _execute(self, sql: Sql, group: Sequence[Entry[Any]]) -> None:
        self.suspects = group
        items: list[Item] = []
        for entry in group:
            if entry.step:
                items.extend(entry.step.items)
        whole = not self.waiting and all(entry.call.whole is sql and not entry.together for entry in group)
        hands = await self._ask(Step(sql, items), whole=sql if whole else None)
        if failpoints.armed:
            failpoints.hit(sql.name)
        dealt = 0
        for entry in group:
            count = len(entry.step.items) if entry.step else 0
            self.suspects = (entry,)
            self._advance(entry, hands[dealt : dealt + count])
            dealt += count
        if self.at.ended:
            self._begin_again()

    def _begin_again(self) -> None:
        """Whoever asks more than one whole statement, which was alone, has done nothing yet, and holds nothing."""
        for group in self.waiting.values():
            for entry in group:
                entry.forget()
                entry.together = True
        self.waiting.clear()

    async def _ask(self, step: Step, *, whole: Sql | None) -> Hands:
        sql = step.sql
        hands: Hands = []
        order = lock_order(step)
        for portion in portions(step, order):
            hands += sql.deal(len(portion), await self.at.ask(sql, portion, whole=whole))
        return unsorted(order, hands)


def settle(entries: Sequence[Entry[Any]]) -> list[Entry[Any]]:
    """After the commit: let each caller have its outcome, and answer those that must begin again."""
    again: list[Entry[Any]] = []
    for entry in entries:
        if entry.plan is None:
            again.append(entry)
        elif isinstance(entry.outcome, Refusal) and entry.outcome.again:
            entry.forget()
            again.append(entry)
        else:
            entry.settle()
    return again


def nothing_done(entries: Sequence[Entry[Any]]) -> bool:
    """Tell whether all were refused: then there is nothing that would have to be made durable."""
    return all(isinstance(entry.outcome, Refusal) for entry in entries)
