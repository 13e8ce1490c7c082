"""What a parent and a child say to each other: one message a line, over a socket that nobody else has."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final, TypeAlias

import msgspec

from steadhold.server.processes.sums import Counts
from steadhold.server.settings import Settings

LINE_BYTES_MAX: Final = 64 * 1024 * 1024


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """To a child, first of all: what to run with. Secrets are in it, so it stands in no command line."""

    settings: Settings


class Tell(msgspec.Struct, frozen=True, tag="tell"):
    """To a child: say what you counted."""


class Summed(msgspec.Struct, frozen=True, tag="summed"):
    """To a child that asked: what all processes counted."""

    counts: Counts


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Of a child: requests are answered, at this address."""

    url: str


class Told(msgspec.Struct, frozen=True, tag="told"):
    """Of a child: what it counted."""

    counts: Counts


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """Of a child that is asked for metrics: what it counted, and let it have what all did."""

    counts: Counts


Message: TypeAlias = Begin | Tell | Summed | Ready | Told | Asked

_DECODER: Final = msgspec.json.Decoder(Message)
_ENCODER: Final = msgspec.json.Encoder()


class Channel:
    """One end of the socket between a parent and a child."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, message: Message) -> None:
        """Send a message; one who has ended hears nothing."""
        if not self._writer.is_closing():
            self._writer.write(_ENCODER.encode(message) + b"\n")

    async def said(self) -> None:
        """Wait until what was said has left; raises ConnectionError when there is nobody."""
        await self._writer.drain()

    async def hear(self) -> Message | None:
        """The next message; None when the other has ended."""
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):
            return None
        return _DECODER.decode(line) if line.endswith(b"\n") else None

    async def close(self) -> None:
        """Hear and say no more."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
