"""The parent of a server's processes: it binds, starts and restarts them, sums up what they counted, and stops them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from steadhold.db.pool import Pool
from steadhold.server import database, logs
from steadhold.server.listening import listen, unlisten
from steadhold.server.processes.messages import LINE_BYTES_MAX, Asked, Begin, Channel, Ready, Summed, Tell, Told
from steadhold.server.processes.sums import Counts, Family, Sample, lasting, total
from steadhold.server.settings import Settings
from steadhold.telemetry import plainly
from steadhold.telemetry.lines import logger

END_SECONDS_MAX: Final = 20.0
"""How long a process may take to stop: more than requests and calls that are under way may take. Then it is killed."""

TELL_SECONDS_MAX: Final = 1.0
"""How long a process has to say what it counted; from one that is busy longer, what it said last is taken."""

PAUSE_FIRST_SECONDS, PAUSE_SECONDS_MAX = 0.1, 30.0
PROVEN_SECONDS: Final = 60.0
"""A process that lived this long is started again at once; one that did not waits longer each time."""

_LOGGER: Final = "steadhold.server.processes"
log: Final = logger(_LOGGER)


def longer(pause: float, lived_seconds: float) -> float:
    """How long to wait before a process is started again: twice as long as the last time, unless it lived."""
    if lived_seconds >= PROVEN_SECONDS:
        return PAUSE_FIRST_SECONDS
    return min(max(pause * 2, PAUSE_FIRST_SECONDS), PAUSE_SECONDS_MAX)


class EndedEarly(Exception):
    """A process ended before any was ready, and the log says why; or it could not be started at all."""


def _path_options() -> list[str]:
    """Options with which Python looks for modules where this process does: in the current folder only if that is told.

    A folder in which somebody works may hold modules by the names of ours, or of Python's.
    """
    return [] if {"", str(Path.cwd())} & {*sys.path} else ["-P"]


class Child:
    """One process, and what it said. `life` is the end of a pipe: closed, by us or by our end, it ends the child."""

    def __init__(self, process: asyncio.subprocess.Process, channel: Channel, life: int) -> None:
        self.process, self.channel, self.life = process, channel, life
        self.ready = False
        self.counts: Counts = []
        self._told: asyncio.Future[None] | None = None

    @classmethod
    async def begin(cls, settings: Settings) -> Child:
        """Start one: of the same program, in a session of its own, so that Ctrl-C reaches it through us only."""
        ours, theirs = socket.socketpair()
        read, life = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *_path_options(), "-m", "steadhold.server.processes.child", str(theirs.fileno()),
                stdin=read, pass_fds=(theirs.fileno(), settings.listen_fd), start_new_session=True,
            )  # fmt: skip
        except BaseException:
            ours.close()
            os.close(life)
            raise
        finally:
            theirs.close()
            os.close(read)
        channel = Channel(*await asyncio.open_connection(sock=ours, limit=LINE_BYTES_MAX))
        channel.say(Begin(settings))
        return cls(process, channel, life)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def told(self, counts: Counts) -> None:
        """It has said what it counted."""
        self.counts = counts
        if self._told is not None:
            self._told.set_result(None)
            self._told = None

    async def tell(self) -> None:
        """Have it say what it counted, if it does so soon."""
        if self._told is None:
            self._told = asyncio.get_running_loop().create_future()
            self.channel.say(Tell())
        await asyncio.wait((self._told,), timeout=TELL_SECONDS_MAX)

    async def end(self) -> None:
        """It has ended; leave nothing of it."""
        self.told(self.counts)
        os.close(self.life)
        await self.channel.close()


Begins: TypeAlias = Callable[[Settings], Awaitable[Child]]


class Parent:
    """Keeps so many processes running as the settings say, each on `settings.listen_fd`."""

    def __init__(self, settings: Settings, ready: Callable[[str], Any], begin: Begins = Child.begin) -> None:
        self._settings, self._ready, self._begin = settings, ready, begin
        self._children: set[Child] = set()
        self._left: Counts = []
        self._again = 0
        self._served = False
        self._sums: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Keep them running until told to stop, and until all have ended. Raises EndedEarly."""
        keeping = [asyncio.create_task(self._keep()) for _ in range(self._settings.processes)]
        try:
            await asyncio.gather(*keeping)
        finally:
            self.stop()
            await asyncio.gather(*keeping, return_exceptions=True)

    def stop(self) -> None:
        """Have all stop in order; told a second time, at once."""
        number = signal.SIGINT if self._stopping.is_set() else signal.SIGTERM
        if not self._stopping.is_set():
            asyncio.get_running_loop().call_later(END_SECONDS_MAX, self._kill)
        self._stopping.set()
        for child in self._children:
            child.send(number)

    def _kill(self) -> None:
        for child in self._children:
            log.warning("a process did not stop and is killed", pid=child.process.pid)
            child.send(signal.SIGKILL)

    async def _keep(self) -> None:
        """Keep one running: started again when it ends, later each time it did not live long."""
        clock, pause = asyncio.get_running_loop(), 0.0
        while not self._stopping.is_set():
            began = clock.time()
            ended = await self._tried()
            if self._stopping.is_set():
                return
            pause = longer(pause, clock.time() - began)
            if isinstance(ended, Exception):
                log.error("a process cannot be started, and is tried again", why=plainly.why(ended), seconds=pause)
            else:
                log.warning("a process ended and is started again", pid=ended[0], code=ended[1], seconds=pause)
                self._again += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def _tried(self) -> tuple[int, int] | Exception:
        """One life of a process, or why there is none: a machine may have no room for one now, and have it later."""
        try:
            pid, code = await self._live()
        except (OSError, RuntimeError) as error:  # no process, file or memory more, or no thread
            if not self._served:
                raise EndedEarly(f"A process cannot be started: {getattr(error, 'strerror', error)}.") from error
            return error
        if not self._served and not self._stopping.is_set():
            raise EndedEarly(f"A process ended with {code} before it answered requests; the log says why.")
        return pid, code

    async def _live(self) -> tuple[int, int]:
        """One life of a process: its id, and how it ended."""
        child = await self._begin(self._settings)
        self._children.add(child)
        if self._stopping.is_set():
            child.send(signal.SIGTERM)
        hearing = asyncio.create_task(self._hear(child))
        try:
            code = await child.process.wait()
            await hearing
        finally:
            self._children.discard(child)
            self._left = total(self._left, [lasting(child.counts)])
            await child.end()
        return child.process.pid, code

    async def _hear(self, child: Child) -> None:
        while (message := await child.channel.hear()) is not None:
            match message:
                case Ready(url):
                    self._is_ready(child, url)
                case Told(counts):
                    child.told(counts)
                case Asked(counts):
                    child.counts = counts
                    task = asyncio.create_task(self._sum(child))
                    self._sums.add(task)
                    task.add_done_callback(self._sums.discard)
                case _:
                    raise AssertionError(f"{type(message).__name__} is not for a parent")

    def _is_ready(self, child: Child, url: str) -> None:
        child.ready = True
        if self._served:
            log.info("a process answers again", pid=child.process.pid)
        elif sum(each.ready for each in self._children) == self._settings.processes:
            self._served = True
            self._ready(url)

    async def _sum(self, child: Child) -> None:
        await asyncio.gather(*(other.tell() for other in self._children if other is not child and other.ready))
        others = [other.counts for other in self._children if other is not child]
        child.channel.say(Summed(total(child.counts, [*others, self._left, [self._restarts()]])))

    def _restarts(self) -> Family:
        name, says = "steadhold_process_restarts", "Processes that ended and were started again."
        return Family(name, "counter", says, [Sample(f"{name}_total", {}, self._again)])


async def serve(settings: Settings, ready: Callable[[str], Any]) -> None:
    """Serve until SIGTERM or SIGINT. What cannot be used is told here, before any process is started."""
    async with AsyncExitStack() as stack:
        dsn = await database.opened(stack, settings)
        async with Pool(dsn, size=1, statements=settings.prepared_statements) as pool, pool.connection():
            pass
        listener = listen(settings)
        stack.callback(unlisten, settings, listener)
        theirs = msgspec.structs.replace(
            settings, database_url=dsn, migrate=False, listen_fd=listener.fileno(), unix_socket=""
        )
        parent = Parent(theirs, ready)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, _stop, parent, listener)
        await parent.run()


def _stop(parent: Parent, listener: socket.socket) -> None:
    """Have all stop. Who comes now is refused, and may go elsewhere: nobody is left to take him off the listener."""
    parent.stop()
    listener.close()


def run(settings: Settings, ready: Callable[[str], Any]) -> None:
    """Serve by several processes until a signal. Raises ListenError, EndedEarly or a DatabaseError, which say why."""
    logs.configure(settings.log_format, settings.log_level)
    logging.getLogger(_LOGGER).setLevel(logging.INFO)
    asyncio.run(serve(settings, ready))
