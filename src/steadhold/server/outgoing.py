"""What goes out on a connection: in order, no faster than its client reads, and together with others' answers."""

from __future__ import annotations

import asyncio

from steadhold.kit import limits
from steadhold.web.exchange import WRITE_BYTES_MAX


class Outgoing:
    """The way out. `full` is there while the client reads too slowly, and set once it has read on."""

    __slots__ = ("_joins", "_loop", "_said", "_unread", "_unread_since", "full", "transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.transport, self._loop = transport, loop
        self._joins = isinstance(loop, asyncio.BaseEventLoop)
        self.full: asyncio.Event | None = None
        self._said = b""
        self._unread, self._unread_since = 0, loop.time()

    def say(self, whole: bytes) -> None:
        """Send a whole answer once this turn of the loop is over, with the answers of other connections.

        A commit answers many: sent one after the other, they wake a client once, and not each for itself.
        """
        if not self._said:
            self._loop.call_soon(self.send)
        self._said += whole
        if len(self._said) > WRITE_BYTES_MAX:
            self.send()

    def send(self) -> None:
        """Send what was said, unless nobody is there any more."""
        said, self._said = self._said, b""
        if said and not self.transport.is_closing():
            self.transport.write(said)

    def write(self, *pieces: bytes) -> None:
        """Send now, behind what was said, by one call, so that a client is woken once; uvloop sends pieces as they lie.

        asyncio's own transports are given one: with several, in many releases, they heed neither a client that reads
        too slowly nor one that left, and never end behind an empty piece (CPython's issues 127655, 136234, 155888).
        """
        self.send()
        if self._joins:
            self.transport.write(b"".join(pieces))
        else:
            self.transport.writelines(pieces)

    def end(self) -> None:
        """Say that no more comes, behind what was said."""
        self.send()
        self.transport.write_eof()

    def close(self) -> None:
        """Close, behind what was said."""
        self.send()
        self.transport.close()

    def hold(self) -> None:
        """Hold answers back: the client reads too slowly."""
        self.full = self.full or asyncio.Event()

    def go_on(self) -> None:
        """Let answers go on."""
        if self.full is not None:
            self.full.set()
            self.full = None

    def abort_if_unread(self, now: float) -> None:
        """Abort if for too long nothing was read of what was sent."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread < self._unread:
            self._unread_since = now
        elif now - self._unread_since > limits.ANSWER_SECONDS_MAX:
            self.transport.abort()
        self._unread = unread
