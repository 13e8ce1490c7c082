"""The process that keeps a test run's PostgreSQL: `python -m steadhold.testing.keeper FOLDER`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from steadhold.db.embedded import Embedded
from steadhold.testing import locks
from steadhold.testing.binaries import chosen
from steadhold.testing.database import drop, make_template
from steadhold.testing.run import Run, tell

LOADED_ONCE: Final = {"shared_preload_libraries": "plpgsql"}
"""Tests open thousands of connections, and each would load it anew."""


def main(home: Path) -> None:
    """Stand until nobody is in the run any more, then leave nothing behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prefix = f"steadhold_test_{home.name.rpartition('-')[2][:12]}"
    with _server(home) as dsn:
        run = Run(dsn, prefix, os.getpid())
        make_template(run)
        tell(home, run)
        _say_so()
        left = _wait_until_alone(home)
        _drop_all(run)
    shutil.rmtree(home)
    for lock in left:
        os.close(lock)


def _say_so() -> None:
    """Close the pipe that the starter reads: that tells it that the run stands."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def _server(home: Path) -> Iterator[str]:
    if dsn := os.environ.get("STEADHOLD_TEST_DSN"):
        yield dsn
        return
    pg_bin = chosen(os.environ.get("STEADHOLD_TEST_PG"))
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin, settings=LOADED_ONCE) as server:
        yield server.dsn


def _wait_until_alone(home: Path) -> list[int]:
    """Answer both locks, held: nobody is in, and nobody can come in. Whoever comes now starts anew."""
    while True:
        os.close(locks.take(home / "here", locks.ALONE))
        start = locks.take(home / "start", locks.ALONE)
        try:
            return [start, locks.take(home / "here", locks.ALONE | locks.AT_ONCE)]
        except BlockingIOError:
            os.close(start)


def _drop_all(run: Run) -> None:
    """Leave a server that is not ours as it was found."""
    if not os.environ.get("STEADHOLD_TEST_DSN"):
        return
    with psycopg.connect(run.dsn, autocommit=True) as conn:
        ours = conn.execute("select datname from pg_database where starts_with(datname, %s)", (run.prefix,))
        for (name,) in ours.fetchall():
            conn.execute(drop(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
