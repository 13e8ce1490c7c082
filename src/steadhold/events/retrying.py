"""Publications that are parked, all of them or those of one subscription, are tried again: counted first, in turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from steadhold.events import relaying
from steadhold.events.flow import STATES
from steadhold.events.model import Number
from steadhold.events.plans import SQL
from steadhold.kit.limits import PUBLICATIONS_RETRIED_MAX
from steadhold.kit.plan import Plan, Refusal, one, rows, single_operation
from steadhold.kit.rules import Id


@dataclass(frozen=True, slots=True)
class Parked:
    """So many were parked, of which so many are tried again now; without a number to expect, none is."""

    count: int
    retried: int = 0


@dataclass(frozen=True, slots=True)
class ParkedChanged(Refusal):
    """So many are parked now, and not as many as was said (409)."""

    count: int


RetryAllOutcome: TypeAlias = Parked | ParkedChanged


@single_operation
def retry_parked(
    workspace: str, subscription: Id | None = None, expected: Number | None = None
) -> Plan[RetryAllOutcome]:
    """Let what is parked be tried anew if it is `expected` many; None only counts it.

    One turn takes `PUBLICATIONS_RETRIED_MAX`, the oldest first: go on with what is left as the number to expect.
    """
    meant = {"workspace": workspace, "subscription": subscription}
    count = yield from one(SQL.parked_count, int, **meant)
    if expected is None:
        return Parked(count)
    if expected != count:
        return ParkedChanged(count)
    found = yield from rows(SQL.parked_first, **meant, limit=PUBLICATIONS_RETRIED_MAX)
    _, held = yield from relaying.hold(workspace, sorted(row[:3] for row in found))
    ids = [hand[0][0] for hand in held if hand and hand[0][-1] == STATES.index("parked")]
    yield from rows(SQL.again, workspace=workspace, ids=ids)
    return Parked(count, len(ids))
