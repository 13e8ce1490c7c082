"""A PostgreSQL of the test's own, to be killed under a process that stands still."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import psycopg
import pytest

from steadhold.db.embedded import Embedded
from steadhold.db.migrate import migrate
from steadhold.testing.clock import SQL as CLOCK


@pytest.fixture(scope="module")
def postgres():
    """One that comes up again when it was killed, migrated, with a clock that can be moved."""
    with tempfile.TemporaryDirectory(prefix="steadhold-killed-") as made:
        Path(made).chmod(0o755)
        with Embedded(Path(made) / "data") as running:
            asyncio.run(migrate(running.dsn))
            with psycopg.connect(running.dsn, autocommit=True) as conn:
                conn.execute(CLOCK.read_bytes())
            yield running


def killed_under(postgres, process):
    """Wait until the process halts itself, and kill PostgreSQL, which is up again when this returns."""
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    old = postgres.pid
    os.kill(old, signal.SIGKILL)
    postgres.wait_ready(not_pid=old)
