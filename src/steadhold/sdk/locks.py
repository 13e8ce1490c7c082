"""locks: held by one at a time, under a fence that only rises."""

from __future__ import annotations

import inspect
import os
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, overload

import msgspec

from steadhold.kit import fields, ids
from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import LockHeld, LockLost
from steadhold.sdk.grammar import Async, Give, Got, Mode, Pause, Room, Script, Send, Stream, Sync, Tell, flow, verb
from steadhold.sdk.locks_holding import AsyncHolding, Holding
from steadhold.sdk.locks_shapes import CLOCK, Grant, LockState, Renewed
from steadhold.sdk.words import UNSET, WAIT_SECONDS, Unset, an_id, at, change, made, pages, read

OnWait: TypeAlias = Callable[["str | None"], object]
"""Told who holds a lock that is waited for; None: nobody yet."""
_NO_ID: Final = re.compile(r"[^A-Za-z0-9._~:@-]")
QUIET_SECONDS: Final = 1.0
"""How long a lock is waited for before somebody is told who holds it."""
LOOK_SECONDS: Final = 5.0
"""How long it is waited for, where somebody is told, before it is seen whether another holds it."""
HURRY_SECONDS: Final = 0.5
"""An answer that came this much earlier than was asked for is not asked for again at once."""


class _Marked(msgspec.Struct):
    highest: int


class LocksRoom(Room[Mode]):
    """`client.locks`. What holds a lock answers for itself, so nothing here leaves a receipt."""

    @verb
    def acquire(
        self,
        name: str,
        *,
        owner: str | None = None,
        ttl: float = 30.0,
        wait_seconds: float = 0.0,
        on_wait: OnWait | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Grant]:
        """Take a lock for `ttl` seconds, waiting in line for it up to `wait_seconds` (30 at most, but with `on_wait`).

        Under an `operation_id` it is taken once: asked again, the same grant while it is held, `LockLost` afterwards.
        It is one `owner`'s: without, this process's. Who asks again from another one names it. `on_wait` is told who
        holds it, as by `hold`.

        Raises:
            LockHeld: somebody else has it. OperationMismatch: under this id another owner took it. LockLost,
            OutcomeUnknown. ValueError: `name` is no Id. TypeError: `on_wait` cannot be called, or is asynchronous and
            the client is not.
        """
        self._fit(on_wait=on_wait)
        if on_wait is not None and wait_seconds > QUIET_SECONDS:
            return (yield from waited(name, owner or somebody(), ttl, wait_seconds, on_wait, fences, operation_id))
        asked = CLOCK()
        got = yield _asked(name, owner or somebody(), ttl, wait_seconds, operation_id or ids.new_id(), fences)
        return _relied(got, asked, None if operation_id else asked)

    @verb
    def renew(
        self,
        name: str,
        fence: int,
        *,
        ttl: float = 30.0,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
    ) -> Script[Renewed]:
        """Hold a lock for `ttl` seconds from now.

        Raises:
            LockLost: it has ended, even if nobody took it since. OutcomeUnknown.
        """
        return (yield from renewed(name, fence, ttl, give_up_seconds, fences))

    @verb
    def release(
        self, name: str, fence: int, *, give_up_seconds: float | None = None, fences: Sequence[FenceRef] = ()
    ) -> Script[None]:
        """Give a lock back. Saying it again does nothing.

        Raises:
            LockLost: it had ended otherwise. OutcomeUnknown: or an answer was lost, and another has it since.
        """
        yield from released(name, fence, give_up_seconds, fences)

    @verb
    def get(self, name: str) -> Script[LockState]:
        """Read who holds a lock.

        Raises:
            NotFound: nobody ever did.
        """
        return read((yield Send("GET", at("locks", name))), LockState)

    @flow
    def list(self, prefix: str = "") -> Stream[LockState]:
        """Every lock whose name begins with `prefix`, in the order of names."""
        yield from pages(lambda cursor: at("locks", prefix=prefix or None, cursor=cursor), LockState)

    @flow
    def watch(self, name: str, *, since: int | None = None) -> Stream[LockState]:
        """What a lock is now, and then each time that it was taken or ended, for ever. It has to have been taken once.

        `since` is a revision that you have already. States that follow each other quickly may be passed over.
        """
        while True:
            headers = {} if since is None else {"if-none-match": fields.etag(since)}
            wait = None if since is None else WAIT_SECONDS
            got = yield Send("GET", at("locks", name, wait_seconds=wait), headers, wait_seconds=wait or 0.0)
            if got.status != 304:
                found = read(got, LockState)
                since = found.revision
                yield Give(found)

    @verb
    def mark(self, resource: str, fence: int, *, fences: Sequence[FenceRef] = ()) -> Script[int]:
        """Raise the highest fence that a resource has seen, and answer it.

        Raises:
            StaleFence: it has seen a higher one: whoever holds this fence was replaced.
        """
        got = yield change("POST", at("fences", resource), {"fence": fence}, fences=fences, identity="own")
        return read(got, _Marked).highest

    @overload
    def hold(
        self: LocksRoom[Sync],
        name: str,
        *,
        owner: str | None = ...,
        ttl: float = ...,
        wait_seconds: float | None = ...,
        on_lost: Callable[[], object] | None = ...,
        on_wait: OnWait | None = ...,
    ) -> Holding: ...
    @overload
    def hold(
        self: LocksRoom[Async],
        name: str,
        *,
        owner: str | None = ...,
        ttl: float = ...,
        wait_seconds: float | None = ...,
        on_lost: Callable[[], object] | None = ...,
        on_wait: OnWait | None = ...,
    ) -> AsyncHolding: ...
    def hold(
        self,
        name: str,
        *,
        owner: str | None = None,
        ttl: float = 30.0,
        wait_seconds: float | None = None,
        on_lost: Callable[[], object] | None = None,
        on_wait: OnWait | None = None,
    ) -> Any:
        """Hold a lock while a block runs: `with client.locks.hold("deploy") as lock`, or `async with`.

        It is waited for (None: for ever), renewed at a third of `ttl`, and released. `async with` raises `LockLost`
        inside the block as soon as the lock is lost. A thread cannot be interrupted: there `lock.ensure_held()` raises
        it, so does the end of the block, and `on_lost` is called, in another thread. `on_wait` is called with who holds
        it (None: nobody yet) where it is not had within a second, and again when that is somebody else, who is seen
        within five; an asynchronous client awaits it where it is asynchronous.

        Raises:
            LockHeld: the time to wait is over. LockLost, OutcomeUnknown, Unreachable. TypeError: `on_lost` or `on_wait`
            cannot be called, or `on_lost`, without asyncio `on_wait`, is asynchronous.
        """
        self._fit(on_wait=on_wait, on_lost=on_lost)
        holding = AsyncHolding if self._awaits else Holding
        take = waited(name, owner or somebody(), ttl, wait_seconds, on_wait)
        return holding(
            self.player, take, lambda fence, seconds: renewed(name, fence, ttl, seconds),
            lambda fence, seconds: released(name, fence, seconds), on_lost,
        )  # fmt: skip

    @property
    def _awaits(self) -> bool:
        return hasattr(self.player, "__aenter__")

    def _fit(self, on_wait: OnWait | None, on_lost: Callable[[], object] | None = None) -> None:
        """Refuse what could not be called, or would never be awaited, before anything is sent."""
        called: dict[str, object] = {"on_wait": on_wait, "on_lost": on_lost}
        for name, given in called.items():
            if given is not None and not callable(given):
                raise TypeError(f"{name} is called, which {given!r:.60} cannot be: give it a function.")
        if inspect.iscoroutinefunction(on_lost):
            raise TypeError("on_lost is asynchronous, and nothing waits for it: give it a plain function.")
        if inspect.iscoroutinefunction(on_wait) and not self._awaits:
            raise TypeError("on_wait is asynchronous, and this client is not: give it a plain function.")


