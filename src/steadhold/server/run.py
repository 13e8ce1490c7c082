"""Run a server in this process until a signal: bind, open, serve, and stop within a second of being told."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import uvicorn

from steadhold.kit import limits
from steadhold.server import logs
from steadhold.server.app import App
from steadhold.server.protocol import Connection, end_slow
from steadhold.server.settings import Settings

KEEP_ALIVE_SECONDS: Final = 65
STOP_SECONDS_MAX: Final = 10
"""How long requests that are being answered may still take when the server stops. Long polls end at once."""

BACKLOG: Final = 2_048


class ListenError(Exception):
    """The address cannot be listened on; the message says which, why, and what to do."""


class Server(uvicorn.Server):
    """uvicorn, stopped by us: its own signal handlers would cut long polls off and run no shutdown."""

    def __init__(self, app: App) -> None:
        super().__init__(_config(app))
        self.app = app
        self.serving = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell so."""
        await super().startup(sockets)
        self.serving.set()

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


def listen(settings: Settings) -> socket.socket:
    """Bind what the settings say: an inherited socket, a Unix socket, or host and port. Raises ListenError."""
    if settings.listen_fd >= 0:
        return _inherited(settings.listen_fd)
    if settings.unix_socket:
        return _unix(Path(settings.unix_socket))
    where = f"{settings.host}:{settings.port}"
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _bound(family, kind, address)
    except OSError as error:
        raise ListenError(
            f"Cannot listen on {where}: {error.strerror}. Choose another with --host or --port."
        ) from error


def _bound(family: int, kind: int, address: Any) -> socket.socket:
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections have it from their listener
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limits.ANSWER_SECONDS_MAX * 1_000)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _inherited(fd: int) -> socket.socket:
    try:
        return socket.socket(fileno=fd)
    except OSError as error:
        raise ListenError(f"listen_fd is {fd}, which is no socket of this process: {error.strerror}.") from error


def _unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode) and not _answered(path):
            path.unlink()  # a server that was killed left it
        before = os.umask(0o117)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
    except OSError as error:
        listener.close()
        raise ListenError(f"Cannot listen on {path}: {error.strerror}. Choose another with --unix-socket.") from error
    return listener


def _answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def url_of(settings: Settings, listener: socket.socket) -> str:
    """The address under which a client on this machine finds the server."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared
    return settings.public_url or f"http://{host}:{port}"


@asynccontextmanager
async def serving(app: App, listener: socket.socket) -> AsyncIterator[Server]:
    """Serve for as long as the block runs; the block may end early by `Server.stop()`."""
    await app.start()
    server = Server(app)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        listening = asyncio.create_task(server.serving.wait())
        await asyncio.wait((listening, task), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        spare_the_collector()
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
        async with serving(app, listener) as server:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, lambda: (server.stop(), told.set()))
            ready(app, url_of(settings, listener))
            await told.wait()
    finally:
        _unlisten(settings, listener)


def _unlisten(settings: Settings, listener: socket.socket) -> None:
    listener.close()
    if settings.unix_socket:
        Path(settings.unix_socket).unlink(missing_ok=True)


def run(settings: Settings, ready: Callable[[App, str], Any] = lambda _app, _url: None) -> None:
    """Serve in this thread until a signal. Raises ListenError or a DatabaseError, whose messages say what to do."""
    logs.configure(settings.log_format)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(settings, ready))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
