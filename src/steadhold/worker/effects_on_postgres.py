"""The door of effects directly on PostgreSQL: their plans, played on the worker's connections."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

import msgspec

from steadhold import effects, operations
from steadhold.access import Actor
from steadhold.context import Unresolved
from steadhold.effects import Moved
from steadhold.effects.model import Effect, Intent
from steadhold.effects.outcomes import InitiateOutcome
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Call
from steadhold.operations import Replayed, Sealed
from steadhold.worker.effects_door import Begun, Planned, Report, Said, Standing, Start

T = TypeVar("T")
WORKER: Final = Actor("worker", None)
"""Who it is that sits at the database itself."""


class Play(Protocol):
    """Plays a call."""

    async def __call__(self, call: Call[T], /) -> T:
        """Its outcome. Raises DoorShut."""
        ...


class EffectsOnPostgres:
    """An initiation has a receipt, so that a lost answer is found again by whoever asked for it."""

    def __init__(self, workspace: str, play: Play) -> None:
        self._workspace, self._play = workspace, play

    async def plan(self, intent: Intent, fence: int) -> Planned:
        """Write an action down, or find the one that there is."""
        outcome = await self._play(effects.plan.call(self._workspace, intent, by=WORKER, job_fence=fence))
        match outcome:
            case Moved(effect):
                return _standing(effect)
            case Unresolved():
                raise AssertionError("a worker's effects refer to nothing in context")
            case _:
                return outcome

    async def initiate(self, start: Start) -> Begun:
        """Say that it begins now."""
        call = effects.initiate.call(
            self._workspace,
            start.id,
            by=WORKER,
            answer_within_seconds=start.answer_within_seconds,
            fences_held=[start.grant],
        )
        grant = f"{start.grant.subject};{start.grant.fence}"
        fingerprint = operations.fingerprint("effects.initiate", start.id, grant)
        outcome: Any = await self._play(
            operations.receipted(call, key=start.key, fingerprint=fingerprint, seal=_seal, scope="effects:read")
        )
        match outcome:
            case Moved(effect):
                return _standing(effect)
            case Replayed():
                return outcome.into(Standing)
            case effects.AlreadyInitiated() | effects.MoveNotPermitted() | StaleFence():
                return outcome
            case _:
                raise AssertionError(f"effect {start.id} was planned, and its key was made for it: {outcome}")

    async def outcome(self, report: Report) -> Said:
        """Say what came of it."""
        call = effects.outcome.call(
            self._workspace,
            report.id,
            report.execution,
            by=WORKER,
            no_effect=report.no_effect,
            venue_ref=report.venue_ref,
            evidence_ref=report.evidence_ref,
            evidence_id=report.evidence_id,
            revision=report.revision,
        )
        outcome = await self._play(call)
        match outcome:
            case Moved(effect):
                return _standing(effect)
            case RevisionConflict() | effects.MoveNotPermitted():
                return outcome
            case _:
                raise AssertionError(f"effect {report.id} was planned: {outcome}")

    async def look(self, id: str) -> Standing | Missing:
        """Read where it stands."""
        found = await self._play(effects.get.call(self._workspace, id))
        return found if isinstance(found, Missing) else _standing(found)


def _standing(found: Effect) -> Standing:
    return Standing(
        found.revision, found.execution, found.initiations, found.no_effect, found.venue_ref, found.evidence_ref
    )


def _seal(outcome: InitiateOutcome) -> Sealed:
    assert isinstance(outcome, Moved), "only what took effect has a receipt"
    found = outcome.effect
    body = msgspec.json.encode(_standing(found))
    return Sealed(200, body, resource=f"effect:{found.id}", revision=found.revision)