def somebody() -> str:
    """A name for this process, as owner."""
    return f"{_NO_ID.sub('-', socket.gethostname())[:100]}:{os.getpid()}"


def waited(
    name: str,
    owner: str,
    ttl: float,
    wait_seconds: float | None,
    on_wait: OnWait | None = None,
    fences: Sequence[FenceRef] = (),
    operation_id: str | None = None,
) -> Script[Grant]:
    """Wait in line for a lock, request by request under one operation: so the place in line is kept."""
    first = CLOCK()
    key, ours = operation_id or ids.new_id(), None if operation_id else first
    told: str | Unset | None = UNSET
    most = QUIET_SECONDS if on_wait else WAIT_SECONDS
    while True:
        asked = CLOCK()
        left = WAIT_SECONDS if wait_seconds is None else first + wait_seconds - asked
        wait = max(0.0, min(left, most))
        try:
            return _relied((yield _asked(name, owner, ttl, wait, key, fences)), asked, ours)
        except LockHeld as held:
            if left <= 0:
                raise
            if on_wait is not None and held.holder != told and (wait_seconds is None or left > wait):
                told, most = held.holder, LOOK_SECONDS
                yield Tell(on_wait, told)
            if CLOCK() - asked < wait - HURRY_SECONDS:  # a server that stops answers at once
                yield Pause(HURRY_SECONDS)
        except LockLost:  # it was granted to a request of ours that broke, and given back: so it was never relied on
            if operation_id is not None:
                raise
            key, ours = ids.new_id(), CLOCK()


def _asked(name: str, owner: str, ttl: float, wait_seconds: float, key: str, fences: Sequence[FenceRef] = ()) -> Send:
    body: dict[str, Any] = {"owner": owner, "ttl_seconds": ttl}
    if wait_seconds > 0:
        body["wait_seconds"] = wait_seconds
    target = at("locks", an_id(name), "acquire")
    return change(
        "POST", target, body, fences=fences, operation_id=key, identity="own", wait_seconds=wait_seconds
    )  # fmt: skip


def _relied(got: Got, asked: float, ours: float | None) -> Grant:
    """The grant, and until when it may be relied on: sent + waited + ttl.

    A grant that is older than the request (`waited` below zero) was made for an earlier one; if its key is ours, none
    was sent before `ours`.
    """
    grant = read(got, Grant)
    began = asked + grant.waited_seconds
    if grant.waited_seconds < 0 and ours is not None:
        began = max(began, ours)
    return msgspec.structs.replace(grant, relied_until=began + grant.ttl_seconds)


def renewed(
    name: str, fence: int, ttl: float, give_up_seconds: float | None = None, fences: Sequence[FenceRef] = ()
) -> Script[Renewed]:
    """Renew a lock."""
    body = {"fence": fence, "ttl_seconds": ttl}
    target = at("locks", name, "renew")
    sent = change("POST", target, body, fences=fences, identity="own", give_up_seconds=give_up_seconds)
    return read((yield sent), Renewed)


def released(
    name: str, fence: int, give_up_seconds: float | None = None, fences: Sequence[FenceRef] = ()
) -> Script[None]:
    """Release a lock."""
    target = at("locks", name, "release")
    body = {"fence": fence}
    yield from made(
        change("POST", target, body, fences=fences, identity="own", give_up_seconds=give_up_seconds, led_to="lock_lost")
    )
