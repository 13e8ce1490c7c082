"""`python -m steadhold.server.processes.child FD`: one of a server's processes, for as long as its parent lives.

FD is its end of the socket to the parent. Its standard input is a pipe of which only the parent has the other end, so
it ends when the parent does, however that came.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections import deque
from typing import Final

from steadhold.server import logs
from steadhold.server.app import App
from steadhold.server.listening import listen, url_of
from steadhold.server.processes import life
from steadhold.server.processes.messages import LINE_BYTES_MAX, Asked, Begin, Channel, Ready, Summed, Tell, Told
from steadhold.server.processes.sums import Counts, lasting
from steadhold.server.run import Server, loop_factory, serving
from steadhold.server.settings import Settings
from steadhold.server.tallies import Tallies
from steadhold.server.trouble import trouble
from steadhold.telemetry.lines import logger

SUM_SECONDS_MAX: Final = 5.0

log: Final = logger("steadhold.server")


class Sibling:
    """This process among its siblings: tells what it counted, and has what all did."""

    def __init__(self, channel: Channel, tallies: Tallies) -> None:
        self._channel, self._tallies = channel, tallies
        self._asking: deque[asyncio.Future[Counts]] = deque()

    async def listen(self) -> None:
        """Answer the parent until it ends."""
        while (message := await self._channel.hear()) is not None:
            match message:
                case Tell():
                    self._channel.say(Told(self._tallies.counts()))
                case Summed(counts):
                    self._asking.popleft().set_result(counts)
                case _:
                    raise AssertionError(f"{type(message).__name__} is not for a child")

    async def sum(self, counts: Counts) -> Counts | None:
        """What all processes counted, of which these are this one's; None when the parent does not say."""
        asked: asyncio.Future[Counts] = asyncio.get_running_loop().create_future()
        self._asking.append(asked)
        self._channel.say(Asked(counts))
        done, _ = await asyncio.wait((asked,), timeout=SUM_SECONDS_MAX)
        return asked.result() if done else None


async def live(fd: int) -> None:
    """Serve as the parent says until SIGTERM, which comes from it or from an operator."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=fd), limit=LINE_BYTES_MAX)
    channel = Channel(reader, writer)
    begin = await channel.hear()
    if not isinstance(begin, Begin):
        return
    logs.configure(begin.settings.log_format, begin.settings.log_level)
    app = App(begin.settings)
    engine = await app.start()
    sibling = Sibling(channel, engine.tallies)
    engine.tallies.siblings = sibling.sum
    hearing = asyncio.create_task(sibling.listen())
    try:
        await _serve(app, begin.settings, channel)
        channel.say(Told(lasting(engine.tallies.counts())))
        await channel.said()
    except ConnectionError:
        pass  # the parent has ended, so there is nobody to be told
    finally:
        hearing.cancel()
        await channel.close()


async def _serve(app: App, settings: Settings, channel: Channel) -> None:
    listener = listen(settings)
    ending = asyncio.Event()
    async with serving(app, listener, shared=True) as server:
        _mind_signals(server, ending)
        channel.say(Ready(url_of(settings, listener)))
        await ending.wait()


def _mind_signals(server: Server, ending: asyncio.Event) -> None:
    """Stop in order at SIGTERM, however often it comes: a service manager may send it to parent and child alike.

    SIGINT comes from the parent only, and does not wait.
    """

    def stop() -> None:
        if not ending.is_set():
            server.stop()
            ending.set()

    def stop_at_once() -> None:
        stop()
        server.stop()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop_at_once)


def main() -> None:
    """Live until told to stop."""
    threading.Thread(target=life.end_with_parent, daemon=True).start()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(live(int(sys.argv[1])))
    except Exception as error:
        if trouble(error) is None and not isinstance(error, OSError):
            raise
        log.error("this process cannot serve", why=f"{type(error).__name__}: {error}")  # noqa: TRY400 - known trouble
        sys.exit(1)


if __name__ == "__main__":
    main()
