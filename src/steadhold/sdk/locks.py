"""locks: held by one at a time, under a fence that only rises."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from typing import Any, Final, overload

import msgspec

from steadhold.kit import fields, ids
from steadhold.sdk.errors import LockHeld, LockLost
from steadhold.sdk.grammar import Async, Give, Got, Mode, Pause, Room, Script, Send, Stream, Sync, flow, verb
from steadhold.sdk.locks_holding import AsyncHolding, Holding
from steadhold.sdk.locks_shapes import CLOCK, Grant, LockState, Renewed
from steadhold.sdk.words import WAIT_SECONDS, an_id, at, change, pages, read

_NO_ID: Final = re.compile(r"[^A-Za-z0-9._~:@-]")
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
        operation_id: str | None = None,
    ) -> Script[Grant]:
        """Take a lock for `ttl` seconds, waiting in line for it up to `wait_seconds` (at most 30).

        Under an `operation_id` it is taken once: asked again, the same grant while it is held, `LockLost` afterwards.

        Raises:
            LockHeld: somebody else has it. LockLost, OutcomeUnknown. ValueError: `name` is no Id.
        """
        asked = CLOCK()
        got = yield _asked(name, owner or somebody(), ttl, wait_seconds, operation_id or ids.new_id())
        return _relied(got, asked, None if operation_id else asked)

    @verb
    def renew(
        self, name: str, fence: int, *, ttl: float = 30.0, give_up_seconds: float | None = None
    ) -> Script[Renewed]:
        """Hold a lock for `ttl` seconds from now.

        Raises:
            LockLost: it has ended, even if nobody took it since. OutcomeUnknown.
        """
        return (yield from renewed(name, fence, ttl, give_up_seconds))

    @verb
    def release(self, name: str, fence: int, *, give_up_seconds: float | None = None) -> Script[None]:
        """Give a lock back. Saying it again does nothing.

        Raises:
            LockLost: it had ended otherwise. OutcomeUnknown.
        """
        yield from released(name, fence, give_up_seconds)

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
    def mark(self, resource: str, fence: int) -> Script[int]:
        """Raise the highest fence that a resource has seen, and answer it.

        Raises:
            StaleFence: it has seen a higher one: whoever holds this fence was replaced.
        """
        got = yield change("POST", at("fences", resource), {"fence": fence}, identity="own")
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
    ) -> AsyncHolding: ...
    def hold(
        self,
        name: str,
        *,
        owner: str | None = None,
        ttl: float = 30.0,
        wait_seconds: float | None = None,
        on_lost: Callable[[], object] | None = None,
    ) -> Any:
        """Hold a lock while a block runs: `with client.locks.hold("deploy") as lock`, or `async with`.

        It is waited for (None: for ever), renewed at a third of `ttl`, and released. `async with` raises `LockLost`
        inside the block as soon as the lock is lost. A thread cannot be interrupted: there `lock.ensure_held()` raises
        it, so does the end of the block, and `on_lost` is called, in another thread.

        Raises:
            LockHeld: the time to wait is over. LockLost, OutcomeUnknown, Unreachable.
        """
        holding = AsyncHolding if hasattr(self.player, "__aenter__") else Holding
        take = waited(name, owner or somebody(), ttl, wait_seconds)
        return holding(
            self.player, take, lambda fence, seconds: renewed(name, fence, ttl, seconds),
            lambda fence, seconds: released(name, fence, seconds), on_lost,
        )  # fmt: skip


def somebody() -> str:
    """A name for this process, as owner."""
    return f"{_NO_ID.sub('-', socket.gethostname())[:100]}:{os.getpid()}"


def waited(name: str, owner: str, ttl: float, wait_seconds: float | None) -> Script[Grant]:
    """Wait in line for a lock, request by request under one operation: so the place in line is kept."""
    first = CLOCK()
    key, ours = ids.new_id(), first
    while True:
        asked = CLOCK()
        left = WAIT_SECONDS if wait_seconds is None else first + wait_seconds - asked
        wait = max(0.0, min(left, WAIT_SECONDS))
        try:
            return _relied((yield _asked(name, owner, ttl, wait, key)), asked, ours)
        except LockHeld:
            if left <= 0:
                raise
            if CLOCK() - asked < wait - HURRY_SECONDS:  # a server that stops answers at once
                yield Pause(HURRY_SECONDS)
        except LockLost:  # it was granted to a request of ours that broke, and given back: so it was never relied on
            key, ours = ids.new_id(), CLOCK()


def _asked(name: str, owner: str, ttl: float, wait_seconds: float, key: str) -> Send:
    body: dict[str, Any] = {"owner": owner, "ttl_seconds": ttl}
    if wait_seconds > 0:
        body["wait_seconds"] = wait_seconds
    target = at("locks", an_id(name), "acquire")
    return change("POST", target, body, operation_id=key, identity="own", wait_seconds=wait_seconds)


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


def renewed(name: str, fence: int, ttl: float, give_up_seconds: float | None = None) -> Script[Renewed]:
    """Renew a lock."""
    body = {"fence": fence, "ttl_seconds": ttl}
    target = at("locks", name, "renew")
    return read((yield change("POST", target, body, identity="own", give_up_seconds=give_up_seconds)), Renewed)


def released(name: str, fence: int, give_up_seconds: float | None = None) -> Script[None]:
    """Release a lock."""
    target = at("locks", name, "release")
    yield change("POST", target, {"fence": fence}, identity="own", give_up_seconds=give_up_seconds)
