"""An answer that says no: `application/problem+json` (RFC 9457), by a stable code."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import msgspec

from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.seal import Sealing
from steadhold.web.ask import Headers, Problem, Stop
from steadhold.web.codes import PROBLEMS

MEDIA_TYPE: Final = "application/problem+json"
MISSING: Final = Problem("not_found", "Nothing that you may see has this name or address.")
"""The one answer for a missing, a foreign and a malformed id."""

SOON: Final[Headers] = (("retry-after", "1"),)
"""Of what passes by itself: it may be sent again after a second."""

_ENCODER: Final = msgspec.json.Encoder()


def page(code: str) -> str:
    """Where this server explains a code."""
    return f"/docs/errors#{code}"


def encode(problem: Problem, base: str = "") -> bytes:
    """The body of a problem. `base` is the public address of the server, or nothing."""
    kind = PROBLEMS[problem.code]
    return _ENCODER.encode(
        {
            "type": base + page(problem.code),
            "title": kind.title,
            "status": kind.status,
            "detail": problem.detail,
            "code": problem.code,
            "next": kind.next,
            **problem.extras,
        }
    )


def stop(code: str, detail: str, /, **extras: Any) -> NoReturn:
    """Answer with this problem at once."""
    raise Stop(Problem(code, detail, extras))


def need_sealing(sealing: Sealing) -> None:
    """Answer at once that no secret can be kept here, where nothing seals it."""
    if not sealing:
        stop("no_sealing_key", "Secrets are kept sealed: the operator sets `sealing_key` first.")


def _at(revision: int | None) -> str:
    return "no revision" if revision is None else f"revision {revision}"


def refused(outcome: StaleFence | RevisionConflict | Missing) -> Problem:
    """The problem that a refusal shared by many rooms is."""
    match outcome:
        case StaleFence(subject):
            return Problem(
                "stale_fence", f"The grant of {subject} is not current under the fence you sent.", {"subject": subject}
            )
        case RevisionConflict(current):
            return Problem(
                "condition_false",
                f"It is at {_at(current)} now, which is not what the condition names; read, and decide again.",
                {"current_revision": current},
            )
        case Missing(last_revision):
            extras = {} if last_revision is None else {"last_revision": last_revision}
            return Problem(MISSING.code, MISSING.detail, extras)
