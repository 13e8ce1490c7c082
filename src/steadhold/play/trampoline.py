"""The two loops that carry a plan along: one waits, one awaits."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from steadhold.kit import failpoints
from steadhold.kit.plan import Hands, Plan, Step
from steadhold.kit.sql import Item, Sql

T = TypeVar("T")
Ask = Callable[[Sql, Sequence[Item]], Sequence[Sequence[Any]]]
AskLater = Callable[[Sql, Sequence[Item]], Awaitable[Sequence[Sequence[Any]]]]


def run(plan: Plan[T], ask: Ask) -> T:
    """Play a plan to its end."""
    try:
        step = next(plan)
        while True:
            step = plan.send(_answer(step, ask))
    except StopIteration as end:
        return end.value
    finally:
        plan.close()


async def arun(plan: Plan[T], ask: AskLater) -> T:
    """Play a plan to its end, awaiting each answer."""
    try:
        step = next(plan)
        while True:
            step = plan.send(await _aanswer(step, ask))
    except StopIteration as end:
        return end.value
    finally:
        plan.close()


def _answer(step: Step, ask: Ask) -> Hands:
    sql = step.sql
    hands: Hands = []
    order = lock_order(step)
    for items in portions(step, order):
        hands += sql.deal(len(items), ask(sql, items))
    if failpoints.armed:
        failpoints.hit(sql.name)
    return unsorted(order, hands)


async def _aanswer(step: Step, ask: AskLater) -> Hands:
    sql = step.sql
    hands: Hands = []
    order = lock_order(step)
    for items in portions(step, order):
        hands += sql.deal(len(items), await ask(sql, items))
    if failpoints.armed:
        failpoints.hit(sql.name)
    return unsorted(order, hands)


def portions(step: Step, order: Sequence[int]) -> list[Sequence[Item]]:
    """Split a step into executions: a vector goes at once, in lock order; else one item at a time."""
    sql, items = step.sql, step.items
    if not sql.by:
        return [(item,) for item in items]
    ordered = [items[at] for at in order]
    if not sql.shared or len(items) == 1:
        return [ordered]
    return [list(alike) for _, alike in itertools.groupby(ordered, lambda item: [item[p] for p in sql.shared])]


def unsorted(order: Sequence[int], hands: Hands) -> Hands:
    """Give the answers back in the order in which the plan asked."""
    back: Hands = [[]] * len(hands)
    for at, hand in zip(order, hands, strict=True):
        back[at] = hand
    return back


def lock_order(step: Step) -> Sequence[int]:
    """Order a vector's items by the keys it locks; others stay in the order asked."""
    items, by = step.items, step.sql.by
    if not by or len(items) == 1:
        return range(len(items))
    keys = [item[by[0]] for item in items] if len(by) == 1 else [tuple([item[k] for k in by]) for item in items]
    return sorted(range(len(items)), key=keys.__getitem__)
