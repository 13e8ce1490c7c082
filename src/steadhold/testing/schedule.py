"""One schedule: at each boundary somebody is picked to move, until all have ended."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import psycopg

from steadhold.testing.actors import Actor, Turn
from steadhold.testing.database import ENTER
from steadhold.testing.scene import Line, Part, Race, Scene, Stage, Violation, broken
from steadhold.testing.watch import Watch

F = TypeVar("F")

STUCK_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.002


class Incomplete(AssertionError):
    """The walk could not see every schedule, so it proves nothing."""


class Schedule(Generic[F]):
    """Plays a race once, in one order."""

    def __init__(
        self,
        race: Race[F],
        stage: Stage,
        watch: Watch,
        conns: Mapping[str, psycopg.Connection[Any]],
        *,
        number: int,
    ) -> None:
        self.race, self.watch, self.number = race, watch, number
        self.scene = self._set(stage)
        self.actors = {name: Actor(name, conns[name]) for name in race.actors}
        self.picks: list[str] = []
        self.waits = 0
        self._clock_was_read = True
        self._reads = watch.clock.reads()

    @property
    def clock_moves(self) -> int:
        """How often the clock was moved."""
        return sum(pick in self.race.clock_moves for pick in self.picks)

    def play(self, prefix: Sequence[str]) -> list[list[str]]:
        """Follow the prefix, then whoever comes first. Answer the prefixes that were passed by."""
        passed_by: list[list[str]] = []
        try:
            self._begin()
            while not all(actor.ended for actor in self.actors.values()):
                choices = self._choices()
                if len(self.picks) < len(prefix):
                    pick = self._follow(prefix, choices)
                else:
                    pick, *others = choices
                    passed_by += [[*self.picks, other] for other in others]
                self._take(pick)
            self._check_outcomes()
            self._check(self.race.always)
        finally:
            self._end()
        return passed_by

    def _set(self, stage: Stage) -> Scene[F]:
        stage.conn.execute(ENTER, (stage.workspace,))
        with stage.conn.transaction():
            facts = self.race.setup(stage)
        return Scene(stage.workspace, stage.conn, facts)

    def _begin(self) -> None:
        for name, part in self.race.actors.items():
            self.actors[name].begin(self.scene.workspace, turns(part, self.scene))

    def _choices(self) -> list[str]:
        return [name for name, actor in self.actors.items() if actor.movable] + self._clock_choices()

    def _clock_choices(self) -> list[str]:
        """The clock's moves that can make a difference here.

        After a step in which nobody asked for the time, a move is the same as before that step, where it was
        a choice already; and of two moves in a row one order is enough.
        """
        moves = list(self.race.clock_moves)
        if self.picks and self.picks[-1] in moves:
            moves = moves[moves.index(self.picks[-1]) :]
        elif not self._clock_was_read and all(actor.at_rest for actor in self.actors.values()):
            return []
        return [move for move in moves if move not in self.picks]

    def _follow(self, prefix: Sequence[str], choices: Sequence[str]) -> str:
        pick = prefix[len(self.picks)]
        if pick not in choices:
            raise Incomplete(
                f"after {', '.join(self.picks) or 'nothing'}, {pick!r} cannot move (only {', '.join(choices)}): "
                "the plans must do the same each time, so make ids in setup, and look at nothing but the workspace"
            )
        return pick

    def _take(self, pick: str) -> None:
        self.picks.append(pick)
        if pick in self.race.clock_moves:
            self.watch.clock.move(self.race.clock_moves[pick])
            self.scene.trace.append(Line(pick, "the clock moves", f"{self.race.clock_moves[pick]:+g} s"))
            return
        held_up = [actor for actor in self.actors.values() if not actor.at_rest]
        self.actors[pick].move()
        blockers = self._settle()
        self._note(self.actors[pick], blockers, by_itself=False)
        for actor in held_up:
            if actor.at_rest:
                self._note(actor, blockers, by_itself=True)
        before, self._reads = self._reads, self.watch.clock.reads()
        self._clock_was_read = self._reads != before
        if self.race.between:
            self._check(self.race.between)

    def _settle(self) -> dict[int, set[int]]:
        """Wait until each actor is at rest, or held up by one that is; answer who is held up by whom."""
        deadline = time.monotonic() + STUCK_SECONDS
        while running := [actor for actor in self.actors.values() if not actor.at_rest]:
            if running[0].rest(POLL_SECONDS):
                continue
            resting = {actor.pid for actor in self.actors.values()} - {actor.pid for actor in running}
            if blockers := self.watch.held_up([actor.pid for actor in running], resting):
                return blockers
            if time.monotonic() > deadline:
                stuck = self.watch.activity(actor.pid for actor in running)
                raise Incomplete(f"{', '.join(self.picks)}: stuck, though no actor is in the way:\n{stuck}")
        return {}

    def _note(self, actor: Actor, blockers: Mapping[int, set[int]], *, by_itself: bool) -> None:
        if not actor.at_rest:
            self.waits += 1
            names = [other.name for other in self.actors.values() if other.pid in blockers.get(actor.pid, ())]
            answer = f"waits for {' and '.join(names)}"
        else:
            answer = f"raised {actor.outcome!r}" if isinstance(actor.outcome, Exception) else actor.answer
        self.scene.trace.append(Line(actor.name, actor.step, answer, by_itself))

    def _check_outcomes(self) -> None:
        self.scene.outcomes = {name: actor.outcome for name, actor in self.actors.items()}
        for name, outcome in self.scene.outcomes.items():
            if isinstance(outcome, Exception) and not isinstance(outcome, self.race.raises):
                raise self._violation(f"{name} raised {outcome!r}") from outcome

    def _check(self, promise: Any) -> None:
        try:
            why = broken(promise, self.scene)
        except Exception as error:
            error.add_note(f'in the schedule "{", ".join(self.picks)}"')
            raise
        if why:
            raise self._violation(why)

    def _violation(self, why: str) -> Violation:
        return Violation(why, ", ".join(self.picks), self.scene, self.number)

    def _end(self) -> None:
        for actor in self.actors.values():
            actor.abandon()
        for actor in self.actors.values():
            actor.join(STUCK_SECONDS)
        self.watch.clock.reset()


def turns(part: Part[F], scene: Scene[F]) -> Sequence[Turn]:
    """Ask an actor's part what it does; one turn is a list of one."""
    done = part(scene)
    return done if isinstance(done, Sequence) else [done]
