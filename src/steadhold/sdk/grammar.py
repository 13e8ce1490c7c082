"""A verb is a script of requests that knows no connection; a sync and an async client play the same one.

A script yields `Send` and receives `Got`; a refusal is raised into it as a `Problem`. Retries, time and
sockets are the player's. A stream is a script that also yields `Give`: each is an item for whoever iterates.
"""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, Self, TypeAlias, TypeVar, cast, overload

P = ParamSpec("P")
T = TypeVar("T")

Identity: TypeAlias = Literal["reading", "receipt", "own"]
"""How a request may be sent again: it changes nothing; its receipt answers; what it touches answers for itself."""


@dataclass(frozen=True, slots=True)
class Send:
    """One request, as often as it has to be sent. `target` is path and query, percent-encoded.

    `wait_seconds` is how long the server may hold the answer back; `give_up_seconds` replaces the client's own. A
    `source` is read anew for each try, in place of a `body`. `opens`: of an answer that says yes only the head is read,
    and its body by `More`, in a stream. `led_to`: what a later try is refused by where an earlier one took effect.
    `unsure`: an earlier copy may yet take effect, from before this was tried at all.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    identity: Identity = "reading"
    operation_id: str | None = None
    wait_seconds: float = 0.0
    give_up_seconds: float | None = None
    source: Callable[[], Iterator[bytes]] | None = None
    opens: bool = False
    led_to: str = ""
    unsure: bool = False

    @property
    def of_the_house(self) -> bool:
        """Whether its receipt is in no workspace, where it could be looked for or abandoned."""
        return self.target.startswith("/v1/workspaces")


@dataclass(frozen=True, slots=True)
class Got:
    """An answer, whatever it says. Header names are lower case. `unsure`: an earlier try may have taken effect."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    unsure: bool = False

    @property
    def replayed(self) -> bool:
        """Whether it is the first answer to this operation, told again."""
        return self.headers.get("idempotent-replayed") == "true"

    @property
    def revision(self) -> int:
        """The revision that the answer names.

        Raises:
            BadAnswer: it names none.
        """
        told = self.headers.get("revision", "")
        if not (told.isascii() and told.isdecimal() and len(told) < 20):
            from steadhold.sdk.problem import BadAnswer  # which stands above

            raise BadAnswer(f"The answer names no revision, but {told[:20]!r}.")
        return int(told)


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came, or a `bad` one. `sent` says whether the request may have arrived."""

    why: str
    sent: bool
    bad: Exception | None = None


@dataclass(frozen=True, slots=True)
class More:
    """The next bytes of the answer that was opened last: None at its end, `Lost` where it was cut."""

    silent_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Let some time pass. What a script asks for is the longest: a random part of it passes."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell somebody something. Who is told by an asynchronous client may be asynchronous."""

    whom: Callable[[Any], object]
    what: object

    def now(self) -> None:
        """Tell it where nothing can be awaited.

        Raises:
            TypeError: who is told has to be awaited.
        """
        answer = self._answer()
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError(f"{self.whom!r} is asynchronous, and this client is not: give it a plain function.")

    async def later(self) -> None:
        """Tell it, and await that where it has to be."""
        answer = self._answer()
        if inspect.isawaitable(answer):
            await answer

    def _answer(self) -> object:
        try:
            return self.whom(self.what)
        except StopIteration as stopped:  # which says of generators that they have ended
            raise RuntimeError(f"{self.whom!r} raised StopIteration: it ended nothing but itself.") from stopped


@dataclass(frozen=True, slots=True)
class Give(Generic[T]):
    """An item of a stream."""

    item: T


Script: TypeAlias = Generator[Send | Pause | Tell, Got, T]
Stream: TypeAlias = Generator[Send | Pause | Tell | More | Give[T], Any, None]
Step: TypeAlias = Send | Pause | Tell | More | Give[Any]


class Sync:
    """Marks rooms whose verbs answer."""


class Async:
    """Marks rooms whose verbs are awaited."""


class Later:
    """Marks rooms whose verbs are noted, and answered together."""


Mode = TypeVar("Mode", bound=Sync | Async | Later)


class Pending(Generic[T]):
    """A verb whose one request is noted, to be answered with others."""

    __slots__ = ("_answered", "_result", "_script")

    def __init__(self, script: Script[T]) -> None:
        self._script, self._answered = script, False
        self._result: T | None = None

    @property
    def result(self) -> T:
        """What the verb came to.

        Raises:
            RuntimeError: it has not been answered: its block has not ended, or nothing was changed.
        """
        if not self._answered:
            raise RuntimeError("There is no result: the block has not ended, or its commit changed nothing.")
        return cast("T", self._result)

    def request(self) -> Send:
        """The request that the verb begins with."""
        step = next(self._script)
        if isinstance(step, Send):
            return step
        self._script.close()
        raise TypeError("This verb does more than one request says, so it cannot be noted.")

    def answer(self, got: Got) -> None:
        """Let the verb go on with the answer to its request, to its end."""
        try:
            self._script.send(got)
        except StopIteration as end:
            self._answered, self._result = True, end.value
            return
        self._script.close()
        raise TypeError("This verb sends more than one request, so it cannot be answered with others.")


class Player(Protocol):
    """What plays scripts: a client."""

    @abstractmethod
    def play(self, script: Script[Any]) -> Any:
        """Answer what the script comes to, or a coroutine that does."""
        ...

    @abstractmethod
    def flow(self, stream: Stream[Any]) -> Any:
        """Answer an iterator of what the stream gives, or an asynchronous one."""
        ...


class Room(Generic[Mode]):
    """The verbs of one room."""

    def __init__(self, player: Player) -> None:
        self.player = player


class verb(Generic[P, T]):  # noqa: N801 - it is written as a decorator
    """Make a script a verb: it answers in a room of a sync client, and is awaited in one of an async client."""

    def __init__(self, script: Callable[Concatenate[Any, P], Script[T]]) -> None:
        @functools.wraps(script)
        def played(room: Room[Any], *args: P.args, **kw: P.kwargs) -> Any:
            return room.player.play(script(room, *args, **kw))

        self.script, self._played = script, played

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: Room[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, room: Room[Async], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, room: Room[Later], owner: type) -> Callable[P, Pending[T]]: ...
    def __get__(self, room: Room[Any] | None, owner: type) -> Any:
        return self if room is None else MethodType(self._played, room)


class flow(Generic[P, T]):  # noqa: N801 - it is written as a decorator
    """Make a stream a verb: an iterator in a room of a sync client, an asynchronous one in one of an async client."""

    def __init__(self, stream: Callable[Concatenate[Any, P], Stream[T]]) -> None:
        @functools.wraps(stream)
        def played(room: Room[Any], *args: P.args, **kw: P.kwargs) -> Any:
            return room.player.flow(stream(room, *args, **kw))

        self.script, self._played = stream, played

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: Room[Sync], owner: type) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, room: Room[Async], owner: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, room: Room[Any] | None, owner: type) -> Any:
        return self if room is None else MethodType(self._played, room)
