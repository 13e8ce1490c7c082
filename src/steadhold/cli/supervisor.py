"""What systemd and those like it understand: an inherited socket, and being told that a service is ready."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

FIRST_FD: Final = 3


def inherited(environ: Mapping[str, str], pid: int) -> int | None:
    """The socket that was opened for this process (sd_listen_fds(3)); None where there is none."""
    if environ.get("LISTEN_PID") != str(pid) or environ.get("LISTEN_FDS", "0") == "0":
        return None
    return FIRST_FD


def tell(environ: Mapping[str, str], state: str) -> bool:
    """Tell the supervisor, where there is one (sd_notify(3)), for example "READY=1"; whether it was told."""
    path = environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told:
        told.sendto(state.encode(), path.replace("@", "\0", 1) if path.startswith("@") else path)
    return True
