"""One action of one run, step by step: planned, begun, kept, told. Both kinds of handlers go through it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from steadhold.effects.model import text_fault
from steadhold.effects.outcomes import AlreadyInitiated, EffectConflict, MoveNotPermitted
from steadhold.kit import failpoints, ids
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import TEXT_CHARS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.worker.attempt import Attempt, Kept
from steadhold.worker.calling import NeverRan
from steadhold.worker.effects_door import EffectsDoor, Report, Standing, Start
from steadhold.worker.effects_wanted import Wanted, intended
from steadhold.worker.verdicts import CancelRequested, LeaseLost, Permanent, StageFault

T = TypeVar("T")


class OutcomeUnknown(Exception):
    """The action was begun, and nobody knows what came of it. It is not called again.

    `effect_id` is what the outside knows it by. Ask there, and answer `Acted`; or let somebody look.
    """

    def __init__(self, effect_id: str) -> None:
        super().__init__(f"Effect {effect_id} was begun, and nobody knows what came of it.")
        self.effect_id = effect_id


class EffectFailed(Permanent):
    """The action failed, or was given up, and is not begun again. Raise it in what you call where that is sure."""

    def __init__(self, message: str = "", code: str = "effect_failed") -> None:
        super().__init__(code, message)


class NoEffect(Exception):
    """The action failed, and it is sure that nothing happened outside: a later run begins it again."""


@dataclass(frozen=True, slots=True)
class Acted:
    """It succeeded: what it gave, and how the outside calls it. Anything else that a call returns is a `value`.

    References are texts as effects keep them. One that is none is not kept, and is said to be a bug of the handler.
    """

    value: Any = None
    venue_ref: str | None = None
    evidence_ref: str | None = None


class Act:
    """One action of one run: what both kinds of handlers do with it, step by step."""

    def __init__(self, attempt: Attempt, wanted: Wanted) -> None:
        self._attempt, self._wanted = attempt, wanted
        self.intent = intended(attempt.job, wanted)
        self._digest = bytes.fromhex(self.intent.request_digest.partition(":")[2])
        self._stage = f"effect:{self.intent.id}"
        self._key = ids.new_id()
        self.standing = Standing(0, "planned")

    async def plan(self) -> None:
        """Write it down, or find where it stands.

        Raises:
            StageFault: it was planned otherwise. LeaseLost.
        """
        outcome = await self._ask(lambda door: door.plan(self.intent, self._attempt.job.fence))
        match outcome:
            case Standing():
                self.standing = outcome
            case EffectConflict():
                raise StageFault(
                    f"Effect {self._wanted.name!r} of key {self._wanted.key!r} was planned with another request. What "
                    "decides about it must be the same in every run; give another action another key."
                )
            case StaleFence():
                raise self._attempt.lose()

    async def begin(self) -> Kept | None:
        """Begin it. None: act now. Else what it came to, of which no more than that may be known.

        Raises:
            OutcomeUnknown: somebody has to look. EffectFailed. CancelRequested, LeaseLost, StageFault.
        """
        self._attempt.check()
        if kept := await self._attempt.kept(self._stage, self._digest):
            found = Acted(**kept.value)
            if self.standing.execution in ("initiated", "unknown"):
                await self._tell(found)
            return Kept(found.value)
        while True:
            if self.standing.execution == "initiated":
                await self._doubt()
            match self.standing.execution:
                case "succeeded":
                    return Kept(None)
                case "unknown" if not self._wanted.repeatable:
                    raise OutcomeUnknown(self.intent.id)
                case "abandoned":
                    raise self._given_up()
                case "failed" if not self.standing.no_effect:
                    raise EffectFailed(f"Effect {self.intent.id} failed.")
                case _:
                    if await self._initiate():
                        return None

    async def _initiate(self) -> bool:
        """Whether it is ours to act. Where it is and the job is not any more, nothing is done, and that is said."""
        grant = FenceRef(f"job:{self._attempt.job.id}", self._attempt.job.fence)
        start = Start(self.intent.id, grant, self._wanted.answer_within_seconds, self._key)
        outcome = await self._ask(lambda door: door.initiate(start))
        match outcome:
            case Standing():
                self.standing = outcome
            case StaleFence():
                raise self._attempt.lose()
            case MoveNotPermitted():
                raise self._given_up()
            case AlreadyInitiated(execution="failed"):
                raise OutcomeUnknown(self.intent.id)
            case AlreadyInitiated():
                self._key = ids.new_id()
                await self._look()
                return False
        if not self._attempt.held.ours():
            await self._fail(no_effect=True)
            self._attempt.held.check()
        failpoints.hit("effect_initiated")
        return True

    def _given_up(self) -> EffectFailed:
        return EffectFailed(f"Effect {self.intent.id} was given up before it was begun.", "effect_abandoned")

    async def acted(self, result: object) -> Any:
        """Keep what it gave, and say that it succeeded, whether or not the job is still ours.

        Raises:
            StageFault: what it gave is no JSON. LeaseLost.
        """
        failpoints.hit("effect_called")
        told = result if isinstance(result, Acted) else Acted(result)
        found = Acted(told.value, _reference(told.venue_ref), _reference(told.evidence_ref))
        try:
            if found != told:
                raise StageFault(
                    f"A reference that the call of effect {self._wanted.name!r} gave is no text of 1 to "
                    f"{TEXT_CHARS_MAX} characters without NUL."
                )
            kept = {"value": found.value, "venue_ref": found.venue_ref, "evidence_ref": found.evidence_ref}
            return (await self._attempt.commit(self._stage, self._digest, kept))["value"]
        finally:
            failpoints.hit("effect_kept")
            await self._tell(found)

    async def raised(self, error: BaseException) -> OutcomeUnknown:
        """Say what an error means: nothing happened, it failed for sure, or nobody knows.

        Raises:
            NoEffect, NeverRan, EffectFailed: as they came. LeaseLost, CancelRequested: likewise, and nobody knows.
        """
        match error:
            case NoEffect() | NeverRan():
                await self._fail(no_effect=True)
                raise error
            case EffectFailed():
                await self._fail(no_effect=False)
                raise error
            case _:
                await self._doubt()
                if isinstance(error, LeaseLost | CancelRequested):
                    raise error
                return OutcomeUnknown(self.intent.id)

    async def _doubt(self) -> None:
        """Say that nobody knows, unless somebody said something meanwhile."""
        while self.standing.execution == "initiated":
            report = Report(self.intent.id, "unknown", revision=self.standing.revision)
            said = await self._say(report)
            if isinstance(said, Standing):
                self.standing = said
            else:
                await self._look()

    async def _tell(self, found: Acted) -> None:
        """Say that it succeeded."""
        report = Report(
            self.intent.id, "succeeded", venue_ref=found.venue_ref, evidence_ref=found.evidence_ref,
            evidence_id=ids.new_id(),
        )  # fmt: skip
        said = await self._say(report)
        assert isinstance(said, Standing), "it was begun, and nothing else was asked"
        self.standing = said

    async def _fail(self, *, no_effect: bool) -> None:
        """Say that it failed, unless it was begun again since: what comes of that is not known here."""
        mine, evidence_id = self.standing.initiations, ids.new_id()
        while self.standing.initiations == mine:
            revision = self.standing.revision
            report = Report(self.intent.id, "failed", no_effect, evidence_id=evidence_id, revision=revision)
            said = await self._say(report)
            if isinstance(said, Standing):
                self.standing = said
                return
            await self._look()

    async def _say(self, report: Report) -> Standing | RevisionConflict | MoveNotPermitted:
        return await self._attempt.insist(lambda door: door.effects.outcome(report))

    async def _look(self) -> None:
        found = await self._attempt.insist(lambda door: door.effects.look(self.intent.id))
        assert not isinstance(found, Missing), "nobody is able to delete an effect"
        self.standing = found

    async def _ask(self, say: Callable[[EffectsDoor], Awaitable[T]]) -> T:
        return await self._attempt.ask(lambda door: say(door.effects))


def _reference(given: str | None) -> str | None:
    """What is kept of a reference: anything else would be refused for ever, and what came of the action with it."""
    return given if isinstance(given, str) and text_fault(given) is None else None
