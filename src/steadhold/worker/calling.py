"""Calls what a handler hands over. What cannot be called so is the handler's bug, and no trouble that passes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from steadhold.worker.verdicts import StageFault


class NeverRan(StageFault):
    """It could not be called as it was given: nothing of it has run."""


def check(what: str, fn: object, *, awaits: bool) -> None:
    """See that something can be called, and by this kind of handler: one that `awaits`, or one in a thread.

    Raises:
        StageFault: it cannot.
    """
    if inspect.iscoroutine(fn):
        fn.close()
        raise StageFault(f"{what} takes a function and its arguments: (fn, 7) in place of (fn(7)).")
    if not callable(fn):
        raise StageFault(f"{what} takes a function, and its arguments behind it; {fn!r} is none.")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise StageFault(f"{what} takes a function that returns; {_name(fn)} yields.")
    if inspect.iscoroutinefunction(fn) and not awaits:
        raise StageFault(f"{what} takes a plain function here: for {_name(fn)} make the handler `async def`.")


def call(what: str, fn: Callable[..., Any], args: Sequence[object]) -> Any:
    """What `fn(*args)` answers.

    Raises:
        NeverRan: it takes other arguments. Whatever it raises.
    """
    try:
        return fn(*args)
    except TypeError as error:
        # A TypeError out of the function may come of what the outside sent; this one is of the call itself.
        here = error.__traceback__ is None or error.__traceback__.tb_next is None
        if here and (fault := misfit(fn, args)):
            raise NeverRan(f"{what} cannot be called with {len(args)} arguments: {fault}.") from error
        raise


def call_in_thread(what: str, fn: Callable[..., Any], args: Sequence[object]) -> Any:
    """The same where nothing can be awaited.

    Raises:
        StageFault: it answers what has to be awaited.
    """
    result = call(what, fn, args)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise StageFault(f"{what}: what {_name(fn)} answers has to be awaited: make the handler `async def`.")
    return result


def misfit(fn: object, args: Sequence[object]) -> str | None:
    """Why `fn(*args)` cannot be, as far as `fn` says what it takes; None where it can."""
    if not callable(fn):
        return f"{fn!r} is no function"
    try:
        takes = inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):  # not every builtin says what it takes
        return None
    try:
        takes.bind(*args)
    except TypeError as error:
        return f"{_name(fn)} takes {takes} ({error})"
    return None


def _name(fn: object) -> str:
    return getattr(fn, "__qualname__", None) or repr(fn)
