"""Conditions that hold to the commit: the row is locked, tested under the lock, and stays locked.

(`state.require` is the condition of a name, and stands in its own room.)
"""

from __future__ import annotations

from typing import Final

from steadhold import fences
from steadhold.jobs import moving
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, operation

NAMES: Final = frozenset({"commits.grant", "commits.job"})


@operation
def grant(workspace: str, subject: str, fence: int) -> Plan[StaleFence | None]:
    """Require that a grant (`lock:<name>`, `job:<id>`) is current under a fence. It ends for nobody meanwhile."""
    return (yield from fences.require(workspace, [FenceRef(subject, fence)]))


@operation
def job(
    workspace: str, id: str, fence: int | None = None, revision: int | None = None
) -> Plan[StaleFence | RevisionConflict | Missing | None]:
    """Require that a job is running under a fence, that it is at a revision, or both."""
    if fence is not None and (stale := (yield from fences.require(workspace, [FenceRef(moving.subject(id), fence)]))):
        return stale
    if revision is None:
        return None if fence is not None else Missing()
    held = (yield from moving.hold(workspace, [id])).get(id)
    if held is None:
        return Missing()
    return None if held.revision == revision else RevisionConflict(held.revision)
