"""Quotas over all items of a commit. Each item was held to them as if it were alone; together they may be too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from steadhold import context, jobs, state
from steadhold.access import QueueFull, StorageExhausted
from steadhold.commits.model import Item, Refused
from steadhold.kit.limits import COMMIT_ITEMS_MAX
from steadhold.kit.plan import Plan, Refusal, maybe
from steadhold.kit.sql import load

SQL = load(__file__)

STORING: Final = frozenset({"state.put", "context.put", "context.put_reference"})
WRITTEN: Final = (state.Written, context.Written)


@dataclass(frozen=True, slots=True)
class Used:
    """What a workspace may have and has; None is not limited. Of a queue it is enough to know that it is too long."""

    names_max: int | None
    names: int | None
    bytes_max: int | None
    bytes: int | None
    queued_max: int | None
    queued: int | None


def used(workspace: str, items: Sequence[Item]) -> Plan[Used | None]:
    """What is used now, where several items could use more; None where nothing could be wrong."""
    names = [item.call.name for item in items]
    if sum(name in STORING for name in names) < 2 and names.count("jobs.submit") < 2:
        return None
    return (yield from maybe(SQL.used, Used, workspace=workspace, most=COMMIT_ITEMS_MAX))


def overdrawn(before: Used | None, after: Used | None, items: Sequence[Item], came: Sequence[Any]) -> Refused | None:
    """The item with which a commit used more than there is; what uses no more than before always passes."""
    if before is None or after is None:
        return None
    done = list(zip(items, came, strict=True))
    submitted = [item for item, outcome in done if isinstance(outcome, jobs.Submitted)]
    written = [item for item, outcome in done if isinstance(outcome, WRITTEN)]
    created = [item for item, outcome in done if isinstance(outcome, WRITTEN) and outcome.created]
    if over := _over(before.queued, after.queued, after.queued_max):
        return _refused(submitted, over, QueueFull(after.queued_max or 0, after.queued_max or 0))
    if over := _over(before.names, after.names, after.names_max):
        return _refused(created, over, StorageExhausted("names", before.names or 0, after.names_max or 0))
    if _over(before.bytes, after.bytes, after.bytes_max):
        return _refused(written, 1, StorageExhausted("bytes", before.bytes or 0, after.bytes_max or 0))
    return None


def _over(before: int | None, after: int | None, most: int | None) -> int:
    if before is None or after is None or most is None or after <= before:
        return 0
    return max(0, after - most)


def _refused(items: Sequence[Item], over: int, why: Refusal) -> Refused | None:
    """The first of the last `over` items is the one that was too many."""
    if not items:
        return None
    item = items[-min(over, len(items))]
    return Refused(item.list, item.index, why)
