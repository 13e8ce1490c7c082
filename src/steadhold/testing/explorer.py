"""Play every interleaving of a few plans at statement boundaries, on real PostgreSQL.

At each boundary any actor may move that is not held up by a lock, and the clock may move, also while an
actor is held up. COMMIT is a step of its own. Schedules are walked depth first; the walk fails if its
limit ends it before the last schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import psycopg

from steadhold.testing.database import Database
from steadhold.testing.scene import Part, Race, Scene, Stage
from steadhold.testing.schedule import Incomplete, Schedule
from steadhold.testing.watch import Watch

F = TypeVar("F")

LIMIT: Final = 5_000


@dataclass(slots=True)
class Explored:
    """What a walk saw, for floors: a walk in which nobody ever waits has raced nothing."""

    interleavings: int = 0
    waits: int = 0
    """How often a step was held up by another actor's lock."""
    clock_moves: int = 0
    outcomes: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    """Each schedule's outcomes, by actor."""

    def add(self, ended: Schedule[Any]) -> None:
        """Count a schedule in."""
        self.interleavings += 1
        self.waits += ended.waits
        self.clock_moves += ended.clock_moves
        self.outcomes.append(ended.scene.outcomes)


def explore(
    database: Database,
    *,
    setup: Callable[[Stage], F],
    actors: Mapping[str, Part[F]],
    always: Callable[[Scene[F]], object],
    between: Callable[[Scene[F]], object] | None = None,
    clock_moves: Mapping[str, float] | None = None,
    raises: tuple[type[Exception], ...] = (),
    limit: int = LIMIT,
    schedule: str | None = None,
) -> Explored:
    """Play every schedule, each in a workspace of its own, and check the promise at the end of each.

    `setup` plants committed facts and returns them; an actor is given the scene and answers its plan, or
    several, each committed before the next. `always` is asked when all have ended, `between` after every
    step as well; both see what is committed, and assert or return what is wrong. `clock_moves` names seconds
    by which the database's clock may move once, forward or back, at any boundary or not at all. An actor that
    raises, a deadlock included, is a violation unless `raises` expects it. `schedule` plays only one schedule,
    as a violation printed it.

    Raises `Violation` at the first broken schedule, `Incomplete` if there are more schedules than `limit`
    or an actor waits for something that no actor holds.
    """
    race = Race(setup, actors, always, between, dict(clock_moves or {}), raises)
    seen = Explored()
    with _connections(database, list(actors)) as (watch, stage_conn, conns):

        def play(prefix: list[str]) -> list[list[str]]:
            stage = Stage(database.new_workspace(), stage_conn)
            played = Schedule(race, stage, watch, conns, number=seen.interleavings + 1)
            passed_by = played.play(prefix)
            seen.add(played)
            return passed_by

        if schedule is not None:
            play([name.strip() for name in schedule.split(",")])
            return seen
        waiting: list[list[str]] = [[]]
        while waiting:
            if seen.interleavings == limit:
                raise Incomplete(
                    f"{limit} schedules ran and more wait, which proves nothing: raise limit, or race less"
                )
            waiting += play(waiting.pop())
        return seen


@contextmanager
def _connections(
    database: Database, names: list[str]
) -> Iterator[tuple[Watch, psycopg.Connection[Any], dict[str, psycopg.Connection[Any]]]]:
    with ExitStack() as stack:
        watch = Watch(stack.enter_context(database.connect()), database.clock)
        conns = {name: stack.enter_context(database.connect()) for name in names}
        for conn in conns.values():
            conn.execute("set deadlock_timeout = '20ms'")
        stack.enter_context(database.clock.watched())
        yield watch, stack.enter_context(database.connect()), conns
