"""What a data folder says about the PostgreSQL on it: its pid file, and processes left over from before."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from steadhold.db.errors import EmbeddedError

PROC = Path("/proc")
FAST_SECONDS = 20.0
IMMEDIATE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PidFile:
    """`postmaster.pid`: who wrote it, where its socket is, and whether it said ready (on a standby: standby)."""

    pid: int
    socket_dir: str
    ready: bool


def read(pgdata: Path) -> PidFile | None:
    """The pid file of `pgdata`, or None while it is missing or unreadable; a stale file may say ready too."""
    try:
        lines = (pgdata / "postmaster.pid").read_text().splitlines()
        pid = abs(int(lines[0]))
    except (OSError, ValueError, IndexError):
        return None
    lines += [""] * (8 - len(lines))
    return PidFile(pid, lines[4].strip(), lines[7].strip() in {"ready", "standby"})


def alive(pid: int) -> bool:
    """Whether a process with this id exists (a zombie counts)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def serves(pid: int, pgdata: Path) -> bool:
    """Whether `pid` is a running PostgreSQL process on `pgdata`: each of them works inside its data folder."""
    if PROC.joinpath("self").exists():
        try:
            program = (PROC / str(pid) / "comm").read_text().strip()
            return program.startswith("postgres") and (PROC / str(pid) / "cwd").samefile(pgdata)
        except OSError:
            return False
    said = subprocess.run(["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return "postgres" in said.stdout and f"-D {pgdata}" in said.stdout


def clear(pgdata: Path) -> str | None:
    """Leave nothing on `pgdata` that would keep a new PostgreSQL from starting; the caller holds the folder's lock.

    A postmaster left by a killed parent is stopped, its orphaned children are ended, and a pid file whose number
    now belongs to another program is removed (PostgreSQL would take that program for a postmaster).
    Returns a sentence on what was done, or None. Raises EmbeddedError when an old one will not stop.
    """
    found = read(pgdata)
    done = None
    if found is not None and alive(found.pid):
        if serves(found.pid, pgdata):
            _stop(found.pid, pgdata)
            done = f"Stopped the PostgreSQL (process {found.pid}) that an earlier run had left on {pgdata}."
        else:
            (pgdata / "postmaster.pid").unlink(missing_ok=True)
            done = f"Removed a stale pid file that named process {found.pid}, which is another program."
    for pid in orphans(pgdata):
        # Their postmaster is gone: shared memory is lost to them, and recovery reads the log alone.
        _send(pid, signal.SIGKILL)
        _gone(pid, pgdata, IMMEDIATE_SECONDS)
    return done


def orphans(pgdata: Path) -> list[int]:
    """Processes that still work inside `pgdata`; none can be seen where there is no /proc."""
    pids = [int(p.name) for p in PROC.glob("[0-9]*")] if PROC.joinpath("self").exists() else []
    return [pid for pid in pids if serves(pid, pgdata)]


def _stop(pid: int, pgdata: Path) -> None:
    for number, seconds in ((signal.SIGINT, FAST_SECONDS), (signal.SIGQUIT, IMMEDIATE_SECONDS)):
        _send(pid, number)
        if _gone(pid, pgdata, seconds):
            return
    raise EmbeddedError(
        f"PostgreSQL (process {pid}) already runs on {pgdata} and does not stop. Stop it, then start again."
    )


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _gone(pid: int, pgdata: Path, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not serves(pid, pgdata):
            return True
        time.sleep(0.01)
    return False
