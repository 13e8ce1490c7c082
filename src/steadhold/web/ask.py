"""What a room's routes receive and return. A route is pure: it reads a `Request` and returns an `Ask`.

What is made for each request is not frozen, for that costs more than the rest of making it; nobody changes it.
The server has read the bounded body, found the key, tested the scope and parsed the common headers
before; it plays the call, keeps the receipt and sends what `render` makes of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from steadhold.kit.fields import Condition, FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.paths import EVERYWHERE
from steadhold.kit.plan import Call

T = TypeVar("T")
Headers: TypeAlias = tuple[tuple[str, str], ...]
Topic: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `subject` is stable over key rotation; an operator's key belongs to no workspace."""

    workspace: str | None
    subject: str
    key_id: str
    kind: Literal["service", "person", "operator"]
    scopes: tuple[str, ...]


def _nothing(_scope: str, _name: str | None) -> bool:
    return False


def _everywhere(_scope: str) -> tuple[str, ...]:
    return EVERYWHERE


@dataclass(slots=True)
class Request:
    """One request, parsed as far as all rooms have in common.

    `params` are the decoded path parameters, `headers` have lower-case names, `operation` is the inner value of
    `Idempotency-Key`; `path` is the address as it was sent, without its query; `trace` is the traceparent that what it
    causes is to name, if it belongs to a trace. `permits(scope, name)` tells whether the key may do this too, to a name
    or (None) to everything: a route's own scope has been tested before. `reach(scope)` are the prefixes below which the
    key may do this, EVERYWHERE or fewer: a route that `narrows` shows no more.
    """

    who: Principal
    workspace: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    operation: str | None
    fences: tuple[FenceRef, ...]
    if_match: Condition
    if_none_match: Condition
    method: str = "GET"
    path: str = ""
    permits: Callable[[str, str | None], bool] = _nothing
    reach: Callable[[str], tuple[str, ...]] = _everywhere
    trace: str | None = None
    drawn: str | None = field(default=None, kw_only=True)

    @property
    def fresh(self) -> str:
        """An id for what this may make, a UUIDv7: drawn when it is first asked for, and kept for who asks again."""
        if self.drawn is None:
            self.drawn = new_id()
        return self.drawn


@dataclass(frozen=True, slots=True)
class Rest:
    """Yielded by a body that has nothing to say now: it goes on when a topic is touched, or at the next poll."""


REST: Final = Rest()

Pieces: TypeAlias = "Generator[bytes | Call[Any] | Rest, Any, None]"
"""A body: it yields bytes, which are sent, and calls, which are played; what a call came to is what it receives."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A body that is sent piece by piece, as fast as its client reads. Between pieces nothing of it is kept.

    It is cut, and so never looks whole, where `begin`'s body or a call of it fails, the key ends or the server stops.
    One that is `endless` is whole wherever it ends. A touch of its `topics` ends a rest; `idle` is sent where
    it has long said nothing.
    """

    begin: Callable[[], Pieces]
    endless: bool = False
    topics: tuple[Topic, ...] = ()
    idle: bytes = b""


@dataclass(slots=True)
class Reply:
    """An answer that says yes. `revision` becomes `ETag` and `Revision`; `resource` and `fence` go to the receipt.

    In place of `body`, `pieces` are sent one behind the other, which saves that large ones are joined; or a `stream`,
    piece by piece as they come: `length` says how many bytes it will have.
    """

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()
    revision: int | None = None
    resource: str | None = None
    fence: int | None = None
    pieces: tuple[bytes, ...] = ()
    stream: Stream | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """An answer that says no, by a code of `steadhold.web.codes.PROBLEMS`; `extras` are members of its body."""

    code: str
    detail: str
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: Headers = ()


