"""A worker: handlers by job type, and a process that runs them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from steadhold import AsyncClient
from steadhold.kit import ids
from steadhold.kit.limits import CLAIM_TYPES_MAX, ID_CHARS_MAX, LEASE_SECONDS_MAX, LEASE_SECONDS_MIN
from steadhold.worker.calling import misfit
from steadhold.worker.claiming import Terms
from steadhold.worker.place import Place
from steadhold.worker.runner import Handler
from steadhold.worker.shift import Plan, Shift

H = TypeVar("H", bound=Callable[..., Any])

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
PREFETCH: Final = 1000


class Worker:
    """Handlers by job type, and what runs them: over HTTP, or directly on PostgreSQL with the same handlers."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        workspace: str | None = None,
        dsn: str | None = None,
        prepared_statements: int | None = None,
        client: AsyncClient | None = None,
        name: str | None = None,
        concurrency: int = 100,
        prefetch: int = PREFETCH,
        lease_seconds: float | None = None,
        versions: Sequence[str] = (),
        drain_seconds: float = 20.0,
        poll_seconds_max: float = 0.9,
        on: Callable[..., None] | None = None,
    ) -> None:
        """Remember where jobs come from; `run` or `serve` connects.

        Over HTTP: `url` and `api_key`, or STEADHOLD_URL and STEADHOLD_API_KEY, or as `client` is set up (it stays
        the caller's: the worker has connections of its own). On PostgreSQL: `dsn` and `workspace`; of prepared
        statements each connection keeps `prepared_statements`, or STEADHOLD_PREPARED_STATEMENTS, or 1000, and 0 is
        for poolers that lose them. `concurrency` handlers run at once; up to `prefetch` quick jobs are claimed
        ahead. `lease_seconds` may only shorten the leases of the types. `versions`: the versions of types whose jobs
        this code can run. `drain_seconds`: how long running jobs may end when the worker is told to stop.
        `on(name, **facts)` is told what happens, from any thread.

        Raises:
            ValueError: something is out of bounds, or two places were given.
        """
        _bounds(concurrency, prefetch, lease_seconds, drain_seconds, poll_seconds_max)
        self.handlers: dict[str, Handler] = {}
        self.on = on
        self._place = Place(url, api_key, workspace, dsn, client, prepared_statements)
        self._concurrency, self._prefetch, self._drain_seconds = concurrency, prefetch, drain_seconds
        self._terms = Terms(_named(name), tuple(versions), lease_seconds, poll_seconds_max)
        self._shift: Shift | None = None
        self._stops = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What jobs show as their worker. It owns nothing: only fences do."""
        return self._terms.worker

    def use(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        workspace: str | None = None,
        dsn: str | None = None,
        prepared_statements: int | None = None,
        name: str | None = None,
        concurrency: int | None = None,
    ) -> None:
        """Say anew where jobs come from, or how many run at once, before the worker starts. None leaves it as it is.

        Raises:
            ValueError: as when the worker was made.
        """
        if url or api_key or dsn or workspace or prepared_statements is not None:
            old = self._place
            kept = None if url else old.prepared_statements
            self._place = Place(
                url or (None if dsn else old.url), api_key or (None if dsn else old.api_key),
                workspace or old.workspace, dsn or (None if url else old.dsn), None if url or dsn else old.client,
                kept if prepared_statements is None else prepared_statements,
            )  # fmt: skip
        if concurrency is not None:
            _bounds(concurrency, self._prefetch, self._terms.lease_seconds, self._drain_seconds, 1)
            self._concurrency = concurrency
        if name is not None:
            self._terms = replace(self._terms, worker=_named(name))

    def job(self, type: str, *, concurrency: int | None = None, raw: bool = False) -> Callable[[H], H]:
        """Name what runs jobs of a type: `async def f(ctx, input)`, or `def f(ctx, input)`, run in a thread.

        `concurrency` gives the type places of its own, beside the worker's. `raw` hands the input over as its
        exact bytes; otherwise integers come as int and fractions as Decimal.

        Raises:
            ValueError: the type is no id, has a handler already, or `concurrency` is no positive number; or the handler
                takes other arguments.
        """
        if fault := ids.id_fault(type):
            raise ValueError(f"The job type {type!r} cannot be used: {fault}")
        if type in self.handlers:
            raise ValueError(f"Jobs of type {type!r} have a handler already: {self.handlers[type].fn!r}.")
        if len(self.handlers) >= CLAIM_TYPES_MAX:
            raise ValueError(f"A worker runs at most {CLAIM_TYPES_MAX} types of jobs.")
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"concurrency is the number of jobs at once, at least 1. It was {concurrency}.")

        def keep(fn: H) -> H:
            if fault := misfit(fn, (None, None)):
                raise ValueError(f"The handler of {type!r} is called with a context and the input: {fault}.")
            self.handlers[type] = Handler(type, fn, concurrency, raw)
            return fn

        return keep

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then drain; a second signal hands everything back at once.

        Raises:
            ValueError: there are no handlers. What a door says that cannot be opened at all.
        """
        gc.set_threshold(20_000, 20, 50)  # a look at everything stops all handlers; what they make is freed by counting
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self.serve())

    async def serve(self) -> None:
        """As `run`, in the caller's event loop. In the main thread it minds the signals while it lasts."""
        if not self.handlers:
            raise ValueError('This worker has no handlers: name some with @worker.job("type").')
        plan = Plan(self.handlers, self._concurrency, self._prefetch, self._terms, self._drain_seconds, self.on)
        shift = Shift(plan, self._place.doors())
        with self._lock:
            if self._shift is not None:
                raise RuntimeError("This worker is at work already. Make another, or one process for each.")
            self._shift = shift
            early, self._stops = self._stops, 0
        for _ in range(early):
            shift.stop()
        try:
            with _minding_signals(shift):
                await shift.work()
        finally:
            with self._lock:
                self._shift = None

    def stop(self) -> None:
        """As one SIGTERM, from any thread. Said before `serve`, it counts there."""
        with self._lock:
            if self._shift is None:
                self._stops += 1
            else:
                self._shift.stop()


def _named(name: str | None) -> str:
    """The name that was given, or this host and process."""
    if name is None:
        host = "".join(c if ids.is_id(c) else "-" for c in socket.gethostname())
        return f"{host}-{os.getpid()}"[-ID_CHARS_MAX:]
    if fault := ids.id_fault(name):
        raise ValueError(f"The name {name!r} cannot be used: {fault}")
    return name


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop, where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


@contextlib.contextmanager
def _minding_signals(shift: Shift) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, shift.stop)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


def _bounds(
    concurrency: int, prefetch: int, lease_seconds: float | None, drain_seconds: float, poll_seconds_max: float
) -> None:
    if concurrency < 1:
        raise ValueError(f"concurrency is the number of jobs at once, at least 1. It was {concurrency}.")
    if prefetch < 0:
        raise ValueError(f"prefetch is a number of jobs, at least 0. It was {prefetch}.")
    if lease_seconds is not None and not LEASE_SECONDS_MIN <= lease_seconds <= LEASE_SECONDS_MAX:
        raise ValueError(f"lease_seconds is {LEASE_SECONDS_MIN} to {LEASE_SECONDS_MAX}. It was {lease_seconds}.")
    if drain_seconds < 0:
        raise ValueError(f"drain_seconds is at least 0. It was {drain_seconds}.")
    if not 0.05 <= poll_seconds_max <= 60:
        raise ValueError(f"poll_seconds_max is 0.05 to 60 seconds. It was {poll_seconds_max}.")
