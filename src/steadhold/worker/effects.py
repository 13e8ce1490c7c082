"""`ctx.effect`: an action outside that is written down, begun once, and never called again where nobody knows.

Planned, initiated, called, told. Whoever runs the job after a crash between the second and the last finds it begun,
says that nobody knows, and has somebody look instead of calling again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeAlias

from steadhold.worker.calling import call, call_in_thread, check
from steadhold.worker.effects_act import Act, Acted, EffectFailed, NoEffect, OutcomeUnknown
from steadhold.worker.effects_wanted import Wanted

__all__ = ["Acted", "Effect", "EffectFailed", "NoEffect", "OutcomeUnknown", "SyncEffect", "Wanted"]

Looks: TypeAlias = Callable[[OutcomeUnknown], Any]
"""The reconcile hook: asks outside, and answers `Acted`, raises `EffectFailed` or `NoEffect`, or answers None."""


Answers: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]
"""Lets the event loop act, and waits for its answer."""


class _Effect:
    """What both kinds of effects show."""

    def __init__(self, act: Act, reconcile: Looks | None, *, awaits: bool) -> None:
        self._act, self._hook, self._what = act, reconcile, f"effect {act.intent.kind!r}"
        if reconcile is not None:
            check(f"reconcile= of {self._what}", reconcile, awaits=awaits)

    @property
    def id(self) -> str:
        """Its identity: give it to the outside, to know the action again by."""
        return self._act.intent.id

    @property
    def execution(self) -> str:
        """Where it stands, as far as this run knows."""
        return self._act.standing.execution

    @property
    def venue_ref(self) -> str | None:
        """How the outside calls it, if somebody said so."""
        return self._act.standing.venue_ref


class Effect(_Effect):
    """`async with ctx.effect(…) as effect`: planned when the block begins."""

    def __init__(self, act: Act, reconcile: Looks | None) -> None:
        super().__init__(act, reconcile, awaits=True)

    async def __aenter__(self) -> Self:
        await self._act.plan()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is left to do: what was not called expires."""

    async def call(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Initiate it, run `fn(*args)`, and say what came of it. What `fn` gave is kept, and answered in a later run.

        `fn` returns JSON, or `Acted`; it raises `NoEffect` where it is sure that nothing happened, `EffectFailed` where
        it is sure that it failed. Any other error means that nobody knows. None is answered of an action of which
        somebody else said that it succeeded.

        Raises:
            OutcomeUnknown: unless `reconcile` finds out. EffectFailed, NoEffect. CancelRequested, LeaseLost.
            StageFault: `fn` is no function, or takes other arguments: then nothing is done. What it gave is no JSON.
        """
        check(self._what, fn, awaits=True)
        try:
            if kept := await self._act.begin():
                return kept.value
        except OutcomeUnknown as unknown:
            return await self._reconcile(unknown)
        try:
            result = await _value(call(self._what, fn, args))
        except Exception as error:  # noqa: BLE001 - whatever it is, the action was begun
            return await self._reconcile(await self._act.raised(error), error)
        return await self._act.acted(result)

    async def _reconcile(self, unknown: OutcomeUnknown, cause: BaseException | None = None) -> Any:
        """Have the hook find out."""
        if self._hook is None:
            raise unknown from cause
        try:
            found = await _value(call(f"reconcile= of {self._what}", self._hook, (unknown,)))
        except (NoEffect, EffectFailed) as error:
            await self._act.raised(error)
            raise
        if found is None:
            raise unknown from cause
        return await self._act.acted(found)


class SyncEffect(_Effect):
    """`with ctx.effect(…) as effect`, in a thread; `fn` and the hook run there, too."""

    def __init__(self, act: Act, reconcile: Looks | None, answer: Answers, learn: Answers) -> None:
        super().__init__(act, reconcile, awaits=False)
        self._answer, self._learn = answer, learn

    def __enter__(self) -> Self:
        self._answer(self._act.plan())
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do: what was not called expires."""

    def call(self, fn: Callable[..., Any], *args: Any) -> Any:
        """As `Effect.call`."""
        check(self._what, fn, awaits=False)
        try:
            if kept := self._answer(self._act.begin()):
                return kept.value
        except OutcomeUnknown as unknown:
            return self._reconcile(unknown)
        try:
            result = call_in_thread(self._what, fn, args)
        except Exception as error:  # noqa: BLE001 - whatever it is, the action was begun
            return self._reconcile(self._learn(self._act.raised(error)), error)
        return self._learn(self._act.acted(result))

    def _reconcile(self, unknown: OutcomeUnknown, cause: BaseException | None = None) -> Any:
        if self._hook is None:
            raise unknown from cause
        try:
            found = call_in_thread(f"reconcile= of {self._what}", self._hook, (unknown,))
        except (NoEffect, EffectFailed) as error:
            self._learn(self._act.raised(error))
            raise
        if found is None:
            raise unknown from cause
        return self._learn(self._act.acted(found))


async def _value(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found
