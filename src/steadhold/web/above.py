"""What the floors above hand to the doors, and what they are told of each answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from steadhold.kit.plan import Call
from steadhold.web.ask import Ask, Principal, Problem, Request, Route
from steadhold.web.auth import Authenticate, nobody
from steadhold.web.guard import Require

T = TypeVar("T")
Said: TypeAlias = tuple[bytes | str | None, ...]
"""All that makes a request this request and no other; an operation's fingerprint is made of it."""


class Play(Protocol):
    """Plays a call in a transaction of its own, or with others', and answers once that has committed."""

    def __call__(self, call: Call[T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class Seen:
    """A request that was answered, for whoever counts. `route` is the template, "" where none was found.

    `seconds` are those to the answer; of a body that is sent piece by piece, to its beginning.
    """

    route: str
    method: str
    status: int
    code: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Above:
    """What the floors above hand down when the server starts.

    `trouble` says which exceptions are expected and what they mean, `alarm` logs the others. `known` tells
    whether there is a workspace, `forget` that a key was touched (topic `("keys", id)`), `require` relies on grants
    (without it, only rooms that do so themselves take `Fence`). `house` is the workspace of routes that belong to
    none, `base` the address under which the server is known outside. `admit` finds who comes by a token in the address.
    """

    play: Play
    authenticate: Authenticate
    permits: Callable[[Principal, str, str | None], bool]
    receipted: Callable[[Route, Request, Ask[Any], Said], Ask[Any]]
    trouble: Callable[[Exception], Problem | None]
    reach: Callable[[Principal, str], tuple[str, ...]] = lambda _who, _scope: ("",)
    rate: Callable[[Principal], Problem | None] = lambda _: None
    known: Callable[[str], Awaitable[bool]] | None = None
    forget: Callable[[str], None] = lambda _: None
    require: Require | None = None
    on: Callable[[Seen], None] = lambda _: None
    alarm: Callable[[Exception, Mapping[str, str]], None] = lambda _error, _facts: None
    house: str = ""
    base: str = ""
    admit: Authenticate = nobody
