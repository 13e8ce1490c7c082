"""What inboxes say no with."""

from __future__ import annotations

import math
from typing import assert_never

from steadhold.inboxes.model import (
    BeyondHead,
    ConsumerLeased,
    Elsewhere,
    GapNotAccepted,
    Mismatch,
    NoConsumer,
    NoInbox,
    Restored,
)
from steadhold.inboxes.wire import LineReply
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.web import problem
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS

Refused = (
    Mismatch | NoInbox | NoConsumer | Restored | BeyondHead | Elsewhere | GapNotAccepted | ConsumerLeased | StaleFence
    | RevisionConflict | Missing
)  # fmt: skip

_RESTORED = "The position is of another epoch: since then events may have been lost. Read on from your consumer's."


def refused(outcome: Refused) -> Problem:
    """Say why nothing was done."""
    match outcome:
        case NoInbox() | NoConsumer():
            return problem.MISSING
        case Mismatch():
            extras = {"sequence": outcome.sequence, "epoch": outcome.epoch}
            return Problem("operation_mismatch", "The key was used for an event of other content.", extras)
        case Restored():
            extras = {"epoch": outcome.epoch, "last_sequence": outcome.last_sequence}
            return Problem("inbox_restored", _RESTORED, extras)
        case BeyondHead():
            return Problem("beyond_head", "No event has this number yet.", {"last_sequence": outcome.last_sequence})
        case Elsewhere():
            extras = {"epoch": outcome.epoch, "position": outcome.position}
            return Problem("condition_false", "The consumer stands elsewhere.", extras)
        case GapNotAccepted():
            extras = {"from": outcome.from_sequence, "to": outcome.to_sequence}
            why = "Events in between were removed; say accept_gap_through once you have dealt with that."
            return Problem("gap_not_accepted", why, extras)
        case ConsumerLeased():
            return _leased(outcome)
        case StaleFence() | RevisionConflict() | Missing():
            return problem.refused(outcome)
        case _:
            assert_never(outcome)


def _leased(outcome: ConsumerLeased) -> Problem:
    left = max(outcome.expires_in_seconds, 0.0)
    extras = {"holder": outcome.holder, "expires_in_seconds": left}
    after = (("retry-after", str(max(1, math.ceil(left)))),)
    return Problem("consumer_leased", "Somebody has this consumer alone.", extras, after)


def replaced(outcome: Missing | RevisionConflict) -> Problem:
    """Say why a PUT wrote nothing: where If-Match names what is not there, the condition is false."""
    if isinstance(outcome, Missing):
        extras = {} if outcome.last_revision is None else {"last_revision": outcome.last_revision}
        return Problem("condition_false", "There is nothing of this name to replace.", extras)
    return problem.refused(outcome)


def line(key: str | None, why: Problem) -> LineReply:
    """What a line of a batch came to that was refused."""
    return LineReply(key=key, status=PROBLEMS[why.code].status, code=why.code, detail=why.detail)
