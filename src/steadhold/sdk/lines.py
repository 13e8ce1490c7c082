"""Bodies as they arrive and as they are sent, a piece at a time."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import httpx2

from steadhold.sdk.errors import BadAnswer
from steadhold.sdk.grammar import Got, Lost, More

_UNSENT: Final = (
    httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol,
)  # fmt: skip

BROKEN: Final = (httpx2.TransportError, BadAnswer)
"""What goes wrong with one try."""
_CUT: Final = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)
_NO_HTTP: Final = "illegal request line"
"""How an answer is called that does not even begin as text."""
_ALERT: Final = b"\x15\x03"
"""How an alert of TLS begins: who answers so could read nothing of what came."""


class Body:
    """The bytes of an answer as they arrive: no more than allowed, and within the time of one try."""

    def __init__(self, bytes_max: int, seconds: float) -> None:
        self.data, self._max, self._ends_at = bytearray(), bytes_max, time.monotonic() + seconds

    def add(self, chunk: bytes) -> None:
        """Take what has arrived.

        Raises:
            BadAnswer: it is too much. ReadTimeout: it came too slowly.
        """
        self.data += chunk
        if len(self.data) > self._max:
            raise BadAnswer(f"The answer has more than {self._max} bytes; ask for less, or raise answer_bytes_max.")
        if time.monotonic() > self._ends_at:
            raise httpx2.ReadTimeout("the answer came too slowly")


def lost(error: httpx2.TransportError | BadAnswer, url: str = "", *, known: bool = True) -> Lost:
    """What became of a request that was not answered; where it was sent to, if that is told.

    `known` says that http is right there: something has answered, or it is this machine.
    """
    if isinstance(error, BadAnswer):
        return Lost(str(error), sent=True, bad=error)
    why = f"{type(error).__name__}: {error}".rstrip(": ")
    why, plain = f"{why} ({url})" if url else why, url.startswith("http:")
    if plain and _alerted(error):
        return Lost(
            f"{why}. What answers there expects TLS, and took nothing: write https:// in the address.", sent=False
        )
    if plain and not known and isinstance(error, _CUT):
        why = f"{why}. Nothing has answered there yet: should the address begin with https://?"
    return Lost(why, sent=not isinstance(error, _UNSENT))


def _alerted(error: BaseException | None) -> bool:
    """Whether an alert of TLS came. No message tells the bytes: their reader, where the error began, still has them."""
    while error is not None and str(error) == _NO_HTTP:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            unread, _ = getattr(frame.f_locals.get("self"), "trailing_data", (b"", False))
            if unread:
                return unread.startswith(_ALERT)
        error = error.__context__
    return False


def got(response: httpx2.Response, data: bytes | bytearray = b"") -> Got:
    """An answer, with what is known of its body."""
    return Got(response.status_code, dict(response.headers), bytes(data))


def _silent(response: Any, seconds: float) -> None:
    """How long nothing may come from now on."""
    response.request.extensions["timeout"]["read"] = seconds


class Line:
    """The body of an answer that a stream reads as it comes; one at a time."""

    def __init__(self) -> None:
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def opened(self, response: httpx2.Response) -> Got:
        """Read from this answer from now on."""
        self.close()
        self._response, self._chunks = response, response.iter_raw()
        return got(response)

    def more(self, step: More) -> bytes | Lost | None:
        """What comes next."""
        if self._response is not None:
            _silent(self._response, step.silent_seconds)
        try:
            return next(self._chunks, None)
        except httpx2.TransportError as error:
            return lost(error)

    def close(self) -> None:
        """Read no more."""
        if self._response is not None:
            self._response.close()


class AsyncLine:
    """As `Line`, awaited."""

    def __init__(self) -> None:
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def opened(self, response: httpx2.Response) -> Got:
        """Read from this answer from now on."""
        await self.close()
        self._response, self._chunks = response, response.aiter_raw()
        return got(response)

    async def more(self, step: More) -> bytes | Lost | None:
        """What comes next."""
        if self._response is None or self._chunks is None:
            return None
        _silent(self._response, step.silent_seconds)
        try:
            return await anext(self._chunks, None)
        except httpx2.TransportError as error:
            return lost(error)

    async def close(self) -> None:
        """Read no more."""
        if self._response is not None:
            await self._response.aclose()


async def in_threads(source: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Read a source beside the event loop, which is not held up by a disk."""
    while piece := await asyncio.to_thread(next, source, b""):
        yield piece
