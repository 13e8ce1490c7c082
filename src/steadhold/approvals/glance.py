"""approvals: how many wait for somebody, and what was approved before, each at a bounded glance."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from steadhold.approvals.model import Approval
from steadhold.approvals.moving import SQL
from steadhold.kit.plan import Plan, maybe, one, operation
from steadhold.kit.rules import Uuid

COUNTED_MAX: Final = 1_000


@operation
def glance(workspace: str) -> Plan[int]:
    """Count pending approvals of a workspace, `COUNTED_MAX` at most."""
    return (yield from one(SQL.glance, int, workspace=workspace, most=COUNTED_MAX))


@operation
def approved_before(workspace: str, id: Uuid, prefix: str, before: datetime | None) -> Plan[Approval | None]:
    """Find what was approved last under references that begin with `prefix`, beside `id` and before an instant.

    It looks at the `COUNTED_MAX` newest that were approved. The votes on it are not read.
    """
    of = {"prefix": prefix, "except": id, "before": before, "most": COUNTED_MAX}
    return (yield from maybe(SQL.approved, Approval.read, workspace=workspace, **of))
