"""What a player or the database raises, said as a problem; what is not known here is a fault of ours."""

from __future__ import annotations

from typing import Final

from steadhold.db.errors import DatabaseError
from steadhold.db.pool import ABSENT, PoolClosedError
from steadhold.operations.routes import IN_FLIGHT
from steadhold.play.single import Busy, OutcomeUnknown, Unavailable
from steadhold.web.ask import Problem
from steadhold.web.problem import SOON

CLAIM: Final = "operations.claim"
_FULL: Final = Problem("too_many_requests", "More requests wait than are taken; send this one later.", headers=SOON)
_BUSY: Final = Problem("busy", "Another transaction holds a row that this needs; nothing was changed.", headers=SOON)
_AWAY: Final = Problem("unavailable", "The database cannot be reached now; nothing was changed.", headers=SOON)
_UNKNOWN: Final = Problem(
    "outcome_unknown",
    "The connection to the database broke while this was committing. Send it again under the same operation id, "
    "ask for the operation, or read what it would have changed.",
    headers=SOON,
)
_WORN: Final = ("08", "53", "57P")
"""Classes of SQLSTATE that say: not now. Connections, resources, shutdown."""


def trouble(error: Exception) -> Problem | None:
    """The problem that a known trouble is; None for what nobody foresaw."""
    match error:
        case Busy(at=None):
            return _FULL
        case Busy(at=at):
            return IN_FLIGHT if at == CLAIM else _BUSY
        case OutcomeUnknown():
            return _UNKNOWN
        case Unavailable() | DatabaseError() | PoolClosedError():
            return _AWAY
        case _ if isinstance(error, ABSENT) or str(getattr(error, "sqlstate", None) or "").startswith(_WORN):
            return _AWAY
        case _:
            return None
