"""One schedule's own world: a fresh workspace, the facts planted in it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import psycopg

from steadhold.kit.plan import Call, Plan
from steadhold.play.caller import play
from steadhold.testing.actors import Turn

F = TypeVar("F")
T = TypeVar("T")


@dataclass(slots=True)
class Stage:
    """A workspace that nothing else uses, and a connection that sees what is committed in it."""

    workspace: str
    conn: psycopg.Connection[Any]

    def play(self, call: Call[T]) -> T:
        """Play a call in a transaction of its own, and commit it."""
        with self.conn.transaction():
            return play(self.conn, call)


@dataclass(frozen=True, slots=True)
class Line:
    """Something an actor, or the clock, did in a schedule."""

    who: str
    step: str
    answer: str
    by_itself: bool = False
    """It went on without being picked: the lock that it waited for was given up."""

    def __str__(self) -> str:
        return f"  {'…' if self.by_itself else ' '} {self.who:<12} {self.step:<24} {self.answer}"


@dataclass(slots=True)
class Scene(Stage, Generic[F]):
    """A stage with the facts that `setup` returned, and each actor's outcome once it has ended.

    An outcome is what the actor's last plan returned, or the exception that ended it.
    """

    facts: F
    outcomes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    trace: list[Line] = field(default_factory=list[Line])


Part: TypeAlias = Callable[[Scene[F]], Plan[Any] | Call[Any] | Sequence[Turn]]
"""What an actor does in a scene: one turn, or several, each in a transaction of its own."""


@dataclass(frozen=True, slots=True)
class Race(Generic[F]):
    """Who races, from what, and what must hold."""

    setup: Callable[[Stage], F]
    actors: Mapping[str, Part[F]]
    always: Callable[[Scene[F]], object]
    between: Callable[[Scene[F]], object] | None
    clock_moves: Mapping[str, float]
    raises: tuple[type[Exception], ...]


class Violation(AssertionError):
    """A schedule broke the promise. `schedule` plays it again."""

    def __init__(self, why: str, schedule: str, scene: Scene[Any], number: int) -> None:
        self.why, self.schedule = why, schedule
        told = [why, f'schedule {number}; play it again with schedule="{schedule}"', *map(str, scene.trace)]
        told += [f"    {name} ended with {outcome!r}" for name, outcome in scene.outcomes.items()]
        super().__init__("\n".join(told))


def broken(promise: Callable[[Scene[F]], object], scene: Scene[F]) -> str | None:
    """Ask a promise; answer what is wrong, or None. It may assert, or return a sentence or a bool."""
    try:
        with scene.conn.transaction():
            told = promise(scene)
    except AssertionError as error:
        return str(error) or f"{promise.__name__} does not hold"
    return None if told is None or told is True else f"{promise.__name__}: {told}"
