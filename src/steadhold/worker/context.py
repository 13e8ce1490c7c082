"""What a handler is given beside its input: the verbs of its job, to be awaited or, in a thread, called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as Late
from datetime import datetime
from typing import Any, TypeVar, TypeVarTuple, overload

from steadhold.effects.model import ANSWER_WITHIN_SECONDS, EXPIRES_IN_SECONDS
from steadhold.jobs.outcomes import Claimed
from steadhold.kit.fields import FenceRef
from steadhold.telemetry.spans import doing
from steadhold.worker.attempt import INSIST_SECONDS, Attempt, input_digest
from steadhold.worker.calling import call, call_in_thread, check
from steadhold.worker.effects import Effect, Looks, SyncEffect
from steadhold.worker.effects_act import Act
from steadhold.worker.effects_wanted import Wanted
from steadhold.worker.held import CLOCK
from steadhold.worker.waits import awaiting, behind, sleeping

Ts = TypeVarTuple("Ts")
T = TypeVar("T")


class _Context:
    """What both contexts have."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    @property
    def job(self) -> Claimed:
        """The job as it was claimed: `id`, `type`, `attempt`, `root_job_id`, `input_digest`, `stages`, …"""
        return self._attempt.job

    @property
    def fence(self) -> int:
        """The number of this ownership. It only rises: give it to whatever outside can refuse a smaller one."""
        return self._attempt.job.fence

    @property
    def grant(self) -> FenceRef:
        """What a write to steadhold names in `fences`, so that it is refused once the job is another's."""
        return FenceRef(f"job:{self._attempt.job.id}", self._attempt.job.fence)

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel the job. Learned with each heartbeat."""
        return self._attempt.held.cancel_requested

    def progress(self, value: object) -> None:
        """Tell readers how far it is: JSON of at most 4 KiB. It goes with the next heartbeat, at once if possible.

        Raises:
            LeaseLost. StageFault: it is no JSON, or too large.
        """
        self._attempt.progress(value)

    def check(self) -> None:
        """Raise LeaseLost or CancelRequested where there is reason to stop; for long loops between stages."""
        self._attempt.check()


class Context(_Context):
    """For asynchronous handlers."""

    @overload
    async def stage(self, name: str, fn: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T: ...
    @overload
    async def stage(self, name: str, fn: Callable[[*Ts], T], *args: *Ts) -> T: ...
    async def stage(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Run `fn(*args)` once and commit its result; in a later run the committed result is answered instead.

        The result is JSON, and is answered as it is stored: tuples as lists, fractions as Decimal. When this
        returns it is committed. If the process dies while `fn` runs, `fn` will be run again.

        Raises:
            StageFault: `fn` is no function, or takes other arguments; they or the result are no JSON, the name was
                used before, or the stage was committed for another input. LeaseLost: stop.
        """
        check(f"stage {name!r}", fn, awaits=True)
        digest = input_digest(args)
        if kept := await self._attempt.kept(name, digest):
            return kept.value
        with doing(f"stage {name}", self._attempt.facts(name)):
            result = call(f"stage {name!r}", fn, args)
            if inspect.isawaitable(result):
                result = await result
            return await self._attempt.commit(name, digest, result)

    def effect(
        self,
        name: str,
        *,
        key: str,
        request: object,
        target: str | None = None,
        amount: str | None = None,
        currency: str | None = None,
        repeatable: bool = False,
        expires_in_seconds: float = EXPIRES_IN_SECONDS,
        answer_within_seconds: float = ANSWER_WITHIN_SECONDS,
        reconcile: Looks | None = None,
    ) -> Effect:
        """An action outside: `async with ctx.effect("charge", key=…, request=…) as effect`, then `effect.call(…)`.

        It is called once for each name and key of a job, its retries included. `request` is JSON, the same in every
        run. `repeatable` promises that the outside does nothing twice under one `effect.id`: then it is called again.
        A crash while it is called leaves `OutcomeUnknown`, which `reconcile` is given first.

        Raises:
            StageFault: it is no action that can be planned.
        """
        wanted = Wanted(
            name, key, request, target, amount, currency, repeatable, expires_in_seconds, answer_within_seconds
        )
        return Effect(Act(self._attempt, wanted), reconcile)

    async def sleep(self, stage: str, seconds: float) -> None:
        """Hand the job back for `seconds`, without lease or place. The handler is run again when they have passed.

        Raises:
            CancelRequested. StageFault, LeaseLost.
        """
        await self._attempt.wait(sleeping(stage, seconds))

    async def wait_for(
        self,
        stage: str,
        *,
        signal: str | None = None,
        job: str | None = None,
        approval: str | None = None,
        effect: str | None = None,
        inbox: str | None = None,
        after: tuple[str, int] | None = None,
        match: Mapping[str, str] | None = None,
        until: datetime | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """Hand the job back until somebody signals it by this name, another job ended, an approval has its outcome, an
        effect is not open any more, or an inbox has an event behind `after`, an epoch and a number; with `match` one
        that says so of its "type", "aggregate_id" and "correlation_id". Bounded by an instant or by seconds from now,
        which an approval does not need. The handler is run again; then this answers what happened.

        Returns:
            {"why": "happened", …} with `data` of the signal, or `state` and `result_ref` or `error_code` of the
            job, or `state` of the approval: "approved", "rejected", "expired", "withdrawn"; of the effect:
            "succeeded", "failed", "abandoned"; or of the inbox "event"
            with `epoch`, `sequence`, `event_id` and `type`, else "gap", "restored" or "deleted"; {"why": "timed_out"}.

        Raises:
            CancelRequested. Permanent "unknown_subject": there is no such subject. StageFault, LeaseLost.
        """
        news = behind(inbox, after, match)
        return await self._attempt.wait(awaiting(stage, signal, job, approval, until, timeout_seconds, news, effect))


class SyncContext(_Context):
    """For handlers in threads. They cannot be stopped: each call here raises LeaseLost once the lease is lost."""

    def __init__(self, attempt: Attempt, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(attempt)
        self._loop = loop

    def stage(self, name: str, fn: Callable[[*Ts], T], *args: *Ts) -> T:
        """As `Context.stage`; `fn` runs in the handler's thread."""
        check(f"stage {name!r}", fn, awaits=False)
        digest = input_digest(args)
        kept = self._answer(self._attempt.kept(name, digest))
        if kept is not None:
            return kept.value
        with doing(f"stage {name}", self._attempt.facts(name)):
            result = call_in_thread(f"stage {name!r}", fn, args)
            return self._answer(self._attempt.commit(name, digest, result))

    def effect(
        self,
        name: str,
        *,
        key: str,
        request: object,
        target: str | None = None,
        amount: str | None = None,
        currency: str | None = None,
        repeatable: bool = False,
        expires_in_seconds: float = EXPIRES_IN_SECONDS,
        answer_within_seconds: float = ANSWER_WITHIN_SECONDS,
        reconcile: Looks | None = None,
    ) -> SyncEffect:
        """As `Context.effect`, with `with`, and without await."""
        wanted = Wanted(
            name, key, request, target, amount, currency, repeatable, expires_in_seconds, answer_within_seconds
        )
        return SyncEffect(Act(self._attempt, wanted), reconcile, self._answer, self._learn)

    def sleep(self, stage: str, seconds: float) -> None:
        """As `Context.sleep`."""
        self._answer(self._attempt.wait(sleeping(stage, seconds)))

    def wait_for(
        self,
        stage: str,
        *,
        signal: str | None = None,
        job: str | None = None,
        approval: str | None = None,
        effect: str | None = None,
        inbox: str | None = None,
        after: tuple[str, int] | None = None,
        match: Mapping[str, str] | None = None,
        until: datetime | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        """As `Context.wait_for`."""
        news = behind(inbox, after, match)
        return self._answer(
            self._attempt.wait(awaiting(stage, signal, job, approval, until, timeout_seconds, news, effect))
        )

    def _learn(self, told: Coroutine[Any, Any, T]) -> T:
        """Let the event loop tell a fact, also when the lease does not stand any more."""
        return asyncio.run_coroutine_threadsafe(told, self._loop).result(2 * INSIST_SECONDS)

    def _answer(self, asked: Coroutine[Any, Any, T]) -> T:
        """Let the event loop act, and wait for its answer; not longer than the lease stands."""
        answer = asyncio.run_coroutine_threadsafe(asked, self._loop)
        held = self._attempt.held
        while True:
            try:
                return answer.result(max(0.01, held.deadline - CLOCK()))
            except Late:
                if answer.done():
                    raise
                if not held.ours():
                    answer.cancel()
                    held.check()
