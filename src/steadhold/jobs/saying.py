"""What a worker says of its job over HTTP, as the model knows it."""

from __future__ import annotations

from typing import Final

import msgspec

from steadhold.context.doors import readable
from steadhold.jobs import doors, takes
from steadhold.jobs.model import (
    BOUNDED,
    ApprovalEnd,
    Awaited,
    Complete,
    ConfirmCancel,
    Coverage,
    EffectEnd,
    Fail,
    InboxEvent,
    JobEnd,
    Match,
    Release,
    Said,
    Signal,
    Timer,
    Wait,
)
from steadhold.kit import limits
from steadhold.web import problem
from steadhold.web.ask import Request

NAMED: Final = ("timer", "signal", "job", "approval", "effect", "inbox")


def said(outcome: takes.Outcome, ask: Request) -> Said:
    """What a worker says, as the model knows it."""
    match outcome:
        case takes.CompletedSaid():
            covered = outcome.coverage
            readable(ask, [outcome.result_ref or ""])
            return Complete(
                doors.content(outcome.result, outcome.result_ref, "result", limits.JOB_RESULT_BYTES_MAX),
                outcome.result_ref,
                None if covered is None else Coverage(covered.state, covered.expected, covered.covered),
                outcome.evidence_at,
            )
        case takes.FailedSaid():
            return Fail(outcome.error_code, outcome.message, outcome.klass)
        case takes.CancelledSaid():
            return ConfirmCancel()
        case takes.AcceptedSaid():
            return Release(outcome.after_seconds)
        case takes.WaitingSaid():
            awaited = _awaited(outcome.awaited, ask)
            if outcome.until is None and not isinstance(awaited, BOUNDED):
                why = "Say until when to wait at most; only a timer and an approval end by themselves."
                problem.stop("until_required", why)
            return Wait(outcome.stage, awaited, outcome.until)


def _awaited(body: takes.ForBody, ask: Request) -> Awaited:
    named = [name for name in NAMED if getattr(body, name) is not None]
    if len(named) != 1:
        problem.stop("bad_member", "/for names exactly one thing to wait for.", pointer="/for")
    if body.inbox is not None:
        return _inbox(body.inbox, body, ask)
    if body.after is not None or body.match is not None:
        problem.stop("bad_member", "Only a wait for an inbox has `after` and `match`.", pointer="/for")
    if body.timer is not None:
        return Timer(body.timer)
    if body.signal is not None:
        return Signal(body.signal)
    if body.approval is not None:
        return ApprovalEnd(body.approval)
    if body.effect is not None:
        return EffectEnd(body.effect)
    assert body.job is not None
    return JobEnd(body.job)


def _inbox(inbox: str, body: takes.ForBody, ask: Request) -> InboxEvent:
    """What waits for an inbox learns what it holds, so it may read it."""
    if not ask.permits("inboxes:read", inbox):
        lacks = f"This key lacks the scope inboxes:read for {inbox!a}, for which the job is to wait."
        problem.stop("missing_scope", lacks, scope="inboxes:read")
    if body.after is None:
        why = "Say behind which position: `after` has the epoch and the sequence that you have read up to."
        problem.stop("bad_member", why, pointer="/for/after")
    match = None if body.match is None else Match(**msgspec.structs.asdict(body.match))
    return InboxEvent(inbox, body.after.epoch, body.after.sequence, match)
