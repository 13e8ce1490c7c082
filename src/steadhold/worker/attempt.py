"""One run of a handler over one job: its stages, its waits, and what it was told. The contexts speak through it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, assert_never, cast

from steadhold.context import Unresolved
from steadhold.db.backoff import SPREAD
from steadhold.jobs.model import Wait
from steadhold.jobs.outcomes import CancelStands, CheckpointConflict, Checkpointed, NothingToAwait, Settled, StagesFull
from steadhold.jobs.settling import SettleOutcome
from steadhold.kit import exact, failpoints, ids
from steadhold.kit.exact import JsonValue
from steadhold.kit.limits import JOB_RESULT_BYTES_MAX, PROGRESS_BYTES_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.worker.door import Door, DoorShut, Stage
from steadhold.worker.held import CLOCK, Held, Leases
from steadhold.worker.settler import Settler
from steadhold.worker.verdicts import CancelRequested, LeaseLost, Permanent, StageFault, Suspended

T = TypeVar("T")
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 2.0
INSIST_SECONDS: Final = 60.0
"""How long a fact is said of a job that is not ours any more."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a stage came to, as it is stored."""

    value: Any


@dataclass(frozen=True, slots=True)
class Outside:
    """What an attempt acts through."""

    door: Door
    settler: Settler
    leases: Leases
    tell: Callable[..., None]
    failed: Callable[[str, Exception], None]
    lost: Callable[[Held], None]


class Attempt:
    """Stages are committed one by one, and each before anything after it begins."""

    def __init__(self, held: Held, outside: Outside) -> None:
        self.held, self.job = held, held.job
        self._outside = outside
        self._committed = {name for name, _ in held.job.stages}
        self._named: set[str] = set()

    def facts(self, stage: str) -> dict[str, str]:
        """What a span of a stage says."""
        return {"steadhold.job.id": self.job.id, "steadhold.stage": stage}

    async def kept(self, name: str, input_digest: bytes | None) -> Kept | None:
        """Begin a stage: what it came to before, or None where it is to be run.

        Raises:
            StageFault: the name is no id or was used before, or the stage was committed with another input.
            LeaseLost.
        """
        self.held.check()
        if fault := ids.id_fault(name):
            raise StageFault(f"The stage name {name!r} cannot be used: {fault}")
        if name in self._named:
            raise StageFault(f"Stage {name!r} was begun before in this run. Give each stage a name of its own.")
        self._named.add(name)
        if name not in self._committed:
            return None
        found = await self._persist(lambda: self._outside.door.stage(self.job.id, name))
        if isinstance(found, Missing):
            raise LeaseLost(f"Job {self.job.id} is gone.")
        if found.input_digest != input_digest:
            raise StageFault(
                f"Stage {name!r} was committed for another input. What decides about a stage must be the same in "
                "every run: take it from the job's input or from earlier stages, or give the stage another name."
            )
        self._outside.tell("stage.replayed", job_id=self.job.id, stage=name, fence=self.job.fence)
        return Kept(exact.decode(found.result or b"null"))

    async def commit(self, name: str, input_digest: bytes | None, result: object) -> Any:
        """Commit what a stage came to, and answer it as it is stored.

        Raises:
            StageFault: it is no JSON, too large, there are too many, or the stage is committed otherwise.
            LeaseLost.
        """
        stage = Stage(self.job.id, self.job.fence, name, encoded(f"stage {name!r}", result), input_digest)
        outcome = await self._persist(lambda: self._outside.door.checkpoint(stage))
        match outcome:
            case Checkpointed():
                self._committed.add(name)
                self._outside.tell("stage.committed", job_id=self.job.id, stage=name, fence=self.job.fence)
                failpoints.hit("between_checkpoints")
                return exact.decode(stage.result)
            case StaleFence():
                raise self.lose()
            case CheckpointConflict():
                raise StageFault(f"Stage {name!r} is committed already, with another result.")
            case StagesFull():
                raise StageFault("The job has as many stages as one may have: let one stage do more.")
            case RevisionConflict() | Unresolved():
                raise AssertionError("no revision was asked for, and no reference was given")
            case _:
                assert_never(outcome)

    async def wait(self, wait: Wait) -> Any:
        """Hand the job back until something holds; answer it if it does already, or did when this run began.

        Raises:
            Suspended: the job waits, and its handler will be run again from the beginning.
            CancelRequested, Permanent, StageFault, LeaseLost.
        """
        if kept := await self.kept(wait.stage, None):
            return kept.value
        answer: asyncio.Future[SettleOutcome | None] = asyncio.get_running_loop().create_future()
        self._outside.settler.say(self.held, wait, lambda held, outcome: _give(held, answer, outcome))
        outcome = await answer
        match outcome:
            case Settled(state="running", woke=woke):
                self._committed.add(wait.stage)
                return exact.decode(woke or b"null")
            case Settled():
                self.held.over = True
                self._outside.leases.drop(self.held)
                self._outside.tell("job.waiting", job_id=self.job.id, stage=wait.stage, fence=self.job.fence)
                raise Suspended
            case CancelStands():
                self.held.cancel_requested = True
                raise CancelRequested(f"Somebody asked to cancel job {self.job.id}.")
            case NothingToAwait(subject):
                raise Permanent("unknown_subject", f"There is no {subject} to wait for.")
            case StagesFull():
                raise StageFault("The job has as many stages as one may have.")
            case _:
                self.held.settling = False
                raise self.lose()

    def progress(self, value: object) -> None:
        """Tell readers how far it is, with the next heartbeat.

        Raises:
            StageFault: it is no JSON, or too large. LeaseLost.
        """
        self.held.check()
        try:
            progress = exact.encode(cast("JsonValue", value))
        except (TypeError, ValueError) as error:
            raise StageFault(f"What ctx.progress was given is no JSON: {error}.") from error
        if len(progress) > PROGRESS_BYTES_MAX:
            raise StageFault(f"progress has {len(progress)} bytes of JSON, and {PROGRESS_BYTES_MAX} at most are shown.")
        self.held.progress = progress
        self._outside.leases.poke(self.held)

    def check(self) -> None:
        """Raise LeaseLost or CancelRequested where there is reason to stop."""
        self.held.check()
        if self.held.cancel_requested:
            raise CancelRequested(f"Somebody asked to cancel job {self.job.id}.")

    async def ask(self, say: Callable[[Door], Awaitable[T]]) -> T:
        """Ask until it is answered, as long as the lease stands.

        Raises:
            LeaseLost.
        """
        return await self._persist(lambda: say(self._outside.door))

    async def insist(self, say: Callable[[Door], Awaitable[T]]) -> T:
        """Ask until it is answered, also when the job is another's: what is a fact is said by whoever knows it.

        Raises:
            LeaseLost: the job is another's, and nothing has answered for a while.
        """
        ends_at = CLOCK() + INSIST_SECONDS
        pause = PAUSE_SECONDS
        while True:
            try:
                return await say(self._outside.door)
            except DoorShut as error:
                self._outside.failed("effect", error)
            if CLOCK() >= ends_at:
                self.held.check()
            await asyncio.sleep(pause * SPREAD.uniform(0.5, 1.0))
            pause = min(pause * 2, PAUSE_SECONDS_MAX)

    def lose(self) -> LeaseLost:
        """Note that the job has another owner."""
        self._outside.lost(self.held)
        return LeaseLost(f"Job {self.job.id} has another owner than fence {self.job.fence}: stop working on it.")

    async def _persist(self, say: Callable[[], Any]) -> Any:
        """Say something until it is answered, as long as the lease stands."""
        pause = PAUSE_SECONDS
        while True:
            self.held.check()
            try:
                return await say()
            except DoorShut as error:
                self._outside.failed("stage", error)
            await asyncio.sleep(pause * SPREAD.uniform(0.5, 1.0))
            pause = min(pause * 2, PAUSE_SECONDS_MAX)


