"""A parent and its processes, without the processes: what they say to each other, and when one is started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from steadhold.server.accepting import AT_ONCE, Accepting
from steadhold.server.processes import parent as parents
from steadhold.server.processes.child import Sibling, _mind_signals
from steadhold.server.processes.messages import LINE_BYTES_MAX, Channel, Ready, Told
from steadhold.server.processes.parent import Child, EndedEarly, Parent, longer
from steadhold.server.settings import Settings
from steadhold.server.tallies import Tallies


async def channel(end: socket.socket) -> Channel:
    return Channel(*await asyncio.open_connection(sock=end, limit=LINE_BYTES_MAX))


class Process:
    """What a parent sees of a process; `ended` gives its code."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.signals: list[signal.Signals] = []

    async def wait(self) -> int:
        return await self.ended

    def send_signal(self, number: signal.Signals) -> None:
        self.signals.append(number)
        if number == signal.SIGTERM:
            self.ended.set_result(0)


class Server:
    """One process of a server as its parent and its clients know it."""

    def __init__(self, child: Child, theirs: Channel, tallies: Tallies) -> None:
        self.child, self.theirs, self.tallies = child, theirs, tallies

    def answer(self, times: int) -> None:
        self.tallies.requests["/v1/things", "GET", 200] += times

    async def metrics(self) -> dict[str, float]:
        lines = (await self.tallies.text()).decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


COUNTED = 'steadhold_requests_total{method="GET",route="/v1/things",status="200"}'


@asynccontextmanager
async def server(parent: Parent, pid: int, *, listens: bool = True):
    """One life of a process, until the block ends."""
    ours, theirs = [await channel(end) for end in socket.socketpair()]
    tallies, (read, life) = Tallies(), os.pipe()
    sibling = Sibling(theirs, tallies)
    tallies.siblings = sibling.sum
    one = Server(Child(Process(pid), ours, life), theirs, tallies)
    parent.next = one.child
    living = asyncio.create_task(parent._live())
    listening = asyncio.create_task(sibling.listen()) if listens else None
    theirs.say(Ready("http://here"))
    async with asyncio.timeout(20):
        while not one.child.ready:
            await asyncio.sleep(0)
    yield one
    one.child.process.ended.set_result(-9)
    if listening:
        listening.cancel()
    await theirs.close()
    assert await living == (pid, -9)
    os.close(read)


def parent_of(processes: int) -> Parent:
    async def begin(_settings: Settings) -> Child:
        return parent.next

    parent = Parent(Settings(processes=processes), lambda _url: None, begin)
    return parent


async def test_whoever_is_asked_tells_what_all_counted():
    parent = parent_of(2)
    async with server(parent, 1) as one, server(parent, 2) as two:
        one.answer(3)
        two.answer(4)
        assert (await one.metrics())[COUNTED] == (await two.metrics())[COUNTED] == 7


async def test_one_that_does_not_say_is_taken_at_its_last_word(monkeypatch):
    monkeypatch.setattr(parents, "TELL_SECONDS_MAX", 0.0)
    parent = parent_of(2)
    async with server(parent, 1) as one, server(parent, 2, listens=False) as deaf:
        deaf.answer(4)
        deaf.theirs.say(Told(deaf.tallies.counts()))
        deaf.answer(1)
        while not deaf.child.counts:
            await asyncio.sleep(0)
        asking = asyncio.create_task(one.metrics())
        for _ in range(10_000):
            await asyncio.sleep(0)
        assert asking.done()
        assert asking.result()[COUNTED] == 4


async def test_a_sum_does_not_fall_when_a_process_ends():
    parent = parent_of(2)
    async with server(parent, 1) as one:
        async with server(parent, 2) as two:
            two.answer(4)
            assert (await one.metrics())[COUNTED] == 4
        one.answer(1)
        assert (await one.metrics())[COUNTED] == 5
        assert (await one.metrics())["steadhold_process_restarts_total"] == 0


async def test_one_that_ends_is_started_again_until_told_to_stop(monkeypatch):
    monkeypatch.setattr(parents, "PAUSE_FIRST_SECONDS", 0.0)
    parent, lives = parent_of(1), []

    async def live():
        lives.append(len(lives))
        parent._served = True
        if len(lives) == 4:
            parent.stop()
        return len(lives), -9

    monkeypatch.setattr(parent, "_live", live)
    async with asyncio.timeout(20):
        await parent.run()
    assert lives == [0, 1, 2, 3]
    assert parent._restarts().samples[0].value == 3