class Stop(Exception):
    """Raised while a request is still being parsed: answer with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


Answer: TypeAlias = Reply | Problem


# Without slots: with them, calling `Wait[T](…)` on a frozen class fails in Python 3.11.
@dataclass(frozen=True)
class Wait(Generic[T]):
    """Hold the answer back until `ready` says yes of an outcome; a hint on a topic, or a poll, asks again.

    When `seconds` are over, the last outcome is rendered as it is. A topic names no workspace: it is one of
    the call's. With `alone`, a hint wakes one of the topic's waiters, for those who take what others then miss.
    `leave` is played when the wait ends for nothing: the time is up, or whoever asked has gone.
    """

    seconds: float
    topic: Topic
    ready: Callable[[T], bool]
    also: tuple[Topic, ...] = ()
    alone: bool = False
    leave: Call[Any] | None = None


@dataclass(slots=True)
class Ask(Generic[T]):
    """Play `call` and send what `render` makes of its outcome.

    An outcome is a `Refusal` exactly where `render` makes a `Problem` of it: then no receipt is kept.
    `remember` renders what a receipt keeps, where that may not be all that was sent (secrets).
    `touches` are the topics whose waiters look again once this has committed, `wakes` those that depend on what it
    came to. `undo` gives what takes an outcome back, played if the client has gone before its answer. `needs` are
    scopes, each with the name it is for or "", of whoever may read the receipt, where that is not the route's own.
    """

    call: Call[T]
    render: Callable[[T], Answer]
    wait: Wait[T] | None = None
    remember: Callable[[T], Reply] | None = None
    touches: tuple[Topic, ...] = ()
    undo: Callable[[T], Call[Any] | None] | None = None
    wakes: Callable[[T], tuple[Topic, ...]] | None = None
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pull:
    """Yielded to have the next bytes of the request's body, exactly `most` unless it ends before; then `Whole`."""

    most: int


@dataclass(frozen=True, slots=True)
class Whole:
    """All of a body has come: so many bytes, of this SHA-256."""

    length: int
    sha256: bytes


Steps: TypeAlias = "Generator[Pull | Call[Any], Any, Ask[Any] | Answer]"
"""What is done while a body comes: it yields pulls and calls, and returns what is asked then."""


# Without slots, as `Wait`.
@dataclass(frozen=True)
class Taking(Generic[T]):
    """Take the body piece by piece: what a route whose `body` is `stream` returns, before any of it is read.

    A client that waits to be told to continue is told so by the first pull. `after` is called when it has ended,
    with the outcome of what was asked then, or with None where that is not known or it never came to that: the client
    has gone, its key has ended, the body was too large or too slow, or `steps` answered at once. The call that it
    gives, if any, is played.
    """

    steps: Callable[[], Steps]
    after: Callable[[T | None], Call[Any] | None]


@dataclass(frozen=True, slots=True)
class Route:
    """One door. `scope` is what the key needs ("state:write"; "" for any valid key), `scoped` the path
    parameter that a scope's prefix applies to; `receipt`:

    - `required`: it makes something new, so it needs an `Idempotency-Key`;
    - `optional`: guarded otherwise; a key that is sent is kept;
    - `none`: a reading, or a verb whose row answers for itself.

    In `path`, `{id}` is an Id, `{id:uuid}` a UUID, and `{name:path}` the rest of the address, undecided.
    `body`: `json` is decoded by the route, `raw` are bytes of one of the types in `media`, or of any, and `stream`
    the same without being gathered: the route is `Taking` them.
    `query` are the parameters that it takes, `headers` the fields that it obeys ("if-match", "fence", …): a
    write refuses a condition or fence that it would ignore. `house` says that it belongs to no workspace.
    `narrows` lets in a key whose scope is good below some prefixes only: the handler shows no more than those.
    `answers` are the types of what it says yes with. `capability` is the path parameter that stands for a key: whoever
    knows the address may come in, and `Above.admit` says as whom.
    `takes` and `gives` are msgspec Structs for the OpenAPI document, `problems` the codes that the route may answer
    besides the common ones.
    """

    method: Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
    path: str
    handle: Callable[[Request], Ask[Any] | Taking[Any] | Answer]
    scope: str
    summary: str
    scoped: str | None = None
    receipt: Literal["required", "optional", "none"] = "none"
    body: Literal["none", "json", "raw", "stream"] = "none"
    body_bytes_max: int | None = None
    takes: Any = None
    gives: Any = None
    status: int = 200
    problems: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    house: bool = False
    narrows: bool = False
    answers: tuple[str, ...] = ("application/json",)
    capability: str | None = None
