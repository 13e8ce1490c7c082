"""Starts PostgreSQL so that it ends with its parent, as another user when this process is root.

Between giving up root and exec the child must ask to be told of its parent's death, and code between fork and exec
of a threaded process is unsafe: so this file is also a small program that becomes PostgreSQL.
Its arguments: the parent's process id, user id and group id (-1 keeps them), the environment as JSON, the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1


def child(
    start: Callable[..., subprocess.Popen[bytes]],
    uid: int,
    gid: int,
    environment: dict[str, str],
    command: list[str],
) -> subprocess.Popen[bytes]:
    """The process that is, or becomes, `command` as `uid` and `gid` (-1: as this process); `start` is a Popen."""
    if _runs_python(sys.executable):
        own = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(uid), str(gid), json.dumps(environment)]
        return start([*own, *command])
    if uid < 0:
        return start(command, env=environment)
    return start(command, env=environment, user=uid, group=gid, extra_groups=[])


def _runs_python(path: str | None) -> bool:
    # Inside another program (uwsgi, a frozen one) sys.executable is that program, or empty.
    return bool(path) and Path(path).name.startswith(("python", "pypy")) and os.access(path, os.X_OK)


def main(parent: int, uid: int, gid: int, environment: dict[str, str], command: list[str]) -> None:
    """Become `command`, unless the parent is gone already."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if libc is not None:
        # SIGINT is PostgreSQL's fast shutdown. Changing the user clears the request, hence the order.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    if os.getppid() == parent:
        os.execve(command[0], command, environment)  # noqa: S606 - to become PostgreSQL is its purpose


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]), sys.argv[5:])
