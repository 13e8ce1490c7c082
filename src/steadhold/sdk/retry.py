"""When a request is sent again, for how long, and what is known when no answer came.

A change is sent again under its one operation id; a reading freely. Nothing else is. What may have taken
effect, and whose fate stayed unknown to the end, is `OutcomeUnknown` and never a plain failure.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from steadhold.kit import exact
from steadhold.sdk.errors import (
    BadAnswer,
    OperationNotCommitted,
    OutcomeUnknown,
    Problem,
    SteadholdError,
    Unreachable,
    problem_of,
)
from steadhold.sdk.grammar import Got, Lost, More, Pause, Send, Step
from steadhold.sdk.problem import FOREIGN
from steadhold.sdk.words import at, read

T = TypeVar("T")

GIVE_UP_SECONDS_MAX: Final = 86_400
"""The longest time for retries of one request. Servers keep receipts at least as long."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried, and how tries are spaced: a random part of a pause that doubles up to a cap."""

    give_up_seconds: float = 60.0
    base_seconds: float = 0.1
    cap_seconds: float = 5.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.SystemRandom().random

    def __post_init__(self) -> None:
        if not 0 <= self.give_up_seconds <= GIVE_UP_SECONDS_MAX:
            raise ValueError(
                f"give_up_seconds is 0 to {GIVE_UP_SECONDS_MAX}: servers keep receipts that long, "
                f"and a retry without its receipt could act twice. It was {self.give_up_seconds}."
            )

    def pause(self, attempt: int) -> float:
        """Seconds before the attempt after `attempt`."""
        return self.chance() * min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 30))


_OF_THE_ID: Final = frozenset({"operation_mismatch", "operation_abandoned", "operation_expired", "operation_clock"})
"""Refusals that say of the id itself that this request has not taken effect under it."""

Steps: TypeAlias = Generator[Step, Any, T]
Fate: TypeAlias = Literal["done", "refused", "unchanged", "unknown", "failed"]
"""An answer is final (done, refused); or worth another try, and nothing was changed, or nobody knows; or the server
failed in the middle, which is final and says nothing."""


def persist(script: Generator[Any, Got, T], patience: Patience) -> Steps[T]:
    """Play a script or a stream: each `Send` becomes as many as it takes, a refusal is raised into it."""
    try:
        step = next(script)
        while True:
            if isinstance(step, More):
                step = script.send((yield step))
                continue
            if not isinstance(step, Send):
                yield Pause(patience.chance() * step.seconds) if isinstance(step, Pause) else step
                step = next(script)
                continue
            try:
                got = yield from insist(step, patience)
            except SteadholdError as error:
                step = script.throw(error)
            else:
                step = _told(script, step, got)
    except StopIteration as end:
        return end.value
    finally:
        script.close()


def insist(send: Send, patience: Patience) -> Steps[Got]:
    """Send a request until it is answered for good.

    Raises:
        BadAnswer: the server redirects, or answers more than is allowed.
        Problem: it was refused, and changed nothing.
        OutcomeUnknown: it may have taken effect, and the time for retries is over.
        Unreachable: it was never sent, or it is a reading.
    """
    ends_at = patience.clock() + (patience.give_up_seconds if send.give_up_seconds is None else send.give_up_seconds)
    unknown = send.unsure
    for attempt in count(1):
        came: Got | Lost = yield send
        try:
            fate = fate_of(came)
        except BadAnswer as error:
            _doubt(send, error, unknown=unknown)
            raise
        unknown = unknown or fate in {"unknown", "failed"}
        if isinstance(came, Got) and fate in {"done", "refused", "failed"}:
            if fate == "done":
                return replace(came, unsure=unknown)
            return (yield from _refused(send, problem_of(came), patience, ends_at, unknown=unknown))
        pause = max(patience.pause(attempt), _told_to_wait(came))
        if not _may_repeat(send) or patience.clock() + pause > ends_at:
            raise _ended(send, came, unknown=unknown)
        yield Pause(pause)
    raise AssertionError("counting does not end")


def _told(script: Generator[Any, Got, T], send: Send, got: Got) -> Any:
    """Give a script the answer to its request."""
    try:
        return script.send(got)
    except BadAnswer as error:
        _doubt(send, error, unknown=got.unsure)
        raise


