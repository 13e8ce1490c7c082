"""One attempt: an HTTP request to an address that was judged, within a total time, of which little is kept."""

from __future__ import annotations

import asyncio
import functools
import math
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from steadhold.webhooks import guard, health
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.model import AttemptState, Result, Sending

TOTAL_SECONDS: Final = 15.0
"""From the look-up of the name to the end of what is read of the answer."""

BODY_BYTES_MAX: Final = 16 * 1024
HEAD_CHARS_MAX: Final = 4 * 1024
CHECKED_SECONDS_MAX: Final = 1.0
"""How long a look at lease and endpoint is good for, on this machine's steady clock."""

LOOKUPS_MAX: Final = 256
"""Names that one process looks up at once; each endpoint asks for one at a time."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Still = Callable[[], Awaitable[bool]]


class Refused(OSError):
    """The address is not one that may be dialled."""


class Stale(Exception):
    """The lease is lost, or the endpoint disabled or moved: nothing was sent."""


_LOOKING: Final = ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="webhook names")


async def resolve(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, as this machine looks them up: that may take long, in threads nobody else needs."""
    look = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_LOOKING, look)
    return [str(address[0]) for *_, address in found]


class _Vetting(AbstractResolver):
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
class _Course:
    """How far an attempt came: before it has a connection, nothing can have arrived."""

    still: Still
    looked_at: float | None = None
    connected: bool = False
    address: str | None = None

    async def look(self) -> None:
        """Look at lease and endpoint, unless that was just done. Raises Stale."""
        now = asyncio.get_running_loop().time
        if self.looked_at is not None and now() - self.looked_at <= CHECKED_SECONDS_MAX:
            return
        asked_at = now()
        if not await self.still():
            raise Stale("the lease is lost, or the endpoint disabled or moved")
        self.looked_at = asked_at


_COURSE: Final[ContextVar[_Course]] = ContextVar("course")


class _Connector(aiohttp.TCPConnector):
    """Looks once more when a connection is there, for that may have taken long: only then is anything written to it."""

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        """A connection to an address that was judged. Raises Stale, Refused."""
        connection = await super().connect(req, traces, timeout)
        course = _COURSE.get()
        try:
            await course.look()
        except BaseException:
            connection.close()
            raise
        peer = connection.transport.get_extra_info("peername") if connection.transport is not None else None
        course.connected, course.address = True, str(peer[0]) if peer else None
        return connection


@dataclass(slots=True)
class Sender:
    """Sends to one endpoint, over connections of its own. It knows the rules, and how names are looked up."""

    url: str
    rules: Sequence[Allowed]
    concurrency: int
    resolve: Resolve = resolve
    total_seconds: float = TOTAL_SECONDS
    trust: ssl.SSLContext | None = None
    _session: aiohttp.ClientSession | None = field(default=None, init=False)
    _exactly: URL = field(init=False)

    async def __aenter__(self) -> Self:
        place = guard.place(self.url)
        assert isinstance(place, guard.Place), "an endpoint has a URL that leads somewhere"
        self._exactly = URL(self.url, encoded=True)  # as it was given, not as the library would write it
        connector = _Connector(
            resolver=_Vetting(self.resolve, place.scheme, self.rules),
            use_dns_cache=False,
            limit=self.concurrency,
            ssl=self.trust or True,
            socket_factory=self._dialling(place),
            keepalive_timeout=10.0,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=BODY_BYTES_MAX,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def _dialling(self, place: guard.Place) -> Callable[[Any], socket.socket]:
        """Judge the address once more that is dialled indeed, a literal one too."""

        def dial(info: tuple[Any, ...]) -> socket.socket:
            family, kind, proto, _, (address, port, *_rest) = info
            if guard.refused(place.scheme, port, [str(address)], self.rules):
                raise Refused("the address may not be dialled")
            made = socket.socket(family, kind, proto)
            made.setblocking(False)
            return made

        return dial

    async def send(self, sending: Sending, headers: Mapping[str, str], still: Still, until: float = math.inf) -> Result:
        """Make an attempt, and say honestly what is known of it. It raises nothing but being cancelled.

        `still` tells whether it may be made: it is asked just before a connection is opened or used. `until`: nothing
        of it goes on after that moment of the loop's clock, however long it waited to begin.
        """
        course = _Course(still)
        _COURSE.set(course)
        told: dict[str, Any]
        try:
            told = await self._sent(sending, headers, course, until)
        except TimeoutError:
            state: AttemptState = "unknown" if course.connected else "refused"
            told = {"state": state, "why": f"nothing came within its time, at most {self.total_seconds:g} seconds"}
        except Exception as error:  # noqa: BLE001 - whatever happens is written down as it is, and nothing is lost by it
            stale = isinstance(error, Stale)
            told = {"state": "unknown" if course.connected else "refused", "why": _why(error), "made": not stale}
        shown = "".join(f"{name}: {value}\n" for name, value in headers.items() if name.startswith(SHOWN))
        return Result(sending.delivery, sending.n, address=course.address, request=_text(shown), **told)

    async def _sent(
        self, sending: Sending, headers: Mapping[str, str], course: _Course, until: float
    ) -> dict[str, Any]:
        assert self._session is not None, "a sender is entered before it sends"
        until = min(until, asyncio.get_running_loop().time() + self.total_seconds)
        async with asyncio.timeout_at(until):
            await course.look()
            answer = await self._session.post(self._exactly, data=sending.body, headers=headers, allow_redirects=False)
        well = 200 <= answer.status < 300
        return {
            "state": "delivered" if well else "refused",
            "why": None if well else f"answered {answer.status}",
            "status": answer.status,
            "response": _head(answer),
            "response_body": await _some(answer, until),
            "wait_seconds": health.retry_after(answer.headers.get("Retry-After"))
            if answer.status in {429, 503}
            else None,
        }


WAITS: Final = frozenset({429, 503})
SHOWN: Final = ("webhook-", "x-steadhold-")
"""Fields that an attempt shows: an endpoint's own may be secret."""


def _head(answer: aiohttp.ClientResponse) -> str:
    return _text("".join([f"{answer.status}\n", *(f"{name}: {value}\n" for name, value in answer.headers.items())]))


def _text(told: str) -> str:
    """What a text column holds: no NUL, no half characters, and not much."""
    return told[:HEAD_CHARS_MAX].replace("\x00", "").encode("utf-8", "replace").decode()


async def _some(answer: aiohttp.ClientResponse, until: float) -> bytes:
    """The beginning of an answer's body. The status has been told already, so a cut or a drip changes nothing."""
    kept = bytearray()
    try:
        async with asyncio.timeout_at(until):
            async for chunk in answer.content.iter_any():
                kept += chunk
                if len(kept) >= BODY_BYTES_MAX:
                    break
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass  # what came is kept
    finally:
        answer.close()
    return bytes(kept[:BODY_BYTES_MAX])


def _why(error: BaseException) -> str:
    """What went wrong, with what lies behind it where the library hides that; nothing of what the receiver said."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{type(error).__name__}: the answer is not HTTP, or its head is longer than is read"
    cause = error.__cause__
    behind = f" ({cause})" if isinstance(cause, OSError) and cause.args else ""
    return _text(f"{type(error).__name__}: {error}{behind}")[:500]
