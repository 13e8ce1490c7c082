"""Server-Sent Events (WHATWG HTML, section 9.2), as bytes arrive in whatever pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from steadhold.sdk.errors import BadAnswer

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of one event that is still arriving."""


@dataclass(slots=True)
class Told:
    """One event of a stream: `id` is where to go on behind it."""

    kind: str = ""
    id: str | None = None
    lines: list[bytes] = field(default_factory=list[bytes])

    @property
    def data(self) -> bytes:
        """Its lines together."""
        return b"\n".join(self.lines)


class Reader:
    """Reads the events of one connection. What has not come whole when that ends is nothing."""

    def __init__(self) -> None:
        self._rest, self._now = bytearray(), Told()
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Told]:
        """The events that are whole by now.

        Raises:
            BadAnswer: one is larger than any can be.
        """
        self._rest += piece
        self._size += len(piece)
        if self._size > EVENT_BYTES_MAX:
            raise BadAnswer(f"An event of the stream has more than {EVENT_BYTES_MAX} bytes.")
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in lines:
            if line:
                self._take(bytes(line))
                continue
            told, self._now, self._size = self._now, Told(), len(rest)
            if told.lines:
                yield told

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._now.lines.append(value)
        elif name == b"id":
            self._now.id = value.decode()
        elif name == b"event":
            self._now.kind = value.decode()
