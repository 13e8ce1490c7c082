"""Any change may rely on grants (`Fence`). Where its room does not test them itself, they are tested here, first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call, Plan, Refusal
from steadhold.web.ask import Answer, Ask, Route, Wait
from steadhold.web.problem import refused

Require: TypeAlias = Callable[[str, Sequence[FenceRef]], Plan[StaleFence | None]]
"""The plan that relies on grants until commit."""


@dataclass(frozen=True, slots=True)
class Unfounded(Refusal):
    """What was asked did not begin: a grant that it relies on is not current."""

    stale: StaleFence


def guardable(route: Route) -> bool:
    """Whether a route's changes may rely on grants although it does not test them itself."""
    return route.method != "GET" and not route.house and route.capability is None and "fence" not in route.headers


def guarded(asked: Ask[Any], refs: Sequence[FenceRef], require: Require) -> Ask[Any]:
    """Have an ask take effect only while the grants are current, which is held to the commit."""
    call, render = asked.call, asked.render

    def begin() -> Plan[Any]:
        stale = yield from require(call.workspace, refs)
        return Unfounded(stale) if stale is not None else (yield from call.begin())

    def rendered(outcome: Any) -> Answer:
        return refused(outcome.stale) if isinstance(outcome, Unfounded) else render(outcome)

    return replace(
        asked,
        call=call.around(begin),
        render=rendered,
        wait=asked.wait and _patient(asked.wait),
        undo=asked.undo and _undone(asked.undo),
    )


def _patient(wait: Wait[Any]) -> Wait[Any]:
    def ready(outcome: Any) -> bool:
        return isinstance(outcome, Unfounded) or wait.ready(outcome)

    return replace(wait, ready=ready)


def _undone(undo: Callable[[Any], Call[Any] | None]) -> Callable[[Any], Call[Any] | None]:
    def undone(outcome: Any) -> Call[Any] | None:
        return None if isinstance(outcome, Unfounded) else undo(outcome)

    return undone
