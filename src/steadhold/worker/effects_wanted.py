"""An action outside as a handler asks for it, and as it is planned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, cast, get_args, get_type_hints

from steadhold.effects.model import ANSWER_WITHIN_SECONDS, EXPIRES_IN_SECONDS, Intent, intent_fault, seconds_fault
from steadhold.jobs.outcomes import Claimed
from steadhold.kit import exact, ids
from steadhold.kit.exact import JsonValue
from steadhold.worker.verdicts import StageFault

NAME_CHARS: Final = 100
SAID: Final = {str: "text, such as {!r}", bool: "True or False", float: "a number"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """An action as a handler asks for it."""

    name: str
    key: str
    request: Any
    target: str | None = None
    amount: str | None = None
    currency: str | None = None
    repeatable: bool = False
    expires_in_seconds: float = EXPIRES_IN_SECONDS
    answer_within_seconds: float = ANSWER_WITHIN_SECONDS


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    name: get_args(kind) or (kind,) for name, kind in get_type_hints(Wanted).items() if kind is not Any
}


def effect_id(root_job_id: str, name: str, key: str) -> str:
    """The identity of an action: the same in each run and each retry of a job."""
    told = b"".join(len(part).to_bytes(4, "big") + part for part in (p.encode() for p in (root_job_id, name, key)))
    return f"{name[:NAME_CHARS]}:{hashlib.sha256(told).hexdigest()[:32]}"


def _check_kinds(wanted: Wanted) -> None:
    """Raise StageFault for a number, or the like, in the place of a text: it is a bug, and no trouble that passes."""
    for what, kinds in _KINDS.items():
        given: object = getattr(wanted, what)
        if not _is_one_of(kinds, given):
            wants = SAID[kinds[0]].format(str(given))
            raise StageFault(f"The {what} of effect {wanted.name!r} is {wants}; {given!r} is none.")


def _is_one_of(kinds: tuple[type, ...], given: object) -> bool:
    if isinstance(given, bool):
        return bool in kinds
    return isinstance(given, (*kinds, int) if float in kinds else kinds)


def intended(job: Claimed, wanted: Wanted) -> Intent:
    """The action as it is planned.

    Raises:
        StageFault: its request is no JSON, or it cannot be planned so.
    """
    try:
        request = exact.encode(cast("JsonValue", wanted.request))
    except (TypeError, ValueError) as error:
        raise StageFault(f"The request of effect {wanted.name!r} is no JSON: {error}.") from error
    _check_kinds(wanted)
    intent = Intent(
        id=effect_id(job.root_job_id, wanted.name, wanted.key),
        kind=wanted.name,
        target=wanted.target or wanted.name,
        request_digest=f"sha256:{hashlib.sha256(request).hexdigest()}",
        repeatable=wanted.repeatable,
        expires_in_seconds=wanted.expires_in_seconds,
        job_id=job.id,
        amount=wanted.amount,
        currency=wanted.currency,
    )
    if fault := ids.id_fault(wanted.name) or intent_fault(intent) or seconds_fault(wanted.answer_within_seconds):
        raise StageFault(f"The effect {wanted.name!r} cannot be planned: {fault}")
    return intent
