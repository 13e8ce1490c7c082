"""What a handler may say of its job, and what each way of ending comes to. Pure: nothing here asks or acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, cast, get_args

from steadhold.context import Unresolved
from steadhold.effects.model import text_fault
from steadhold.jobs.model import Class, Complete, ConfirmCancel, Coverage, Covered, Release, Said
from steadhold.jobs.model import Fail as Failure
from steadhold.jobs.outcomes import CancelNotRequested, Claimed, EvidenceRequired, StaleEvidence
from steadhold.kit import exact, ids
from steadhold.kit.exact import JsonValue
from steadhold.kit.limits import DELAY_SECONDS_MAX, FENCE_NUMBER_MAX, JOB_RESULT_BYTES_MAX, TEXT_CHARS_MAX
from steadhold.kit.moments import within_time

CODE_CHARS: Final = 200
CLASSES: Final = get_args(Class)
COVERED: Final = get_args(Covered)


@dataclass(frozen=True, slots=True)
class Done:
    """It is completed. `evidence_at` is the instant of the oldest evidence used, where the job asks for it."""

    result: JsonValue = None
    result_ref: str | None = None
    coverage: Coverage | None = None
    evidence_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Run it again. Costs an attempt; the policy of the type says when, and whether there is another."""

    message: str = ""
    code: str = "retry"


@dataclass(frozen=True, slots=True)
class Snooze:
    """Run it again after `seconds`. Costs no attempt."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """The work stopped because somebody asked to cancel it."""


@dataclass(frozen=True, slots=True)
class Fail:
    """It failed. `klass` decides whether it is run again: `permanent` and `bug` are not."""

    code: str
    message: str = ""
    klass: Class = "permanent"


class Permanent(Exception):
    """Fail the job now: another try would fail alike."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class RateLimited(Exception):
    """Somebody refused for now. The job is tried again as its policy says, and no attempt is charged."""


class LeaseLost(Exception):
    """The job is not this worker's any more: stop. What is still done without `ctx` may be done twice."""


class CancelRequested(Exception):
    """Somebody asked to cancel the job. Not caught, it confirms that the work stopped."""


class StageFault(Exception):
    """What a handler asks of `ctx` cannot be done, or does not fit what is committed: another run mends nothing."""


class Suspended(BaseException):
    """Takes a handler off a job that waits. It is no Exception, so that `except Exception` lets it pass."""


Verdict: TypeAlias = Done | Retry | Snooze | Cancel | Fail
BUGS: Final = (NameError, ImportError, SyntaxError, NotImplementedError, StageFault, SystemExit)

WEIGHTY: Final[Sequence[Class]] = ("permanent", "bug", "transient", "timeout", "rate_limited")
"""The classes of failures, those first that another try mends least."""


def judge(job: Claimed, result: object) -> Said | None:
    """What to say of a job whose handler returned `result`, or raised it. None: nothing, it is not ours to say.

    Source of the classes: the jobs guide. What may come from outside (TypeError, ValueError, …) is transient.
    """
    if result is None:
        return NOTHING
    if isinstance(result, BaseException):
        result = min(leaves(result), key=_weight)
    try:
        return _judged(job, result)
    except (TypeError, ValueError, AttributeError) as error:
        return failure("bad_verdict", f"What the handler of {job.type} returned cannot be said: {error}.", "bug")


def _judged(job: Claimed, result: object) -> Said | None:
    match result:
        case LeaseLost() | Suspended():
            return None
        case Cancel() | CancelRequested():
            return ConfirmCancel()
        case Snooze(seconds):
            return Release(delay(seconds))
        case Retry(message, code):
            return failure(code, message, "transient")
        case Fail(code, message, klass):
            return failure(code, message, klass)
        case BaseException():
            return failure(*classified(result))
        case Done():
            return _completed(job, result)
        case _:
            return _completed(job, Done(cast("JsonValue", result)))