def _give(held: Held, answer: asyncio.Future[SettleOutcome | None], outcome: SettleOutcome | None) -> None:
    if _goes_on(outcome):
        held.settling = False
        if held.then is not None:
            held.then()
    if not answer.done():
        answer.set_result(outcome)


def _goes_on(outcome: SettleOutcome | None) -> bool:
    """Whether a job that was said to wait is still this handler's."""
    match outcome:
        case Settled(state="running") | CancelStands() | NothingToAwait() | StagesFull():
            return True
        case _:
            return False


def input_digest(args: Sequence[object]) -> bytes:
    """By which a replay knows that a stage is given the same again.

    Raises:
        StageFault: the arguments are no JSON.
    """
    try:
        return hashlib.sha256(exact.encode(cast("JsonValue", list(args)))).digest()
    except (TypeError, ValueError) as error:
        raise StageFault(
            f"A stage's arguments are no JSON: {error}. Bind what is none by functools.partial or a lambda; only "
            "arguments are compared when the stage is replayed."
        ) from error


def encoded(what: str, value: object) -> bytes:
    """Exact JSON of a value.

    Raises:
        StageFault: it is no JSON, or too large.
    """
    try:
        result = exact.encode(cast("JsonValue", value))
    except (TypeError, ValueError) as error:
        raise StageFault(f"The result of {what} is no JSON: {error}.") from error
    if len(result) > JOB_RESULT_BYTES_MAX:
        raise StageFault(
            f"The result of {what} has {len(result)} bytes, and {JOB_RESULT_BYTES_MAX} at most are kept. "
            "Store it elsewhere, and keep a reference to it."
        )
    return result
