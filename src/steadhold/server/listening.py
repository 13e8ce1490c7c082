"""Where a server listens: a socket that it inherits, a Unix socket, or host and port."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any, Final

from steadhold.kit import limits
from steadhold.server.settings import Settings

BACKLOG: Final = 2_048


class ListenError(Exception):
    """The address cannot be listened on; the message says which, why, and what to do."""


def listen(settings: Settings) -> socket.socket:
    """Bind what the settings say: an inherited socket, a Unix socket, or host and port. Raises ListenError."""
    if settings.listen_fd >= 0:
        return _inherited(settings.listen_fd)
    if settings.unix_socket:
        return _unix(Path(settings.unix_socket))
    where = f"{settings.host}:{settings.port}"
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _bound(family, kind, address)
    except OSError as error:
        raise ListenError(
            f"Cannot listen on {where}: {error.strerror}. Choose another with --host or --port."
        ) from error


def _bound(family: int, kind: int, address: Any) -> socket.socket:
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections have it from their listener
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limits.ANSWER_SECONDS_MAX * 1_000)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _inherited(fd: int) -> socket.socket:
    try:
        return socket.socket(fileno=fd)
    except OSError as error:
        raise ListenError(f"listen_fd is {fd}, which is no socket of this process: {error.strerror}.") from error


def _unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode) and not _answered(path):
            path.unlink()  # a server that was killed left it
        before = os.umask(0o117)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
    except OSError as error:
        listener.close()
        raise ListenError(f"Cannot listen on {path}: {error.strerror}. Choose another with --unix-socket.") from error
    return listener


def _answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def url_of(settings: Settings, listener: socket.socket) -> str:
    """The address under which a client on this machine finds the server."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared
    return settings.public_url or f"http://{host}:{port}"


def unlisten(settings: Settings, listener: socket.socket) -> None:
    """Listen no more; a Unix socket is taken away."""
    listener.close()
    if settings.unix_socket:
        Path(settings.unix_socket).unlink(missing_ok=True)
