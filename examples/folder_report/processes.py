"""The processes of the demo: a server with its own PostgreSQL, and workers. None of them outlives the demo."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from steadhold.db.account import barrier, choose
from steadhold.db.folder import default_data_dir

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
STEADHOLD: Final = (sys.executable, "-m", "steadhold")
START_SECONDS: Final = 120.0
STOP_SECONDS: Final = 30.0
IN_USE: Final = "is in use by process"
IN_USE_SECONDS: Final = 10.0


class Broken(Exception):
    """Something is not as it was promised; the message is a sentence for whoever watches."""


def data_folder() -> Path:
    """Where the demo keeps everything: in the checkout, or where your other data lies if PostgreSQL cannot go there."""
    inside = CHECKOUT / ".steadhold" / "demo"
    mine = next(path for path in (inside, *inside.parents) if path.exists()).stat().st_uid == os.geteuid()
    account = choose()
    reachable = not account.lent or barrier(inside, account) is None
    return inside if mine and reachable else default_data_dir().with_name("demo")


class Child:
    """One process in a group of its own, so that Ctrl-C reaches us first and we end the others in order."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], dies_by: signal.Signals) -> None:
        self.name = name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the child
        tie = [sys.executable, "-I", "-S", str(HERE / "tied.py"), str(os.getpid()), str(int(dies_by))]
        self.process = subprocess.Popen(
            [*tie, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said, cwd=HERE, process_group=0,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def kill(self) -> None:
        """End it as a crash or a lost machine does: by SIGKILL, in the middle of whatever it does."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, and see that it does."""
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def check(self) -> None:
        """Raise Broken once it has ended by itself."""
        if self.process.poll() is not None:
            raise Broken(f"{self.name} ended by itself (code {self.process.returncode}). It said:\n{self.said()}")

    def said(self) -> str:
        """The end of what it wrote on standard error."""
        self._said.seek(0)
        return self._said.read()[-2_000:].decode("utf-8", "replace").strip()

    def line(self, seconds: float) -> bytes:
        """The first line that it writes on standard output; empty if it ends before, or takes too long."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


class Server(Child):
    """`steadhold dev` on a folder of its own: PostgreSQL, server and background work."""

    def __init__(self, folder: Path) -> None:
        command = [*STEADHOLD, "dev", "--json", "--port", "0", "--data-dir", str(folder)]
        super().__init__("the server", command, {}, signal.SIGTERM)
        self.url = self.api_key = ""
        self.folder = folder

    def ready(self) -> bool:
        """Wait until it serves; False where another process holds its folder.

        Raises:
            Broken: it does not start, and why.
        """
        line = self.line(START_SECONDS)
        if not line:
            self.stop()
            if IN_USE in self.said():
                return False
            raise Broken(f"The server did not start. It said:\n{self.said()}\nTo begin anew: rm -r {self.folder}")
        told: dict[str, Any] = json.loads(line)
        self.url, self.api_key = told["url"], told["api_key"]
        return True


def server(folder: Path) -> Server:
    """A server that is ready. One that was left to end a moment ago is waited for.

    Raises:
        Broken: it does not start, and why.
    """
    ends_at = time.monotonic() + IN_USE_SECONDS
    while True:
        started = Server(folder)
        try:
            if started.ready():
                return started
        except BaseException:
            started.stop()
            raise
        if time.monotonic() > ends_at:
            raise Broken(f"Does the demo run in another terminal? {started.said().removeprefix('Error: ')}")
        time.sleep(0.2)


def worker(number: int, server: Server) -> Child:
    """A worker as you would start one. It may die at any moment without harm, so it dies at once with the demo."""
    command = [*STEADHOLD, "work", "worker:worker"]
    environment = {"STEADHOLD_URL": server.url, "STEADHOLD_API_KEY": server.api_key}
    return Child(f"Worker {number}", command, environment, signal.SIGKILL)
