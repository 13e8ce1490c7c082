"""Run a server in this process until a signal: bind, open, serve, and stop within a second of being told."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, cast

import uvicorn

from steadhold.server import logs
from steadhold.server.accepting import Accepting
from steadhold.server.app import App
from steadhold.server.listening import BACKLOG, listen, unlisten, url_of
from steadhold.server.memory import keep_what_is_freed
from steadhold.server.protocol import Connection, end_slow
from steadhold.server.settings import Settings

KEEP_ALIVE_SECONDS: Final = 65
STOP_SECONDS_MAX: Final = 10
"""How long requests that are being answered may still take when the server stops. Long polls end at once."""


class Server(uvicorn.Server):
    """uvicorn, stopped by us: its own signal handlers would cut long polls off and run no shutdown."""

    def __init__(self, app: App, *, shared: bool = False) -> None:
        super().__init__(_config(app))
        self.app, self.shared = app, shared
        self.serving = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell so. Where others listen on the same socket, they get their share of connections."""
        if self.shared:
            self.servers = [cast("Any", Accepting(listener, self._connection)) for listener in sockets or ()]
            self.started = True
        else:
            await super().startup(sockets)
        self.serving.set()

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, {})

    async def on_tick(self, counter: int) -> bool:
        """Look after slow clients once a second."""
        if counter % 10 == 0:
            end_slow(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def stop(self) -> None:
        """Stop gracefully; told a second time, stop at once."""
        self.force_exit = self.should_exit
        self.app.stop_waiting()
        self.should_exit = True


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )


@asynccontextmanager
async def serving(app: App, listener: socket.socket, *, shared: bool = False) -> AsyncIterator[Server]:
    """Serve for as long as the block runs; the block may end early by `Server.stop()`.

    `shared`: other processes take connections off the same listener.
    """
    await app.start()
    server = Server(app, shared=shared)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        listening = asyncio.create_task(server.serving.wait())
        await asyncio.wait((listening, task), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        spare_the_collector()
        keep_what_is_freed()
        yield server
    finally:
        server.stop()
        await task
        await app.stop()


def spare_the_collector() -> None:
    """Let the garbage collector look seldom: what a request makes is freed by counting, and a look stops them all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def serve(settings: Settings, ready: Callable[[App, str], Any] = lambda _app, _url: None) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told when requests are answered, and where."""
    app = App(settings)
    listener = listen(settings)
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    try:
        async with serving(app, listener, shared=settings.listen_fd >= 0) as server:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, lambda: (server.stop(), told.set()))
            ready(app, url_of(settings, listener))
            await told.wait()
    finally:
        unlisten(settings, listener)


def run(settings: Settings, ready: Callable[[App, str], Any] = lambda _app, _url: None) -> None:
    """Serve in this thread until a signal. Raises ListenError or a DatabaseError, whose messages say what to do."""
    logs.configure(settings.log_format, settings.log_level)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(settings, ready))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
