"""Connections to receivers: to addresses that were judged, and hearing no more than was asked for."""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from steadhold.webhooks import guard
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.lookups import Lookups

HEARD_BYTES_MAX: Final = 64 * 1024
"""Of one answer, of which less is kept. More would be work for the process: small answers to nobody cost it most."""

CHECKED_SECONDS_MAX: Final = 1.0
"""How long a look at lease and endpoint is good for, on this machine's steady clock."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Still = Callable[[], Awaitable[bool]]


class Refused(OSError):
    """The address is not one that may be dialled."""


class Stale(Exception):
    """The lease is lost, or the endpoint disabled or moved, or nobody could tell: nothing was sent."""


resolve: Final[Resolve] = Lookups().resolve
"""All addresses of a name, as this machine looks them up."""


class Vetting(AbstractResolver):
    """Looks a name up for each connection, and refuses it where any of its addresses may not be dialled.

    Connections that are made together share a look-up: a name that is slow to find holds one thread, not many.
    """

    def __init__(self, resolve: Resolve, scheme: str, rules: Sequence[Allowed]) -> None:
        self._resolve, self._scheme, self._rules = resolve, scheme, rules
        self._looking: dict[tuple[str, int], asyncio.Task[Sequence[str]]] = {}

    async def _found(self, host: str, port: int) -> Sequence[str]:
        at = (host, port)
        looking = self._looking.get(at)
        if looking is None:
            looking = self._looking[at] = asyncio.create_task(self._look(at))
        return await asyncio.shield(looking)

    async def _look(self, at: tuple[str, int]) -> Sequence[str]:
        try:
            return await self._resolve(*at)
        finally:
            del self._looking[at]

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:  # noqa: ARG002 - all families are judged
        """Answer the addresses of a name, all of them judged. Raises Refused."""
        found = await self._found(host, port)
        if guard.refused(self._scheme, port, found, self._rules):
            raise Refused(f"{host} has no address, or one that may not be dialled")
        return [_resolved(host, address, port) for address in found]

    async def close(self) -> None:
        """Wait for no look-up any more."""
        for looking in list(self._looking.values()):
            looking.cancel()


def _resolved(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST
    )  # fmt: skip


@dataclass(slots=True)
class Course:
    """How far an attempt came: before it has a connection, nothing can have arrived."""

    still: Still
    looked_at: float | None = None
    connected: bool = False
    address: str | None = None

    async def look(self) -> None:
        """Look at lease and endpoint, unless that was just done. Raises Stale, also where nobody could tell."""
        now = asyncio.get_running_loop().time
        if self.looked_at is not None and now() - self.looked_at <= CHECKED_SECONDS_MAX:
            return
        asked_at = now()
        try:
            may = await self.still()
        except Exception as error:
            raise Stale("the database could not be asked whether it may be made") from error
        if not may:
            raise Stale("the lease is lost, or the endpoint disabled or moved")
        self.looked_at = asked_at


COURSE: Final[ContextVar[Course]] = ContextVar("course")


class _Hearing(ResponseHandler):
    """Hears an answer that was asked for, up to a size; what comes unasked ends the connection.

    Else a receiver could talk on while its connection waits to be used again, or have the next answer ready.
    """

    _asked = False
    _heard = 0

    def listen(self, *, asked: bool) -> None:
        """Hear an answer from now on, or nothing."""
        self._asked, self._heard = asked, 0

    def data_received(self, data: bytes) -> None:
        """Hear some bytes."""
        room = max(0, HEARD_BYTES_MAX - self._heard)
        self._heard += len(data)
        unasked = bool(data) and not self._asked
        if not unasked and (room or not data):
            super().data_received(data[:room])
        if self.transport is None:
            return
        if unasked:
            self.transport.abort()
        elif self.full:
            self.transport.pause_reading()

    @property
    def full(self) -> bool:
        """Whether there was more than is heard."""
        return self._heard > HEARD_BYTES_MAX


class Connector(aiohttp.TCPConnector):
    """Looks once more when a connection is there, for that may have taken long: only then is anything written to it."""

    def hearing(self) -> Self:
        """Make connections that hear no more than they are to."""
        self._factory = functools.partial(_Hearing, loop=self._loop)
        return self

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        if isinstance(protocol, _Hearing):
            should_close |= protocol.full
            protocol.listen(asked=False)
        super()._release(key, protocol, should_close=should_close)

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        """A connection to an address that was judged. Raises Stale, Refused."""
        connection = await super().connect(req, traces, timeout)
        course = COURSE.get()
        try:
            await course.look()
        except BaseException:
            connection.close()
            raise
        peer = connection.transport.get_extra_info("peername") if connection.transport is not None else None
        course.connected, course.address = True, str(peer[0]) if peer else None
        if isinstance(connection.protocol, _Hearing):
            connection.protocol.listen(asked=True)
        return connection
