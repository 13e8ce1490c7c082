"""Servers in processes of their own, over one database, that can be killed at a named moment and started again."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from steadhold import access
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.failpoints import VARIABLE
from steadhold.kit.ids import new_id
from steadhold.play.transaction import opening
from steadhold.server.settings import Settings
from steadhold.testing.database import Database, copied
from tests.forks import begin

PROGRAM = """
import sys, msgspec
from steadhold.server.run import run
from steadhold.server.settings import Settings
settings = msgspec.json.decode(sys.argv[1], type=Settings)
run(settings, lambda app, url: print(url, flush=True))
"""
LOADED = ("uvloop", "steadhold.server.run")
LOST = (httpx2.TransportError,)
"""What a client sees of a server that was killed."""


class Server:
    """One server process. It listens on a socket of the test's, so another can take its place at once."""

    def __init__(self, dsn: str, *, failpoints: str = "", listener: socket.socket | None = None, **settings: Any):
        self.listener = listener.dup() if listener else socket.create_server(("127.0.0.1", 0), backlog=1024)
        made = Settings(database_url=dsn, listen_fd=self.listener.fileno(), **settings)
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self.process = begin(
            ["-c", PROGRAM, msgspec.json.encode(made).decode()],
            load=LOADED,
            stdout=subprocess.PIPE,
            stderr=self.log,
            pass_fds=[self.listener.fileno()],
            env={**os.environ, VARIABLE: failpoints},
        )
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.said()

    def said(self) -> str:
        """All that it has logged."""
        self.log.seek(0)
        return self.log.read().decode()

    def died(self) -> None:
        """Wait until it was killed."""
        assert self.process.wait(30) == -signal.SIGKILL, self.said()

    def kill(self) -> None:
        """Kill it, however it stands."""
        self.process.kill()
        self.process.wait(30)

    def cpu_seconds(self) -> float:
        """User and system time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self) -> int:
        """Memory that it holds now."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def client(self, key: str, **settings: Any) -> httpx2.Client:
        """A client that sends what it is told, once."""
        return httpx2.Client(**_settings(self.url, key), **settings)

    def aclient(self, key: str, **settings: Any) -> httpx2.AsyncClient:
        """The same, asynchronous, with a connection for each of many."""
        return httpx2.AsyncClient(**_settings(self.url, key), **settings)

    def close(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        self.kill()
        self.process.stdout.close()
        self.listener.close()
        self.log.close()


def _settings(url: str, key: str) -> dict[str, Any]:
    limits = httpx2.Limits(max_connections=200, max_keepalive_connections=200)
    headers = {"authorization": f"Bearer {key}", "accept-encoding": "identity"}
    return {"base_url": url, "headers": headers, "limits": limits, "timeout": 60, "trust_env": False, "verify": False}


@contextmanager
def server(dsn: str, **options: Any) -> Iterator[Server]:
    """A server process for as long as the block runs."""
    made = Server(dsn, **options)
    try:
        yield made
    finally:
        made.close()


def key_in(database: Database, workspace: str, *, kind: str = "person", scopes: tuple[str, ...] = ("*:*",)) -> str:
    """A new key of a workspace, made at the database."""
    token = Token("test", key_id_of(new_id()), secret_of(secrets.token_bytes(32)))
    with database.connect() as conn, conn.transaction():
        conn.execute(opening(workspace, 5_000).encode())
        made = access.import_key(
            conn, workspace, token.key_id, token.hash, env="test", subject=kind, kind=kind, scopes=scopes
        )
    assert isinstance(made, access.Made)
    return token.text


@pytest.fixture(scope="module")
def house(server_run) -> Iterator[Database]:
    """A database for the servers of one module."""
    with copied(server_run, "faults") as made:
        yield made


@pytest.fixture
def place(house) -> str:
    """A workspace of the house that no other test uses."""
    return house.new_workspace()


@pytest.fixture
def key(house, place) -> str:
    """A key that may do everything in the place."""
    return key_in(house, place)
