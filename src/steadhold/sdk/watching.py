"""Long waits: for what ends some day, as a job or an approval, and for each change of what a name holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from steadhold.kit import fields
from steadhold.sdk.errors import NotFound
from steadhold.sdk.grammar import Give, Got, Script, Send, Stream
from steadhold.sdk.words import WAIT_SECONDS, at, read

CLOCK: Final[Callable[[], float]] = time.monotonic


class Ending(Protocol):
    """What changes until it has ended."""

    @property
    def revision(self) -> int:
        """Another one after each change."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it never changes again."""
        ...


E = TypeVar("E", bound=Ending)
H = TypeVar("H")
A = TypeVar("A")


def until_ended(room: str, id: str, into: type[E], timeout_seconds: float | None, otherwise: str) -> Script[E]:
    """Wait until it has ended.

    Raises:
        TimeoutError: it has not within `timeout_seconds`; it says `otherwise`.
    """
    ends_at = None if timeout_seconds is None else CLOCK() + timeout_seconds
    found = yield from look(room, id, into, None, 0.0)
    while found is None or not found.ended:
        left = WAIT_SECONDS if ends_at is None else min(WAIT_SECONDS, ends_at - CLOCK())
        if left <= 0:
            raise TimeoutError(f"{otherwise} within {timeout_seconds} seconds.")
        found = (yield from look(room, id, into, found.revision if found else None, left)) or found
    return found


def each_change(room: str, id: str, into: type[E], since: int | None) -> Stream[E]:
    """How it is now, unless that is revision `since`, then after each change that is seen, until it has ended."""
    found = yield from look(room, id, into, None, 0.0)
    while True:
        if found is not None and found.revision != since:
            yield Give(found)
            since = found.revision
        if found is not None and found.ended:
            return
        found = yield from look(room, id, into, since, WAIT_SECONDS)


def each_content(
    room: str, name: str, since: int | None, shown: Callable[[str, Got], H], gone: Callable[[str, int | None], A]
) -> Stream[H | A]:
    """What a name holds now, unless `since` is given, and then each time that it changed since that revision."""
    found = (yield from _held(room, name, None, 0.0)) if since is None else None
    while True:
        if isinstance(found, NotFound):
            yield Give(gone(name, found.last_revision))
            since = None
        elif found is not None:
            yield Give(shown(name, found))
            since = found.revision
        after = yield from _held(room, name, since, WAIT_SECONDS)
        found = None if since is None and isinstance(after, NotFound) else after


def _held(room: str, name: str, since: int | None, wait_seconds: float) -> Script[Got | NotFound | None]:
    """What became of a name since a revision, or since it held nothing; None: nothing yet."""
    try:
        return (yield from _changed(since, wait_seconds, room, path=name))
    except NotFound as absent:
        return absent


def look(room: str, id: str, into: type[E], since: int | None, wait_seconds: float) -> Script[E | None]:
    """How it is; None: it has not changed since a revision, though it was waited for."""
    got = yield from _changed(since, wait_seconds, room, id)
    return None if got is None else read(got, into)


def _changed(since: int | None, wait_seconds: float, *segments: str, path: str | None = None) -> Script[Got | None]:
    target = at(*segments, path=path, wait_seconds=wait_seconds or None)
    known = {} if since is None else {"if-none-match": fields.etag(since)}
    got = yield Send("GET", target, known, wait_seconds=wait_seconds)
    return None if got.status == 304 else got
