"""The waits that a handler's arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from steadhold.jobs.model import ApprovalEnd, Awaited, EffectEnd, InboxEvent, JobEnd, Match, Signal, Timer, Wait
from steadhold.kit import ids
from steadhold.worker.verdicts import StageFault, delay


def sleeping(stage: str, seconds: float) -> Wait:
    """The wait for a time to pass.

    Raises:
        StageFault: it is no time that can pass.
    """
    try:
        return Wait(stage, Timer(delay(seconds)))
    except (TypeError, ValueError) as error:
        raise StageFault(f"Stage {stage!r} cannot sleep: {error}.") from error


def awaiting(
    stage: str,
    signal: str | None,
    job: str | None,
    approval: str | None,
    until: datetime | None,
    timeout_seconds: float | None,
    news: InboxEvent | None = None,
    effect: str | None = None,
) -> Wait:
    """The wait that these arguments mean.

    Raises:
        StageFault: not exactly one fact, or not exactly one bound, or a name or an instant that is none.
    """
    facts = [name for name in (signal, job, approval, effect, news and news.inbox) if name is not None]
    if len(facts) != 1:
        raise StageFault("wait_for needs exactly one of signal=, job=, approval=, effect= and inbox=.")
    bounds = (until is not None) + (timeout_seconds is not None)
    if bounds > 1 or (bounds == 0 and approval is None):
        raise StageFault(
            "wait_for needs exactly one of until= and timeout_seconds=, so that it ends if nothing happens; an approval"
            " needs none, it expires."
        )
    if (fault := ids.id_fault(facts[0])) or (until and until.tzinfo is None):
        raise StageFault(f"wait_for cannot wait for that: {fault or f'{until} has no time zone.'}")
    if timeout_seconds is not None:
        until = datetime.now(UTC) + timedelta(seconds=timeout_seconds)
    return Wait(stage, news or _awaited(signal, job, approval, effect), until)


def behind(inbox: str | None, after: tuple[str, int] | None, match: Mapping[str, str] | None) -> InboxEvent | None:
    """The event of an inbox that these arguments mean.

    Raises:
        StageFault: there is no position, or it is none, or the match asks for what events do not say.
    """
    if inbox is None and after is None and match is None:
        return None
    if inbox is None or after is None:
        raise StageFault("wait_for needs inbox= together with after=, the epoch and the number that you have read.")
    epoch, sequence = after
    if ids.id_fault(epoch) or sequence < 0 or not {"type", "aggregate_id", "correlation_id"} >= {*(match or ())}:
        raise StageFault(f"wait_for cannot wait for that: after={after}, match={match}.")
    return InboxEvent(inbox, epoch, sequence, None if match is None else Match(**match))


def _awaited(signal: str | None, job: str | None, approval: str | None, effect: str | None) -> Awaited:
    if signal is not None:
        return Signal(signal)
    if effect is not None:
        return EffectEnd(effect)
    return JobEnd(job) if job is not None else ApprovalEnd(approval or "")
