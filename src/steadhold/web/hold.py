"""Long polls: play again until there is news, the time is up, the client or its key is gone, or the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from steadhold.kit.plan import Call
from steadhold.web.ask import Ask, Wait
from steadhold.web.body import Receive
from steadhold.web.hub import Hint, Hub, Key

T = TypeVar("T")

POLL_SECONDS: Final = 0.8
"""A change that gave no hint, another process's or a library's, is seen within this."""


class ClientGone(Exception):
    """There is nobody left to answer."""


class KeyGone(Exception):
    """The key that asks was revoked, or expired, while the answer was held back."""


async def hold(
    asked: Ask[T],
    wait: Wait[T],
    hub: Hub,
    *,
    play: Callable[[Call[T]], Awaitable[T]],
    receive: Receive,
    still_valid: Callable[[], Awaitable[bool]],
) -> T:
    """Answer with the first outcome that is ready, or with the last one when the wait is over."""
    keys = [(asked.call.workspace, *topic) for topic in (wait.topic, *wait.also)]
    try:
        outcome = await _ready(asked, wait, keys, hub, play=play, receive=receive, still_valid=still_valid)
    except (ClientGone, KeyGone):
        await _leave(wait, keys, hub, play)
        raise
    if not wait.ready(outcome):
        await _leave(wait, keys, hub, play)
    elif wait.alone:
        _touch(hub, keys)  # where one found something, the next may too
    return outcome


async def _leave(wait: Wait[Any], keys: list[Key], hub: Hub, play: Callable[[Call[Any]], Awaitable[Any]]) -> None:
    if wait.leave is not None:
        await play(wait.leave)
        _touch(hub, keys)  # it may have been the first of those who wait


def _touch(hub: Hub, keys: list[Key]) -> None:
    for key in keys:
        hub.touch(key)


async def _ready(
    asked: Ask[T],
    wait: Wait[T],
    keys: list[Key],
    hub: Hub,
    *,
    play: Callable[[Call[T]], Awaitable[T]],
    receive: Receive,
    still_valid: Callable[[], Awaitable[bool]],
) -> T:
    until = asyncio.get_running_loop().time() + wait.seconds
    with hub.waiting(keys, alone=wait.alone) as hint, watching(receive, hint):
        outcome = await play(asked.call)
        while not wait.ready(outcome) and (left := _left(hub, until)) > 0:
            await hint.wait(min(left, POLL_SECONDS))
            if hint.gone:
                raise ClientGone
            if not await still_valid():
                raise KeyGone
            outcome = await play(asked.call)
    return outcome


def _left(hub: Hub, until: float) -> float:
    return 0.0 if hub.stopping else until - asyncio.get_running_loop().time()


@contextmanager
def watching(receive: Receive, hint: Hint) -> Iterator[None]:
    """Tell a waiter when its client leaves. The body must have been read."""

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        hint.leave()

    task = asyncio.ensure_future(until_gone())
    try:
        yield
    finally:
        task.cancel()


async def is_gone(receive: Receive) -> bool:
    """Whether the client has left already. The body must have been read."""
    hint = Hint(alone=False)
    with watching(receive, hint):
        await asyncio.sleep(0)
        return hint.gone