def _doubt(send: Send, error: BadAnswer, *, unknown: bool) -> None:
    """Raise that nobody knows: a bad answer says nothing of an earlier try that may have taken effect."""
    if unknown and send.identity != "reading":
        raise _unknown(send, error) from error


def _unknown(send: Send, why: SteadholdError | str) -> OutcomeUnknown:
    return OutcomeUnknown(send.operation_id or "", str(why), send)


def fate_of(came: Got | Lost) -> Fate:
    """What an answer, or none, says about the request.

    Raises:
        BadAnswer: it breaks the protocol.
    """
    if isinstance(came, Lost):
        if came.bad is not None:
            raise came.bad
        return "unknown" if came.sent else "unchanged"
    if came.status < 400:
        if came.status >= 300 and came.status != 304:
            to = came.headers.get("location", "elsewhere")
            raise BadAnswer(f"The server redirects to {to}, and redirects are not followed: give that address as url.")
        return "done"
    said = problem_of(came)
    if came.status in {502, 504} or said.code in {"outcome_unknown", "operation_in_flight", "http_503"}:
        return "unknown"
    if came.status == 500:
        return "failed"
    if came.status == 429 or said.next == "resend":
        return "unchanged"
    return "refused"


def _may_repeat(send: Send) -> bool:
    return send.identity == "reading" or send.operation_id is not None


def _told_to_wait(came: Got | Lost) -> float:
    return 0.0 if isinstance(came, Lost) else problem_of(came).retry_after or 0.0


def _ended(send: Send, came: Got | Lost, *, unknown: bool) -> SteadholdError:
    """What is raised when there is no time for another try."""
    why = came.why if isinstance(came, Lost) else str(problem_of(came))
    if unknown and send.identity != "reading":
        return _unknown(send, why)
    if isinstance(came, Got):
        return problem_of(came)
    return Unreachable(f"{send.method} {send.target}: {why}")


def _refused(send: Send, problem: Problem, patience: Patience, ends_at: float, *, unknown: bool) -> Steps[Got]:
    """Raise a refusal, unless an earlier try of the same change may have won: then its receipt decides."""
    if not unknown or send.identity == "reading" or problem.code in _OF_THE_ID:
        raise problem
    if send.identity == "own" and _knows(problem) and not _of_its_grants(send, problem):
        raise problem
    if send.identity == "own" or not (_knows(problem) or problem.status == 500):
        raise _unknown(send, problem) from problem
    look = Send("GET", at("operations", send.operation_id or ""), give_up_seconds=max(0.0, ends_at - patience.clock()))
    try:
        won = _first_answer((yield from insist(look, patience)))
    except SteadholdError as error:
        if isinstance(error, OperationNotCommitted):
            raise problem from error
        raise _unknown(send, problem) from error
    if won is None:
        raise problem
    return won


def _knows(problem: Problem) -> bool:
    """Whether the server had looked for the operation before it refused: key, scope and syntax come first.

    What is no problem of ours was said by something in between, which knows of no operation.
    """
    ours = not problem.code.startswith(FOREIGN)
    return ours and (problem.status in {404, 409, 410, 412, 422, 429, 507} or problem.code == "not_entitled")


def _of_its_grants(send: Send, problem: Problem) -> bool:
    """Whether a grant decided that an earlier try ended itself, or that is looked at before what such a try changed."""
    return problem.code == send.led_to or (problem.code == "stale_fence" and "fence" in send.headers)


class _Receipt(msgspec.Struct):
    state: str
    status: int = 200
    revision: int | None = None


def _first_answer(known: Got) -> Got | None:
    """The answer that a receipt keeps, or None where the operation was abandoned."""
    receipt = read(known, _Receipt)
    if receipt.state != "committed":
        return None
    headers = {"idempotent-replayed": "true", "content-type": "application/json"}
    if receipt.revision is not None:
        headers |= {"revision": str(receipt.revision), "etag": f'"{receipt.revision}"'}
    return replace(known, status=receipt.status, headers=headers, body=exact.member_bytes(known.body, "result") or b"")
