"""One PostgreSQL for a test run, whatever number of processes it has.

The first process that needs it starts a keeper, which starts PostgreSQL and makes the template; the others
find it. Each holds the file `here` locked while it is in; once nobody is, the keeper takes all down.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from steadhold.testing import locks


@dataclass(frozen=True, slots=True)
class Run:
    """A server that stands for a test run."""

    dsn: str
    """The URL of an administrator."""
    prefix: str
    """How the names of this run's databases begin."""
    keeper: int
    """The process that keeps it."""

    @property
    def template(self) -> str:
        """The database to copy: migrated, and with a clock that can be moved."""
        return f"{self.prefix}_template"


@contextmanager
def joined(run_id: str) -> Iterator[Run]:
    """Be in the run: PostgreSQL stands at least as long as this context. Raises RuntimeError if it cannot start."""
    home = Path(tempfile.gettempdir()) / f"steadhold-test-{run_id}"
    with locks.taken(home / "start", locks.ALONE):
        here = locks.take(home / "here", locks.SHARED)
        try:
            run = _found(home) or _started(home)
        except BaseException:
            os.close(here)
            raise
    try:
        yield run
    finally:
        os.close(here)


def tell(home: Path, run: Run) -> None:
    """Let others find a run that stands."""
    half = home / "run.new"
    half.write_text(json.dumps(asdict(run)))
    half.rename(home / "run.json")


def _found(home: Path) -> Run | None:
    try:
        return Run(**json.loads((home / "run.json").read_text()))
    except FileNotFoundError:
        return None


def _started(home: Path) -> Run:
    with (home / "keeper.log").open("w") as log:
        # A session of its own: Ctrl-C ends the tests, and with them the keeper, in this order.
        keeper = subprocess.Popen(
            [sys.executable, "-m", "steadhold.testing.keeper", str(home)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    if keeper.stdout is None:
        raise AssertionError("stdout was asked for")
    with keeper.stdout:
        keeper.stdout.read()  # the keeper closes it once it stands, or by ending
    if run := _found(home):
        keeper.returncode = 0  # it outlives this process where others are still in, so nobody waits for it here
        return run
    keeper.wait()
    said = (home / "keeper.log").read_text().strip()
    shutil.rmtree(home)
    raise RuntimeError(f"no PostgreSQL for the tests: {said}")
