"""A server in a process of its own: where it listens, and how it stops."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.server.listening import ListenError, listen
from steadhold.server.settings import Settings

pytestmark = pytest.mark.journeys

PROGRAM = """
import sys, msgspec
from steadhold.server.run import run
from steadhold.server.settings import Settings
settings = msgspec.json.decode(sys.argv[1], type=Settings)
run(settings, lambda app, url: print(url, flush=True))
print("stopped", flush=True)
"""


@contextmanager
def server(settings: Settings, **popen) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, msgspec.json.encode(settings).decode()],
        stdout=subprocess.PIPE,
        text=True,
        **popen,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(family: int, address, path: str = "/livez") -> bytes:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.connect(address)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: client.recv(65536), b""))


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_a_signal_and_says_so(dsn, number, request):
    """How long it took is a note in the report (`--junit-xml`), for whoever writes it into a document."""
    with server(Settings(database_url=dsn, port=0)) as (process, url):
        assert ask(socket.AF_INET, address_of(url)).endswith(b'{"alive":true}')
        told = time.monotonic()
        process.send_signal(number)
        assert process.wait(20) == 0
        request.node.user_properties.append(("stop_seconds", round(time.monotonic() - told, 3)))
        assert process.stdout.read() == "stopped\n"


def test_idle_connections_and_half_sent_heads_do_not_hold_it_up(dsn):
    with server(Settings(database_url=dsn, port=0)) as (process, url):
        clients = [socket.create_connection(address_of(url)) for _ in range(3)]
        clients[0].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert clients[0].recv(65536).endswith(b'{"alive":true}')  # head and body leave in one write
        clients[1].sendall(b"GET /livez HTTP/1.1\r\nHost")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        for client in clients:
            client.close()


def test_a_unix_socket_is_for_owner_and_group_and_goes_with_the_server(dsn, tmp_path):
    path = tmp_path / "s"
    path_left_behind = socket.socket(socket.AF_UNIX)
    path_left_behind.bind(str(path))
    path_left_behind.close()
    with server(Settings(database_url=dsn, unix_socket=str(path))) as (process, url):
        assert url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        assert ask(socket.AF_UNIX, str(path)).endswith(b'{"alive":true}')
        with pytest.raises(ListenError, match="Address already in use"):
            listen(Settings(unix_socket=str(path)))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert not path.exists()


def test_an_inherited_socket_is_shared_by_processes(dsn):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd = listener.fileno()
        settings = Settings(database_url=dsn, listen_fd=fd)
        with server(settings, pass_fds=[fd]) as (first, url), server(settings, pass_fds=[fd]) as (second, same):
            assert url == same
            first.send_signal(signal.SIGTERM)
            assert first.wait(20) == 0
            assert ask(socket.AF_INET, address_of(same)).endswith(b'{"alive":true}')
            second.send_signal(signal.SIGTERM)
            assert second.wait(20) == 0


def test_an_address_that_is_taken_is_said_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: Address already in use. Choose another"):
            listen(Settings(port=port))
    with pytest.raises(ListenError, match="no socket of this process"):
        listen(Settings(listen_fd=9_999))


def test_a_client_that_is_silently_gone_is_missed_by_what_it_does_not_acknowledge():
    """A stream writes from time to time; the system would send that again for a quarter of an hour."""
    with listen(Settings(port=0)) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            milliseconds = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert milliseconds == limits.ANSWER_SECONDS_MAX * 1_000


def test_a_database_that_is_not_migrated_is_said_before_anyone_is_served(database, dsn):
    name = f"empty_{os.getpid()}_{threading.get_native_id()}"
    with database.connect() as conn:
        conn.execute(f"create database {name}".encode())
    try:
        settings = Settings(database_url=_of(dsn, name), port=0)
        with server(settings, stderr=subprocess.PIPE) as (process, url):
            assert url == ""
            assert process.wait(20) != 0
            assert "Run: steadhold migrate" in process.stderr.read()
            process.stderr.close()
        with server(Settings(database_url=_of(dsn, name), port=0, migrate=True)) as (process, url):
            assert ask(socket.AF_INET, address_of(url), "/readyz").endswith(b'"clock":"ok"}}')
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    finally:
        with database.connect() as conn:
            conn.execute(f"drop database {name} with (force)".encode())


def _of(dsn: str, name: str) -> str:
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))