def leaves(error: BaseException) -> list[BaseException]:
    """What was raised: of a group, as of tasks that ran together, each error in it."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in cast("BaseExceptionGroup[BaseException]", error).exceptions for leaf in leaves(each)]


def _weight(error: BaseException) -> int:
    """Which of several errors is judged: the one that another try mends least; of equals, the first."""
    if isinstance(error, (LeaseLost, Suspended)):
        return 0
    return 1 if isinstance(error, CancelRequested) else 2 + WEIGHTY.index(classified(error)[2])


def classified(error: BaseException) -> tuple[str, str, Class]:
    """The code, message and class of what a handler raised."""
    name, message = type(error).__name__, str(error)
    match error:
        case Permanent(code=code):
            return code, message, "permanent"
        case RateLimited():
            return "rate_limited", message, "rate_limited"
        case TimeoutError():
            return "timeout", message, "timeout"
        case StageFault():
            return StageFault.__name__, message, "bug"
        case _:
            return name, message, "bug" if isinstance(error, BUGS) else "transient"


def failure(code: str, message: str, klass: Class) -> Failure:
    """A failure that can be stored: a code that is an id, and text without what no database holds."""
    if klass not in CLASSES:
        raise ValueError(f"the class of a failure is one of {', '.join(CLASSES)}; {klass!r} is none")
    kept = "".join(c if ids.is_id(c) else "_" for c in code[:CODE_CHARS]) or "failed"
    text = message.replace("\0", "�").encode("utf-8", "replace").decode()
    return Failure(kept, text[:TEXT_CHARS_MAX], klass)


def delay(seconds: float) -> float:
    """A time from now that jobs can be given.

    Raises:
        ValueError, TypeError: it is no number of seconds, or longer than a year.
    """
    if not 0 <= seconds <= DELAY_SECONDS_MAX:
        raise ValueError(f"a delay is 0 to {DELAY_SECONDS_MAX} seconds, not {seconds}")
    return float(seconds)


def is_moment(given: object) -> bool:
    """Whether it is a moment that doors take."""
    return isinstance(given, datetime) and given.tzinfo is not None and within_time(given)


def instead(outcome: object) -> Said | None:
    """What to say of a job that still runs because what was said of it was refused."""
    match outcome:
        case EvidenceRequired():
            return failure(
                "evidence_required", "The job asks how old its evidence is: return Done(…, evidence_at=…).", "bug"
            )
        case StaleEvidence():
            return failure("stale_evidence", "The oldest evidence used is older than the job allows.", "transient")
        case Unresolved(reference):
            return failure("unknown_reference", f"The result_ref names nothing that is kept: {reference}", "bug")
        case CancelNotRequested():
            return failure("cancel_not_requested", "The handler said Cancel, and nobody had asked for it.", "bug")
        case _:
            return None


def _completed(job: Claimed, done: Done) -> Said:
    if fault := _beside_fault(done.evidence_at, done.result_ref, done.coverage):
        raise ValueError(fault)
    if done.result_ref is not None:
        return Complete(None, done.result_ref, done.coverage, done.evidence_at)
    if done.result is None and done.coverage is None and done.evidence_at is None:
        return NOTHING
    try:
        result = exact.encode(done.result)
    except (TypeError, ValueError) as error:
        return failure("bad_result", f"The result of {job.type} is no JSON: {error}.", "bug")
    if len(result) > JOB_RESULT_BYTES_MAX:
        said = f"The result of {job.type} has {len(result)} bytes, and {JOB_RESULT_BYTES_MAX} at most are kept."
        return failure("result_too_large", f"{said} Store it elsewhere, and give Done(result_ref=…).", "bug")
    return Complete(result, None, done.coverage, done.evidence_at)


def _beside_fault(at: object, ref: object, said: object) -> str | None:
    """Why this is not what `Done` takes beside a result."""
    if at is not None and not is_moment(at):
        return f"evidence_at is a datetime with a time zone; {at!r} is none"
    if ref is not None and (not isinstance(ref, str) or text_fault(ref)):
        return f"result_ref is a text of 1 to {TEXT_CHARS_MAX} characters; {ref!r:.60} is none"
    if said is not None and not (isinstance(said, Coverage) and _covers(said)):
        return f'coverage is a Coverage, as in Coverage("partial", expected=7, covered=5); {said!r} is none'
    return None


def _covers(said: Coverage) -> bool:
    return said.state in COVERED and _is_count(said.expected) and _is_count(said.covered)


def _is_count(given: object) -> bool:
    return given is None or (isinstance(given, int) and 0 <= given <= FENCE_NUMBER_MAX)


NOTHING: Final = Complete()
