"""webhooks: which endpoints are unwell, at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steadhold.kit.plan import Plan, operation, rows
from steadhold.webhooks.plans import SQL

LOOKED_AT_MAX: Final = 1_000
SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Unwell:
    """An endpoint that fails, is paused, or was switched off because of that (`why`)."""

    id: str
    url: str
    enabled: bool
    why: str | None
    failures: int


@dataclass(frozen=True, slots=True)
class Health:
    """How many endpoints are enabled, of the first `LOOKED_AT_MAX`, and which of them are unwell, worst first."""

    enabled: int
    unwell: Sequence[Unwell]


@operation
def glance(workspace: str) -> Plan[Health]:
    """Read how the endpoints of a workspace fare."""
    found = yield from rows(SQL.glance, workspace=workspace, most=LOOKED_AT_MAX, shown=SHOWN_MAX)
    return Health(found[0][0], [Unwell(*row[1:]) for row in found if row[1] is not None])
