"""Holding a lock while a block runs. When its time is over by this machine's own clock it is lost, network or not."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias

from steadhold.sdk.errors import LockLost, SteadholdError
from steadhold.sdk.grammar import Script
from steadhold.sdk.locks_shapes import CLOCK, Grant, Lock

RENEWALS: Final = 3
"""A lock is renewed when this part of its time is over; so two renewals may fail before it is lost."""

PAUSE_SECONDS_MIN: Final = 0.05
TRY_SECONDS_MAX: Final = 10.0
"""For how long one renewal, or the release, is tried at most: so long the end of a block may have to wait for it."""

SAID_LOST: Final = "the server says that it has ended"
OVER: Final = "its time is over, and no renewal came through"

OfFence: TypeAlias = Callable[[int, float], Script[Any]]
"""What makes a script for a fence, that is tried for so many seconds."""


class Client(Protocol):
    """What plays scripts, and has a twin with connections of its own."""

    def play(self, script: Script[Any]) -> Any: ...
    def twin(self, timeout: float | None = None) -> Self: ...
    def close(self) -> Any: ...


class _Base:
    """What both kinds of holding know."""

    def __init__(
        self, client: Any, take: Script[Grant], renew: OfFence, release: OfFence, on_lost: Callable[[], object] | None
    ) -> None:
        self._client: Client = client
        self._take, self._renew, self._release, self._on_lost = take, renew, release, on_lost
        self._lock: Lock | None = None
        self._losing = threading.Lock()

    @property
    def lock(self) -> Lock:
        """The lock that is held."""
        if self._lock is None:
            raise RuntimeError("Nothing is held yet: enter the block first.")
        return self._lock

    def _next(self, renewed_at: float) -> float:
        """How long to wait before the lock is renewed."""
        return max(PAUSE_SECONDS_MIN, renewed_at + self.lock.ttl_seconds / RENEWALS - CLOCK())

    def _try_seconds(self) -> float:
        """For how long one request about it is tried."""
        return min(self.lock.ttl_seconds / RENEWALS, self.lock.remaining_seconds, TRY_SECONDS_MAX)

    def _let_go(self) -> Script[Any]:
        """Hold it no longer; what tells the server so. If that fails, it ends by itself."""
        seconds = self._try_seconds()
        self.lock.ended = "it was released"
        return self._release(self.lock.fence, seconds)

    def _lose(self, why: str) -> None:
        """Say that the lock is lost, once."""
        with self._losing:
            first, self.lock.ended = not self.lock.ended, self.lock.ended or why
        if first and self._on_lost is not None:
            self._on_lost()


class Holding(_Base):
    """`with client.locks.hold(name) as lock`. A thread of its own renews; nothing interrupts the block."""

    def __enter__(self) -> Lock:
        """Take the lock, and keep it."""
        self._lock = Lock(self._client.play(self._take))
        self._done = threading.Event()
        self._threads = [self._begun(self._keep), *([self._begun(self._watch)] if self._on_lost else [])]
        return self._lock

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Release the lock; a block that ended well although it was lost raises `LockLost`."""
        self._done.set()
        for thread in self._threads:
            thread.join()
        lost = not self.lock.held
        if not lost:
            with contextlib.suppress(SteadholdError):
                self._client.play(self._let_go())
        elif kind is None:
            raise self.lock.lost()

    def _begun(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"steadhold lock {self.lock.name}", daemon=True)
        thread.start()
        return thread

    def _watch(self) -> None:
        """Tell of the loss when the time is over, also while a renewal hangs."""
        while self.lock.held:
            if self._done.wait(self.lock.remaining_seconds):
                return
        self._lose(OVER)

    def _keep(self) -> None:
        """Renew while the lock is held; what is lost once is lost, whatever a late answer says."""
        client = self._client.twin(timeout=max(1.0, self._try_seconds()))
        renewed_at = CLOCK()
        try:
            while not self._done.wait(min(self._next(renewed_at), self.lock.remaining_seconds)) and self.lock.held:
                asked = CLOCK()
                try:
                    client.play(self._renew(self.lock.fence, self._try_seconds()))
                except LockLost:
                    self._lose(SAID_LOST)
                except SteadholdError:
                    continue
                if self.lock.held:
                    renewed_at, self.lock.relied_until = asked, asked + self.lock.ttl_seconds
        finally:
            client.close()


class AsyncHolding(_Base):
    """`async with client.locks.hold(name) as lock`. The block is interrupted by `LockLost` when the lock is lost."""

    async def __aenter__(self) -> Lock:
        """Take the lock, and keep it."""
        self._lock = Lock(await self._client.play(self._take))
        self._limit = asyncio.timeout_at(self._when())
        await self._limit.__aenter__()
        self._keeper = asyncio.ensure_future(self._keep())
        return self._lock

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Release the lock, or tell that it was lost."""
        self._keeper.cancel()
        try:
            await self._limit.__aexit__(kind, error, at)
        except TimeoutError:
            self._lose(OVER)
            raise self.lock.lost() from None
        await asyncio.gather(self._keeper, return_exceptions=True)
        if self.lock.held:
            with contextlib.suppress(SteadholdError):
                await self._client.play(self._let_go())
        elif kind is None:
            raise self.lock.lost()

    def _when(self) -> float:
        """The moment on the event loop's clock at which the lock is lost."""
        return asyncio.get_running_loop().time() + self.lock.remaining_seconds

    async def _keep(self) -> None:
        """Renew while the lock is held; what is lost once is lost, whatever a late answer says."""
        renewed_at, why = CLOCK(), OVER
        while self.lock.held:
            await asyncio.sleep(min(self._next(renewed_at), self.lock.remaining_seconds))
            asked, seconds = CLOCK(), self._try_seconds()
            try:
                async with asyncio.timeout(seconds):
                    await self._client.play(self._renew(self.lock.fence, seconds))
            except LockLost:
                why = SAID_LOST
                break
            except (SteadholdError, TimeoutError):
                continue
            if self.lock.held:
                renewed_at, self.lock.relied_until = asked, asked + self.lock.ttl_seconds
                self._limit.reschedule(self._when())
        if not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())
        self._lose(why)
