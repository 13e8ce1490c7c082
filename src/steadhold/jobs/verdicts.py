"""What becomes of a job: pure decisions over what its locked row says. Nothing here asks or acts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from steadhold.jobs import model, outcomes
from steadhold.jobs.model import Concurrency, Configuration, Retry
from steadhold.kit.limits import LAPSES_MAX

CHARGED: Final = ("transient", "timeout")
RETRIED: Final = (*CHARGED, "rate_limited", "interrupted")


class Standing(msgspec.Struct, frozen=True):
    """What decides about a running job: its locked row, and the clock under the lock if it is held to a time."""

    id: str
    attempt: int
    attempts_max: int
    lapses: int
    cancel_requested: bool
    deadline_at: datetime | None
    timeout_at: datetime | None
    now: datetime | None


class Move(msgspec.Struct, frozen=True):
    """The next state and what causes it. `after_seconds` counts from now; `refund` gives the attempt back."""

    state: int
    cause: str
    after_seconds: float = 0.0
    refund: bool = False
    lapses: int = 0
    error_code: str | None = None
    message: str | None = None
    klass: str | None = None


def released(after_seconds: float, *, cancel_requested: bool) -> Move:
    """Handed back untouched: due again, unless somebody asked to cancel it meanwhile."""
    if cancel_requested:
        return Move(model.CANCELLED, "release", refund=True)
    return Move(model.ACCEPTED, "snooze" if after_seconds else "release", after_seconds, refund=True)


def failed(standing: Standing, error_code: str, message: str, klass: str, retry: Retry) -> Move:
    """A failure: due again where its class allows and attempts are left, at an end otherwise."""
    spent = klass in CHARGED and standing.attempt >= standing.attempts_max
    if klass not in RETRIED or spent:
        return Move(model.FAILED, "error", error_code=error_code, message=message, klass=klass)
    refund = klass not in CHARGED
    if standing.cancel_requested:
        return Move(model.CANCELLED, "retry", refund=refund, error_code=None)
    after = 0.0 if klass == "interrupted" else backoff(retry, standing.id, standing.attempt)
    return Move(model.ACCEPTED, "retry", after, refund, error_code=error_code, message=message, klass=klass)


def lapsed(standing: Standing, retry: Retry, *, progressed: bool) -> Move:
    """A lease that ran out. `progressed`: its owner committed a checkpoint under it.

    A lease ends no later than the attempt's timeout and the job's deadline, so those are told apart here.
    """
    if standing.cancel_requested:
        return Move(model.CANCELLED, "lapse")
    if past(standing.deadline_at, standing.now):
        return overdue()
    if past(standing.timeout_at, standing.now):
        return failed(standing, "timeout", "The attempt ran longer than timeout_seconds.", "timeout", retry)
    lapses = 0 if progressed else standing.lapses + 1
    if lapses >= LAPSES_MAX:
        message = f"{LAPSES_MAX} leases in a row lapsed without a new checkpoint."
        return Move(model.FAILED, "poison", lapses=lapses, error_code="poison", message=message, klass="bug")
    if standing.attempt >= standing.attempts_max:
        message = "The last attempt's lease lapsed."
        return Move(model.FAILED, "error", lapses=lapses, error_code="lapsed", message=message, klass="transient")
    return Move(model.ACCEPTED, "lapse", lapses=lapses)


def past(at: datetime | None, now: datetime | None) -> bool:
    """Whether an instant is there and has passed; a job that is held to none has no clock beside it."""
    return at is not None and now is not None and at <= now


def overdue() -> Move:
    """The deadline passed before the job ended."""
    message = "The job did not end before its deadline."
    return Move(model.FAILED, "deadline", error_code="deadline", message=message, klass="permanent")


def backoff(retry: Retry, id: str, attempt: int) -> float:
    """Seconds until the attempt after `attempt`: doubling, capped, and spread by the job's own id."""
    whole = min(retry.cap_seconds, retry.base_seconds * 2.0 ** min(attempt - 1, 60))
    chance = int.from_bytes(model.digest(f"{id}:{attempt}".encode())[:6]) / 2.0**48
    return whole * (1.0 - retry.jitter * chance)


@dataclass(frozen=True, slots=True)
class CancelVerdict:
    """What a request to cancel comes to in a state: the move to make, or None where it can only be noted."""

    outcome: Literal["requested", "cancelled", "too_late"]
    state: int | None


def cancelling(state: int) -> CancelVerdict:
    """Cancel at once what no worker holds, ask the worker that does, and come too late for what has ended."""
    if state in (model.ACCEPTED, model.WAITING):
        return CancelVerdict("cancelled", model.CANCELLED)
    if state == model.RUNNING:
        return CancelVerdict("requested", None)
    return CancelVerdict("cancelled" if state == model.CANCELLED else "too_late", None)


Evidence: TypeAlias = outcomes.EvidenceRequired | outcomes.StaleEvidence


def evidence_fault(not_before: datetime | None, evidence_at: datetime | None) -> Evidence | None:
    """Say what is wrong with the evidence of a result, if the job asks for any."""
    if not_before is None:
        return None
    if evidence_at is None:
        return outcomes.EvidenceRequired(not_before)
    return outcomes.StaleEvidence(not_before) if evidence_at < not_before else None


class _Pinned(msgspec.Struct, forbid_unknown_fields=True):
    """As it was kept: the bounds of today are for what comes in, so no rule is read from the model."""

    input_schema: msgspec.Raw
    lease_seconds: float
    attempts_max: int
    timeout_seconds: float | None
    retry: dict[str, float]
    concurrency: dict[str, int | None]
    retention_seconds: float | None
    versions: tuple[str, ...]


@lru_cache(maxsize=1024)
def configuration(body: bytes | None) -> Configuration:
    """Read a stored configuration; None is revision 0."""
    if body is None:
        return model.DEFAULTS
    found = msgspec.json.decode(body, type=_Pinned)
    schema = bytes(found.input_schema)
    return Configuration(
        None if schema == b"null" else schema,
        found.lease_seconds,
        found.attempts_max,
        found.timeout_seconds,
        Retry(**found.retry),
        Concurrency(found.concurrency["type_max"], found.concurrency["key_max"] or 1),
        found.retention_seconds,
        found.versions,
    )


def stored(configuration: Configuration) -> bytes:
    """Write a configuration as it is stored, pinned and shown: JSON, with the schema's own bytes in it."""
    schema = configuration.input_schema
    members = {field.name: getattr(configuration, field.name) for field in fields(configuration)}
    return msgspec.json.encode(members | {"input_schema": None if schema is None else msgspec.Raw(schema)})
