"""Workers in processes of their own, at several doors, that can be killed, stopped, cut off and replaced."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.forks import begin
from tests.worker.children import LOADED

ROOT = Path(__file__).parents[2]


class Child:
    """One worker process. What it tells goes to the fleet, from a thread that reads."""

    def __init__(self, fleet, name, place):
        self.name, self.place = name, place
        environ = {
            **os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "NOTES": str(fleet.notes),
            "PLACE": json.dumps({**place, "name": name}),
        }  # fmt: skip
        words = ["-m", "tests.faults.fleet_worker"]
        self.process = begin(words, load=LOADED, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=fleet.log)
        self.reading = threading.Thread(target=self._read, args=(fleet,))
        self.reading.start()

    def _read(self, fleet):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a line that a kill has cut says nothing
                fleet.hear(json.loads(line))

    def end(self, number):
        """Send a signal and wait for the end; what it exits with."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.reading.join()
        self.process.stdout.close()
        return status


class Fleet:
    """Worker processes by their places. `told` counts what they say; `settled` are the ends that they were told of."""

    def __init__(self, folder, database, workspace):
        self.notes = folder / "notes"
        self.log = (folder / "log").open("wb")
        self.conn, self.workspace = database.connect(), workspace
        self.children, self.told, self.settled = [], Counter(), {}
        self._loop, self._news, self._count = asyncio.get_running_loop(), asyncio.Event(), 0

    def start(self, place):
        """One more worker at a place."""
        self._count += 1
        self.children.append(Child(self, f"w{self._count}", place))

    def hear(self, told):
        """Note what a child tells; called by its thread."""
        self._loop.call_soon_threadsafe(self._note, told)

    def _note(self, told):
        self.told[told["name"]] += 1
        if told["name"] == "job.settled":
            self.settled[told["job_id"]] = (told["fence"], told["state"])
        self._news.set()

    async def until(self, true, seconds=120):
        """Wait until something that children tell of has come true."""
        async with asyncio.timeout(seconds):
            while not true():
                await self._news.wait()
                self._news.clear()

    async def replace(self, child):
        """Kill a worker and start another at its place."""
        self.children.remove(child)
        assert await asyncio.to_thread(child.end, signal.SIGKILL) == -signal.SIGKILL
        self.start(child.place)

    def holds(self, child):
        """How many jobs a worker has in the database's eyes."""
        look = "select count(*) from steadhold.jobs where workspace = %s and state = 1 and worker = %s"
        return self.conn.execute(look, (self.workspace, child.name)).fetchone()[0]

    def left(self):
        """How many jobs have not ended."""
        look = "select count(*) from steadhold.jobs where workspace = %s and state < 3"
        return self.conn.execute(look, (self.workspace,)).fetchone()[0]

    async def given_up(self, child):
        """Wait until the leases of a worker that cannot renew them have lapsed."""
        await self.polled(lambda: not self.holds(child))

    async def polled(self, true, seconds=120):
        """Wait until something in the database has come true."""
        async with asyncio.timeout(seconds):
            while not await asyncio.to_thread(true):
                self._news.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.05)

    def close(self):
        """End all that are left, with SIGTERM; what they exit with."""
        ended = [child.end(signal.SIGTERM) for child in self.children]
        self.children.clear()
        return ended

    def clear(self):
        """Leave nothing behind, however it went."""
        for child in self.children:
            child.end(signal.SIGKILL)
        self.log.close()
        self.conn.close()
