"""Workers in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

from steadhold.testing import Probe
from tests.forks import begin

ROOT = Path(__file__).parents[2]
WITHIN_SECONDS = 60
LOADED = ("asyncpg", "steadhold.worker.worker", "steadhold.worker.on_postgres", "steadhold.worker.over_http")


class Child:
    """A worker process, and what it told of itself."""

    def __init__(self, place, options, failpoints="", probe=None):
        environment = {
            **os.environ,
            "PLACE": json.dumps(place),
            "OPTIONS": json.dumps(options),
            "STEADHOLD_FAILPOINTS": failpoints,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        }
        self.probe = probe or Probe()
        words = ["-m", "tests.worker.tasks"]
        self.process = begin(words, load=LOADED, env=environment, cwd=ROOT, stdout=subprocess.PIPE)
        self.reading = asyncio.create_task(asyncio.to_thread(self._read))

    def _read(self):
        for line in self.process.stdout:
            moment = json.loads(line)
            self.probe(moment.pop("name"), **moment)

    def signal(self, number):
        self.process.send_signal(number)

    async def stopped(self):
        """Wait until it has been stopped by SIGSTOP."""
        _, status = await asyncio.to_thread(os.waitpid, self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status

    async def ended(self):
        """Wait for its end, and answer its exit status."""
        status = await asyncio.to_thread(self.process.wait, WITHIN_SECONDS)
        await self.reading
        return status
