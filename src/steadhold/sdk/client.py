"""The two clients: they play scripts, one blocking and one with asyncio. Only this file and `lines` know a socket."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar

import httpx2

from steadhold.sdk.address import Address, address
from steadhold.sdk.grammar import Async, Give, Got, Lost, Mode, More, Pause, Script, Send, Step, Stream, Sync, Tell
from steadhold.sdk.lines import BROKEN, AsyncLine, Body, Line, got, in_threads, lost
from steadhold.sdk.retry import Patience, persist
from steadhold.sdk.rooms import Rooms
from steadhold.sdk.words import an_id
from steadhold.telemetry import caused

T = TypeVar("T")

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""An answer's body, unless a client is made with another limit."""

_LIMITS: Final = httpx2.Limits(max_connections=200, max_keepalive_connections=100, keepalive_expiry=30.0)


class _Base(Rooms[Mode]):
    """What both clients have: an address, and how a request looks on the wire."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 15.0,
        give_up_seconds: float = 60.0,
        workspace: str | None = None,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        patience: Patience | None = None,
        transport: Any = None,
    ) -> None:
        """Remember where the server is; the first request connects.

        `url` and `api_key` come from STEADHOLD_URL and STEADHOLD_API_KEY otherwise. `timeout` seconds are for one
        try, `give_up_seconds` for all tries of one request. `workspace` is for operators' keys, which have none of
        their own. `patience` and `transport` are for tests.

        Raises:
            ValueError: there is no key, no such address, no such workspace, or a time out of bounds.
        """
        super().__init__()
        self._address: Address = address(url, api_key)
        self._patience = patience or Patience(give_up_seconds)
        self._workspace = None if workspace is None else an_id(workspace)
        self._timeout, self._bytes_max = timeout, answer_bytes_max
        self._transport = transport
        self._home: tuple[Any, Any] = (None, None)
        self._opened: list[tuple[Any, Any]] = []
        self._closed, self._known = False, self._address.loopback

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"unix:{self._address.socket}" if self._address.socket else self._address.base

    def twin(self, timeout: float | None = None) -> Self:
        """Another client with the same settings, but for a `timeout` that is given, and connections of its own."""
        return type(self)(
            self.url, self._address.api_key, timeout=timeout or self._timeout, workspace=self._workspace,
            answer_bytes_max=self._bytes_max, patience=self._patience, transport=self._transport,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __del__(self) -> None:
        if getattr(self, "_opened", None) and not self._closed:
            message = f"{self!r} was never closed; use it in a with statement, or call close()."
            warnings.warn(message, ResourceWarning, source=self, stacklevel=1)

    def _at_home(self, here: Any) -> Any:
        """The connections of this process and event loop: after a fork, or in another loop, there are new ones."""
        if self._closed:
            raise RuntimeError(f"{self!r} is closed; make a new one.")
        home, http = self._home
        if home != here:
            http = self._connections()
            self._opened.append((here, http))
            self._home = (here, http)
        return http

    @abstractmethod
    def _connections(self) -> Any: ...

    @abstractmethod
    def _content(self, source: Iterator[bytes]) -> Any: ...

    def _settings(self, transport: type[Any]) -> dict[str, Any]:
        """How httpx2 is set up. Without TLS no certificates are loaded; loopback heeds no proxies."""
        from steadhold import __version__

        given, tls = self._transport, not self._address.base.startswith("http:")
        if given is None and self._address.loopback:
            given = transport(uds=self._address.socket, limits=_LIMITS, verify=tls)
        headers = {
            "authorization": f"Bearer {self._address.api_key}",
            "accept-encoding": "identity",
            "user-agent": f"steadhold-python/{__version__}",
        }
        return {"headers": headers, "limits": _LIMITS, "transport": given, "trust_env": given is None, "verify": tls}

    def _request(self, http: Any, send: Send) -> Any:
        url = self._address.base + send.target
        if self._workspace is not None:
            url += f"{'&' if '?' in url else '?'}workspace={self._workspace}"
        timeout = httpx2.Timeout(self._timeout, read=self._timeout + send.wait_seconds)
        content = send.body if send.source is None else self._content(send.source())
        return http.build_request(send.method, url, headers=caused(send.headers), content=content, timeout=timeout)


@contextmanager
def _told(send: Send) -> Generator[None]:
    """Whoever interrupts a change is told its operation id."""
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError) as stopped:
        if send.identity == "receipt" and not send.of_the_house:
            stopped.add_note(f"Operation {send.operation_id} was in flight: client.operations.resolve tells its fate.")
        raise


class Client(_Base[Sync]):
    """A client whose verbs answer. Threads may share it, and it survives a fork."""

    def play(self, script: Script[T]) -> T:
        """Answer what a script comes to."""
        steps = persist(script, self._patience)
        came: Got | Lost | None = None
        try:
            while True:
                try:
                    step = steps.send(came)
                except StopIteration as end:
                    return end.value
                came = self._act(step)  # outside: what is done here ends no script
        finally:
            steps.close()

    def flow(self, stream: Stream[T]) -> Generator[T, None, None]:
        """Iterate over what a stream gives."""
        steps, line = persist(stream, self._patience), Line()
        try:
            step = next(steps)
            while True:
                if isinstance(step, Give):
                    yield step.item
                    step = next(steps)
                else:
                    step = steps.send(line.more(step) if isinstance(step, More) else self._act(step, line))
        except StopIteration:
            return
        finally:
            line.close()
            steps.close()

    def close(self) -> None:
        """Close all connections. Calling it again does nothing."""
        self._closed = True
        for home, http in self._opened:
            if home == os.getpid():
                http.close()
        self._opened.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connections(self) -> httpx2.Client:
        return httpx2.Client(**self._settings(httpx2.HTTPTransport))

    def _content(self, source: Iterator[bytes]) -> Iterator[bytes]:
        return source

    def _act(self, step: Step, line: Line | None = None) -> Got | Lost | None:
        if isinstance(step, Send):
            with _told(step):
                return self._ask(step, line)
        if isinstance(step, Pause):
            time.sleep(step.seconds)
        if isinstance(step, Tell):
            step.now()
        return None

    def _ask(self, send: Send, line: Line | None) -> Got | Lost:
        http: httpx2.Client = self._at_home(os.getpid())
        try:
            response = http.send(self._request(http, send), stream=True)
            self._known = True
            if send.opens and response.is_success and line is not None:
                return line.opened(response)
            try:
                body = Body(self._bytes_max, self._timeout + send.wait_seconds)
                for chunk in response.iter_raw():
                    body.add(chunk)
                return got(response, body.data)
            finally:
                response.close()
        except BROKEN as error:
            return lost(error, self.url, known=self._known)


class AsyncClient(_Base[Async]):
    """A client whose verbs are awaited. Tasks may share it, and so may event loops one after the other."""

    def play(self, script: Script[T]) -> Coroutine[Any, Any, T]:
        """Answer, when awaited, what a script comes to."""
        return self._play(script)

    async def _play(self, script: Script[T]) -> T:
        steps = persist(script, self._patience)
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._act(step))
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

    async def flow(self, stream: Stream[T]) -> AsyncGenerator[T, None]:
        """Iterate over what a stream gives."""
        steps, line = persist(stream, self._patience), AsyncLine()
        try:
            step = next(steps)
            while True:
                if isinstance(step, Give):
                    yield step.item
                    step = next(steps)
                else:
                    step = steps.send(await (line.more(step) if isinstance(step, More) else self._act(step, line)))
        except StopIteration:
            return
        finally:
            await line.close()
            steps.close()

    async def close(self) -> None:
        """Close all connections of this event loop. Calling it again does nothing."""
        self._closed = True
        here = (os.getpid(), asyncio.get_running_loop())
        for home, http in self._opened:
            if home == here:
                await http.aclose()
        self._opened.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _connections(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**self._settings(httpx2.AsyncHTTPTransport))

    def _content(self, source: Iterator[bytes]) -> AsyncIterator[bytes]:
        return in_threads(source)

    async def _act(self, step: Step, line: AsyncLine | None = None) -> Got | Lost | None:
        if isinstance(step, Send):
            with _told(step):
                return await self._ask(step, line)
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        if isinstance(step, Tell):
            await step.later()
        return None

    async def _ask(self, send: Send, line: AsyncLine | None) -> Got | Lost:
        http: httpx2.AsyncClient = self._at_home((os.getpid(), asyncio.get_running_loop()))
        try:
            response = await http.send(self._request(http, send), stream=True)
            self._known = True
            if send.opens and response.is_success and line is not None:
                return await line.opened(response)
            try:
                body = Body(self._bytes_max, self._timeout + send.wait_seconds)
                async for chunk in response.aiter_raw():
                    body.add(chunk)
                return got(response, body.data)
            finally:
                await response.aclose()
        except BROKEN as error:
            return lost(error, self.url, known=self._known)
