"""Becomes PostgreSQL: gives up root, asks to be told of its parent's death, and executes.

Run as a program of its own, because only between giving up root and exec can that request be made,
and code between fork and exec of a threaded process is unsafe.
Arguments: parent's process id, user id and group id (-1 keeps them), environment as JSON, then the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, uid: int, gid: int, environment: dict[str, str], command: list[str]) -> None:
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
