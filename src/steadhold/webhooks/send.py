"""One attempt: an HTTP request to an address that was judged, within a total time, of which little is kept."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from yarl import URL

from steadhold.kit import failpoints
from steadhold.webhooks import guard, health
from steadhold.webhooks.connecting import COURSE, Connector, Course, Refused, Resolve, Stale, Still, Vetting, resolve
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.model import AttemptState, Result, Sending

TOTAL_SECONDS: Final = 15.0
"""From the look-up of the name to the end of what is read of the answer."""

BODY_BYTES_MAX: Final = 16 * 1024
HEAD_CHARS_MAX: Final = 4 * 1024


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

    async def __aenter__(self) -> Self:
        place = guard.place(self.url)
        assert isinstance(place, guard.Place), "an endpoint has a URL that leads somewhere"
        connector = Connector(
            resolver=Vetting(self.resolve, place.scheme, self.rules),
            use_dns_cache=False,
            limit=self.concurrency,
            ssl=self.trust or True,
            socket_factory=self._dialling(place),
            keepalive_timeout=10.0,
        ).hearing()
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
        course = Course(still)
        COURSE.set(course)
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

    async def _sent(self, sending: Sending, headers: Mapping[str, str], course: Course, until: float) -> dict[str, Any]:
        assert self._session is not None, "a sender is entered before it sends"
        until = min(until, asyncio.get_running_loop().time() + self.total_seconds)
        async with asyncio.timeout_at(until):
            await course.look()
            failpoints.hit("webhooks.looked")
            exactly = URL(self.url, encoded=True)  # as it was given, not as the library would write it
            answer = await self._session.post(exactly, data=sending.body, headers=headers, allow_redirects=False)
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
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return f"{type(error).__name__}: the connection ended before an answer"
    cause = error.__cause__
    behind = f" ({cause})" if isinstance(cause, OSError) and cause.args else ""
    return _text(f"{type(error).__name__}: {error}{behind}")[:500]
