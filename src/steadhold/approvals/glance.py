"""approvals: how many wait for somebody, at a glance."""

from __future__ import annotations

from typing import Final

from steadhold.approvals.moving import SQL
from steadhold.kit.plan import Plan, one, operation

COUNTED_MAX: Final = 1_000


@operation
def glance(workspace: str) -> Plan[int]:
    """Count pending approvals of a workspace, `COUNTED_MAX` at most."""
    return (yield from one(SQL.glance, int, workspace=workspace, most=COUNTED_MAX))
