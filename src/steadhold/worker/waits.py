"""The waits that a handler's arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from steadhold.jobs.model import ApprovalEnd, Awaited, EffectEnd, InboxEvent, JobEnd, Match, Signal, Timer, Wait
from steadhold.kit import ids
from steadhold.kit.moments import BEGIN, END
from steadhold.worker.verdicts import Permanent, StageFault, delay, is_moment

MATCHED: Final = Match.__struct_fields__
"""What a wait may ask of an event of an inbox."""


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
        Permanent: no job or approval can have this id.
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
    if fault := ids.id_fault(facts[0]) or _bound_fault(until):
        raise StageFault(f"wait_for cannot wait for that: {fault}")
    if (subject := job or approval) and not ids.UUID.fullmatch(subject):
        raise Permanent("unknown_subject", f"There is nothing of the id {subject!r} to wait for.")
    if timeout_seconds is not None:
        until = _from_now(timeout_seconds)
    return Wait(stage, news or _awaited(signal, job, approval, effect), until)


def _bound_fault(until: object) -> str | None:
    if until is None or is_moment(until):
        return None
    return f"until= is a datetime of {BEGIN.year} to {END.year - 1} with a time zone; {until!r} is none."


def _from_now(seconds: float) -> datetime:
    try:
        until = datetime.now(UTC) + timedelta(seconds=seconds)
    except (TypeError, ValueError, OverflowError) as error:
        raise StageFault(f"wait_for cannot wait for {seconds!r} seconds: {error}.") from error
    if fault := _bound_fault(until):
        raise StageFault(f"wait_for cannot wait for {seconds!r} seconds: {fault}")
    return until


def behind(inbox: str | None, after: tuple[str, int] | None, match: Mapping[str, str] | None) -> InboxEvent | None:
    """The event of an inbox that these arguments mean.

    Raises:
        StageFault: there is no position, or it is none, or the match asks for what events do not say.
    """
    if inbox is None and after is None and match is None:
        return None
    if inbox is None or after is None:
        raise StageFault("wait_for needs inbox= together with after=, the epoch and the number that you have read.")
    if not (_is_position(after) and (match is None or _is_match(match))):
        raise StageFault(
            f"wait_for cannot wait for that: after={after!r}, match={match!r}. after= is an epoch and a number, match= "
            f"says of {', '.join(MATCHED)} what it has to be."
        )
    return InboxEvent(inbox, *after, None if match is None else Match(**match))


def _is_position(after: object) -> bool:
    match after:
        case (str(epoch), int(sequence)):
            return ids.id_fault(epoch) is None and sequence >= 0
        case _:
            return False


def _is_match(match: object) -> bool:
    if not isinstance(match, Mapping):
        return False
    said = cast("Mapping[object, object]", match)
    return {*said} <= {*MATCHED} and all(isinstance(value, str | None) for value in said.values())


def _awaited(signal: str | None, job: str | None, approval: str | None, effect: str | None) -> Awaited:
    if signal is not None:
        return Signal(signal)
    if effect is not None:
        return EffectEnd(effect)
    return JobEnd(job) if job is not None else ApprovalEnd(approval or "")
