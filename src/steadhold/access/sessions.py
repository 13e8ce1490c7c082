"""access: sessions of people. The audit holds when one began and ended; nothing else is kept of it."""

from __future__ import annotations

from steadhold.access.model import Actor
from steadhold.access.plans import SQL, audit
from steadhold.kit.plan import Plan, operation, rows

BEGAN = "session.began"
ENDED = "session.ended"


@operation
def begin(workspace: str, resource: str, *, by: Actor) -> Plan[None]:
    """Write down that a session began."""
    yield from audit(workspace, by, BEGAN, resource)


@operation
def end(workspace: str, resource: str, *, by: Actor) -> Plan[None]:
    """Write down that a session ended: from now on it lets nobody in."""
    yield from audit(workspace, by, ENDED, resource)


@operation
def age(workspace: str, resource: str) -> Plan[float | None]:
    """How many seconds ago a session began; None where it never did, or has ended."""
    found = yield from rows(SQL.session, workspace=workspace, resource=resource)
    began = [seconds for kind, seconds in found if kind == BEGAN]
    return began[0] if began and len(found) == len(began) else None
