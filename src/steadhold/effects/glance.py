"""effects: how many wait for somebody to say what became of them, at a glance."""

from __future__ import annotations

from typing import Final

from steadhold.effects.moving import SQL
from steadhold.kit.plan import Plan, one, operation

COUNTED_MAX: Final = 1_000


@operation
def glance(workspace: str) -> Plan[int]:
    """Count effects of a workspace that need a reconciliation, `COUNTED_MAX` at most."""
    return (yield from one(SQL.glance, int, workspace=workspace, most=COUNTED_MAX))