class Standing:
    """A child that does nothing but end when it is told to."""

    def __init__(self, process: Process) -> None:
        self.send = process.send_signal


async def test_one_that_ends_before_any_is_ready_ends_all(monkeypatch):
    parent = parent_of(2)
    processes = [Process(1), Process(2)]

    async def live():
        process = processes.pop()
        parent._children.add(Standing(process))
        if not processes:
            return 1, 3
        return process.pid, await process.wait()

    monkeypatch.setattr(parent, "_live", live)
    with pytest.raises(EndedEarly, match="ended with 3"):
        async with asyncio.timeout(20):
            await parent.run()


async def test_who_comes_while_all_stop_is_refused():
    parent = parent_of(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = listener.getsockname()
        parents._stop(parent, listener)
        parents._stop(parent, listener)
        assert parent._stopping.is_set()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(at)


def test_the_pause_doubles_until_one_lives():
    pauses = [0.0]
    for _ in range(12):
        pauses.append(longer(pauses[-1], lived_seconds=1))
    assert pauses[1:4] == [0.1, 0.2, 0.4]
    assert pauses[-1] == parents.PAUSE_SECONDS_MAX
    assert longer(30.0, lived_seconds=60) == 0.1


async def test_a_second_sigterm_does_not_hurry_a_process_and_sigint_does():
    """A service manager sends SIGTERM to all of a service, and the parent sends it to its processes once more."""
    stops, ending = [], asyncio.Event()
    _mind_signals(SimpleNamespace(stop=lambda: stops.append(1)), ending)
    loop = asyncio.get_running_loop()
    try:
        for number, count in ((signal.SIGTERM, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)):
            signal.raise_signal(number)
            await _handled(stops, count, ending)
            assert len(stops) == count
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(signal.SIGINT)


async def _handled(stops: list[int], count: int, ending: asyncio.Event) -> None:
    """Handlers run in the loop's next passes; a signal of our own after them shows that they have."""
    seen = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, seen.set)
    signal.raise_signal(signal.SIGUSR2)
    await asyncio.wait_for(seen.wait(), 20)
    await asyncio.wait_for(ending.wait(), 20)
    asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR2)


ORPHAN = """
import signal, threading
from steadhold.server.processes import life
life.ORPHAN_SECONDS_MAX = 0.0
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
threading.Thread(target=life.end_with_parent, daemon=True).start()
print("begun", flush=True)
while True:
    signal.pause()
"""


def test_a_process_whose_parent_is_gone_is_told_and_if_it_hangs_ended():
    process = subprocess.Popen([sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        process.stdin.close()
        assert process.wait(10) == 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Greeted(asyncio.Protocol):
    def __init__(self, names: list[str], name: str) -> None:
        self.names, self.name = names, name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.names.append(self.name)
        transport.close()


async def test_who_shares_a_listener_leaves_connections_to_the_others(monkeypatch):
    monkeypatch.setattr("steadhold.server.accepting.TURN_SECONDS", 3_600.0)
    names: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(AT_ONCE * 3)]
        for name in ("one", "two"):
            accepting = Accepting(listener, lambda name=name: Greeted(names, name))
            async with asyncio.timeout(20):
                while names.count(name) < AT_ONCE:
                    await asyncio.sleep(0)
            accepting.close()
            await accepting.wait_closed()
        assert names == ["one"] * AT_ONCE + ["two"] * AT_ONCE
        for client in clients:
            client.close()


async def test_a_connection_that_nobody_can_be_given_is_taken_later(monkeypatch):
    monkeypatch.setattr("steadhold.server.accepting.WORN_SECONDS", 0.0)
    names: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        full = [OSError(24, "Too many open files")]
        accepting = Accepting(Worn(listener, full), lambda: Greeted(names, "one"))
        async with asyncio.timeout(20):
            while not names:
                await asyncio.sleep(0)
        accepting.close()
        assert full == []


class Worn:
    """A listener whose first takings fail."""

    def __init__(self, listener: socket.socket, errors: list[OSError]) -> None:
        self._listener, self._errors = listener, errors

    def accept(self) -> object:
        if self._errors:
            raise self._errors.pop()
        return self._listener.accept()

    def __getattr__(self, name: str) -> object:
        return getattr(self._listener, name)
