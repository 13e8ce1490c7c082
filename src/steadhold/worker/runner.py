"""Runs handlers: from a claimed job to what is to be said of it."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steadhold.jobs.model import Said
from steadhold.kit import exact, failpoints
from steadhold.worker import tracing
from steadhold.worker.attempt import Attempt, Outside
from steadhold.worker.context import Context, SyncContext
from steadhold.worker.held import CLOCK, Held
from steadhold.worker.log import LOG
from steadhold.worker.threads import Threads
from steadhold.worker.verdicts import CancelRequested, LeaseLost, Permanent, RateLimited, Suspended, judge, leaves

EXPECTED: Final = (LeaseLost, CancelRequested, Permanent, RateLimited)


@dataclass(frozen=True, slots=True)
class Handler:
    """What runs jobs of one type. `concurrency` are places of its own; None: it shares the worker's."""

    type: str
    fn: Callable[..., Any]
    concurrency: int | None
    raw: bool

    @property
    def asynchronous(self) -> bool:
        """Whether it is awaited; otherwise it runs in a thread."""
        called = getattr(type(self.fn), "__call__", self.fn)  # noqa: B004 - an object may be called asynchronously
        return inspect.iscoroutinefunction(self.fn) or inspect.iscoroutinefunction(called)


class Runner:
    """Calls handlers and judges how they end."""

    def __init__(self, handlers: Mapping[str, Handler], outside: Outside) -> None:
        self._outside = outside
        self._threads = Threads()
        self._calls = {type: self._caller(handler) for type, handler in handlers.items()}
        self.stoppable = {type for type, handler in handlers.items() if handler.asynchronous}

    async def run(self, held: Held) -> Said | None:
        """Run a job's handler. None where nothing is to be said: the job waits, or is not ours any more."""
        with tracing.running(held) as told:
            said = await self._run(held)
            told(said)
        return said

    async def _run(self, held: Held) -> Said | None:
        result: object
        began = CLOCK()
        try:
            if failpoints.armed:
                failpoints.hit("claimed_before_handler")
            result = await self._calls[held.job.type](Attempt(held, self._outside))
        except asyncio.CancelledError as error:
            if held.stopped is None and _cancelled_by_others():
                raise
            result = error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is judged
            result = error
        held.ran_seconds = CLOCK() - began
        if held.lost or held.over:
            return None
        if held.stopped is not None and isinstance(result, BaseException):
            return held.stopped.said
        if isinstance(result, BaseException):
            _log(held, result)
        if failpoints.armed:
            failpoints.hit("handler_done_before_report")
        return judge(held.job, result)

    def close(self) -> None:
        """Let idle threads end."""
        self._threads.close()

    def _caller(self, handler: Handler) -> Callable[[Attempt], Any]:
        read = _raw if handler.raw else _value
        if handler.asynchronous:
            return lambda attempt: handler.fn(Context(attempt), read(attempt))

        async def in_thread(attempt: Attempt) -> Any:
            ctx = SyncContext(attempt, asyncio.get_running_loop())
            here = contextvars.copy_context()  # its span is current in the thread too
            return await self._threads.run(functools.partial(here.run, handler.fn, ctx, read(attempt)))

        return in_thread


def _raw(attempt: Attempt) -> bytes | None:
    return attempt.job.input


def _value(attempt: Attempt) -> Any:
    if attempt.job.input is None or attempt.job.input == b"null":
        return None
    try:
        return exact.decode(attempt.job.input)
    except ValueError as error:
        raise Permanent("bad_input", f"The input holds {error}; register the handler with raw=True.") from error


def _cancelled_by_others() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _log(held: Held, error: BaseException) -> None:
    if not all(isinstance(each, (*EXPECTED, Suspended)) for each in leaves(error)):
        LOG.error("Job %s of type %s failed.", held.job.id, held.job.type, exc_info=error)
