"""Conditions that hold to the commit: the row is locked, tested under the lock, and stays locked.

`state.require`, `locks.require`, `events.require`, `inboxes.require` and `approvals.require` stand in their own rooms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steadhold import fences
from steadhold.jobs import moving
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, operation

NAMES: Final = frozenset({
    "approvals.require", "commits.job", "context.require", "events.require", "inboxes.require", "locks.require",
    "state.require",
})  # fmt: skip
"""The verbs that test a condition and hold it to the commit."""


@operation
def grants(workspace: str, refs: Sequence[FenceRef]) -> Plan[StaleFence | None]:
    """Require that grants are current: what a `Fence` says."""
    return (yield from fences.require(workspace, refs))


@operation
def job(
    workspace: str, id: str, *, fence: int | None = None, revision: int | None = None
) -> Plan[StaleFence | RevisionConflict | Missing | None]:
    """Require that a job is running under a fence, that it is at a revision, or both: say at least one.

    Raises:
        ValueError: neither is said.
    """
    if fence is None and revision is None:
        raise ValueError("say what is required of the job: its fence, its revision, or both")
    if fence is not None and (stale := (yield from fences.require(workspace, [FenceRef(moving.subject(id), fence)]))):
        return stale
    if revision is None:
        return None
    held = (yield from moving.hold(workspace, [id])).get(id)
    if held is None:
        return Missing()
    return None if held.revision == revision else RevisionConflict(held.revision)
