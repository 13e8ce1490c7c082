"""An answer that says no, as an exception; and what goes wrong where there is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import msgspec

from steadhold.sdk.extras import flat
from steadhold.sdk.grammar import Got


class SteadholdError(Exception):
    """Base of all that the SDK raises of its own."""


class Unreachable(SteadholdError):
    """No server took it within the time for retries: nothing was changed.

    Nothing was sent, or it was refused by an alert of TLS; or it is a reading, which nobody answered.
    """


class BadAnswer(SteadholdError):
    """The answer breaks the protocol: a redirect, a digest that differs, another shape, or more bytes than allowed."""


class OutcomeUnknown(SteadholdError):
    """A change was sent, and nobody could say within the time for retries whether it took effect.

    `client.operations.resolve(error)` finds out. To try again instead, call the verb again with
    `operation_id=error.operation_id`: it takes effect once, however often it was sent. A verb whose row answers
    for itself (claim, heartbeat, checkpoint, settle) has no receipt to find: call it again, or, once a grant among its
    `fences` has ended, read what it would have changed.
    """

    def __init__(self, operation_id: str, why: str, request: Any = None) -> None:
        super().__init__(operation_id, why, request)
        self.operation_id, self.why, self.request = operation_id, why, request

    @property
    def ended(self) -> str:
        """What to do where grants are looked at before what an earlier try changed, or that try may have ended one."""
        relied = "fence" in getattr(self.request, "headers", ()) or getattr(self.request, "led_to", "")
        return " Where a grant has ended, read what it touches." if relied else ""

    def __str__(self) -> str:
        what = f"Operation {self.operation_id}" if self.operation_id else "The change"
        unknown = f"{what} may or may not have taken effect: {self.why} "
        if getattr(self.request, "identity", None) == "own":
            own = "It has no receipt, what it touches answers for itself: call the verb again, as it was."
            return f"{unknown}{own}{self.ended}"
        return (
            f"{unknown}Ask client.operations.resolve({self.operation_id!r}), or call the verb again with "
            f"operation_id={self.operation_id!r}."
        )


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said: `extras` are the members of the problem that belong to its code."""

    status: int
    code: str
    title: str = ""
    detail: str = ""
    next: str = "stop"
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])
    operation_id: str | None = None
    retry_after: float | None = None


class Problem(SteadholdError):
    """The server refused. `code` is stable; `next` is what a program does now: resend, reread, wait or stop."""

    codes: ClassVar[dict[str, type[Problem]]] = {}

    def __init_subclass__(cls, *, codes: tuple[str, ...] = ()) -> None:
        super().__init_subclass__()
        Problem.codes.update(dict.fromkeys(codes, cls))

    def __init__(self, said: Said) -> None:
        super().__init__(said)
        self.said = said
        self.status, self.code, self.title, self.detail = said.status, said.code, said.title, said.detail
        self.next, self.extras = said.next, said.extras
        self.operation_id, self.retry_after = said.operation_id, said.retry_after

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in flat(self.extras))
        return f"{self.status} {self.code}: {self.detail or self.title}" + (f" ({told})" if told else "")

    def whole(self, name: str) -> int | None:
        """A member that is a whole number; None without it."""
        value = self.extras.get(name)
        return value if isinstance(value, int) else None


_MEMBERS: Final = frozenset({"type", "title", "status", "detail", "code", "next"})
FOREIGN: Final = "http_"
"""How the code begins of an answer that is no problem of ours; its status follows."""
_SNIPPET_CHARS: Final = 200


def problem_of(got: Got) -> Problem:
    """The exception that an answer is; one that is no problem of ours gets the code "http_<status>"."""
    members = _members(got)
    code = members.get("code")
    if not isinstance(code, str):
        text = got.body[:_SNIPPET_CHARS].decode("utf-8", "replace")
        members, code = {"detail": f"The answer is none of steadhold's: {text!r}."}, f"{FOREIGN}{got.status}"
    said = Said(
        got.status,
        code,
        str(members.get("title", "")),
        str(members.get("detail", "")),
        str(members.get("next", "stop")),
        {name: value for name, value in members.items() if name not in _MEMBERS},
        got.headers.get("operation-id"),
        _seconds(got.headers.get("retry-after")),
    )
    return Problem.codes.get(code, Problem)(said)


def _members(got: Got) -> dict[str, Any]:
    if not got.headers.get("content-type", "").startswith("application/problem+json"):
        return {}
    try:
        return msgspec.json.decode(got.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None
