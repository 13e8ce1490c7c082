"""What the floors above hand to the doors, and what they are told of each answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from steadhold.kit.paths import EVERYWHERE
from steadhold.kit.plan import Call
from steadhold.kit.traces import traceparent
from steadhold.web.ask import Ask, Principal, Problem, Request, Route
from steadhold.web.auth import Authenticate, nobody
from steadhold.web.guard import Require
from steadhold.web.turn import Turn

T = TypeVar("T")
Said: TypeAlias = tuple[bytes | str | None, ...]
"""All that makes a request this request and no other; an operation's fingerprint is made of it."""


class Play(Protocol):
    """Plays a call in a transaction of its own, or with others', and answers once that has committed."""

    def __call__(self, call: Call[T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class Seen:
    """A request that was answered, for whoever counts. `route` is the template, "" where none was found.

    `seconds` are those to the answer; of a body that is sent piece by piece, to its beginning. `of` knows more of the
    request, `about` names what an answer that says yes is about ("job:…").
    """

    route: str
    method: str
    status: int
    code: str | None
    seconds: float
    of: Turn
    about: str | None = None


def passed(given: str | None) -> tuple[str | None, None]:
    """Name what the client named as the cause, where nobody keeps spans."""
    return (None if given is None else traceparent(given)), None


@dataclass(frozen=True, slots=True)
class Above:
    """What the floors above hand down when the server starts.

    `trouble` says which exceptions are expected and what they mean, `alarm` logs the others. `known` tells
    whether there is a workspace, `forget` that a key was touched (topic `("keys", id)`), `require` relies on grants
    (without it, only rooms that do so themselves take `Fence`). `house` is the workspace of routes that belong to
    none, `base` the address under which the server is known outside. `admit` finds who comes by a token in the address.
    `trace` begins a request's span, given the field `traceparent`: what the request causes names the one, `on` ends the
    other.
    """

    play: Play
    authenticate: Authenticate
    permits: Callable[[Principal, str, str | None], bool]
    receipted: Callable[[Route, Request, Ask[Any], Said], Ask[Any]]
    trouble: Callable[[Exception], Problem | None]
    reach: Callable[[Principal, str], tuple[str, ...]] = lambda _who, _scope: EVERYWHERE
    rate: Callable[[Principal], Problem | None] = lambda _: None
    known: Callable[[str], Awaitable[bool]] | None = None
    forget: Callable[[str], None] = lambda _: None
    require: Require | None = None
    on: Callable[[Seen], None] = lambda _: None
    alarm: Callable[[Exception, Mapping[str, str]], None] = lambda _error, _facts: None
    house: str = ""
    base: str = ""
    admit: Authenticate = nobody
    trace: Callable[[str | None], tuple[str | None, Any]] = passed
