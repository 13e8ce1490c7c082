"""The door of effects over HTTP, through the SDK."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, Protocol, TypeVar

from steadhold import AsyncClient, Problem
from steadhold.effects.model import Intent
from steadhold.effects.outcomes import AlreadyInitiated, EffectConflict, MoveNotPermitted
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.worker.effects_door import Begun, Planned, Report, Said, Standing, Start

T = TypeVar("T")


class Asked(Protocol):
    """Awaits an answer, and tells a shut door from a refusal."""

    async def __call__(self, answer: Awaitable[T], /) -> T:
        """The answer. Raises DoorShut, or Problem where it is refused."""
        ...


class EffectsOverHttp:
    """A refusal that decides something is answered as the plans would; any other is raised."""

    def __init__(self, client: AsyncClient, asked: Asked) -> None:
        self._effects: Final = client.effects
        self._asked = asked

    async def plan(self, intent: Intent, fence: int) -> Planned:
        """Write an action down, or find the one that there is."""
        asked = self._effects.plan(
            intent.id,
            kind=intent.kind,
            target=intent.target,
            request_digest=intent.request_digest,
            repeatable=intent.repeatable,
            expires_in_seconds=intent.expires_in_seconds,
            job_id=intent.job_id,
            job_fence=fence,
            amount=intent.amount,
            currency=intent.currency,
        )
        try:
            return _standing(await self._asked(asked))
        except Problem as problem:
            match problem.code:
                case "effect_conflict":
                    return EffectConflict(intent.id)
                case "stale_fence":
                    return StaleFence(f"job:{intent.job_id}")
                case _:
                    raise

    async def initiate(self, start: Start) -> Begun:
        """Say that it begins now."""
        asked = self._effects.initiate(
            start.id,
            answer_within_seconds=start.answer_within_seconds,
            fences=[start.grant],
            operation_id=start.key,
        )
        try:
            return _standing(await self._asked(asked))
        except Problem as problem:
            match problem.code:
                case "already_initiated":
                    return AlreadyInitiated(start.id, str(problem.extras.get("execution", "")))
                case "transition_not_permitted":
                    return _off_graph(start.id, problem)
                case "stale_fence":
                    return StaleFence(start.grant.subject)
                case _:
                    raise

    async def outcome(self, report: Report) -> Said:
        """Say what came of it."""
        asked = self._effects.outcome(
            report.id,
            report.execution,
            no_effect=report.no_effect or None,
            venue_ref=report.venue_ref,
            evidence_ref=report.evidence_ref,
            evidence_id=report.evidence_id,
            if_revision=report.revision,
        )
        try:
            return _standing(await self._asked(asked))
        except Problem as problem:
            match problem.code:
                case "condition_false":
                    return RevisionConflict(None)
                case "transition_not_permitted":
                    return _off_graph(report.id, problem)
                case _:
                    raise

    async def look(self, id: str) -> Standing | Missing:
        """Read where it stands."""
        try:
            return _standing(await self._asked(self._effects.get(id)))
        except Problem as problem:
            if problem.code != "not_found":
                raise
            return Missing()


def _off_graph(id: str, problem: Problem) -> MoveNotPermitted:
    extras = problem.extras
    return MoveNotPermitted(id, str(extras.get("from", "")), str(extras.get("to", "")))


def _standing(found: Any) -> Standing:
    return Standing(
        found.revision, found.execution, found.initiations, found.no_effect, found.venue_ref, found.evidence_ref
    )
