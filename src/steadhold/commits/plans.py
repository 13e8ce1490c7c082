"""commits: several verbs of several rooms, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from steadhold import jobs
from steadhold.commits import holding, quotas
from steadhold.commits.model import REQUIRE, CommitOutcome, Committed, Item, Refused, RepeatedName, items, repeated
from steadhold.commits.together import together
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import COMMIT_ITEMS_MAX
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call, Plan, Refusal, call_fault, single_operation, undoable
from steadhold.kit.rules import Rule

Ruled: TypeAlias = Annotated[Call[Any], Rule(call_fault)]

FENCE: Final = -1
"""The place of what stands in no list: the grants of a `Fence`."""


@single_operation
def run(
    workspace: str,
    require: Sequence[Ruled] = (),
    apply: Sequence[Ruled] = (),
    fences_held: Sequence[FenceRef] = (),
) -> Plan[CommitOutcome]:
    """Make all changes in `apply` if all conditions in `require` are true, and they stay so until the commit; or none.

    Both are calls of rooms' verbs: `state.put.call(…)`, `state.require.call(…)`. No two of a list may be about the
    same thing. `fences_held` are grants that must be current until the commit, too. Outcomes: `Committed` with what
    each came to, `StaleFence`, `Refused` with the first refusal and where it stands (a stale grant before all
    others), `RepeatedName`. After a refusal nothing of any item is left, whether the transaction then commits or not.

    Raises:
        ValueError: there are too many calls, or one that no commit can hold.
    """
    asked = items(require, apply)
    _refuse_unfit(workspace, asked)
    if twice := repeated(asked):
        return twice
    held = [Item(REQUIRE, FENCE, holding.grants.call(workspace, fences_held))] if fences_held else []
    outcome = yield from undoable(_attempt(workspace, [*held, *asked]))
    match outcome:
        case _Broken(error):
            raise error
        case Refused(_, index, StaleFence() as stale) if index == FENCE:
            return stale
        case Refused() | RepeatedName():
            return outcome
        case list():
            came = outcome[len(held) :]
            return Committed(tuple(came[: len(require)]), tuple(came[len(require) :]))


@dataclass(frozen=True, slots=True)
class _Broken(Refusal):
    """An item raised: what others have written by then is undone, too, before anybody is told."""

    error: Exception


def _attempt(workspace: str, asked: Sequence[Item]) -> Plan[list[Any] | Refused | RepeatedName | _Broken]:
    try:
        before = yield from quotas.used(workspace, asked)
        came = yield from together(workspace, asked)
        if isinstance(came, Refused):
            return came
        if met := ended(asked, came):
            return met
        after = (yield from quotas.used(workspace, asked)) if before else None
        return quotas.overdrawn(before, after, asked, came) or came
    except Exception as error:  # noqa: BLE001 - it is raised again once the savepoint is restored
        return _Broken(error)


def ended(asked: Sequence[Item], came: Sequence[Any]) -> RepeatedName | None:
    """The first submission that was answered by a job which another item ends: it would be a new job, or none."""
    settled = {outcome.id for outcome in came if isinstance(outcome, jobs.Settled)}
    for item, outcome in zip(asked, came, strict=True):
        if isinstance(outcome, jobs.Existing) and outcome.id in settled:
            return RepeatedName(item.list, item.index, outcome.id)
    return None


def _refuse_unfit(workspace: str, asked: Sequence[Item]) -> None:
    if len(asked) > COMMIT_ITEMS_MAX:
        raise ValueError(f"a commit takes at most {COMMIT_ITEMS_MAX} items; these are {len(asked)}")
    for item in asked:
        call, where = item.call, f"{item.list}[{item.index}]"
        if call.workspace != workspace:
            raise ValueError(f"{where}: {call.name} is of workspace {call.workspace!r}, the commit of {workspace!r}")
        if call.single:
            raise ValueError(f"{where}: {call.name} needs a transaction of its own, so no commit can hold it")
        if item.list == REQUIRE and call.name not in holding.NAMES:
            holds = ", ".join(sorted(holding.NAMES))
            raise ValueError(f"{where}: {call.name} would not hold what it reads to the commit; there are {holds}")
