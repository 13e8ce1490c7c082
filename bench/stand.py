"""What is measured, started for one run and ended with it: PostgreSQL, steadhold servers, etcd, Redis."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import tools
from steadhold.db import binaries
from steadhold.db.embedded import Embedded

POSTGRES: Final = {"max_connections": "400", "shared_buffers": "1GB", "max_wal_size": "4GB"}
"""Beside what `steadhold dev` sets (fsync, synchronous_commit and full_page_writes are on): the same for everyone."""

CORES: Final = os.cpu_count() or 1
"""Peers use all that there are, and so does a server of ours that is given as many processes."""

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    url: str
    pid: int
    operator_key: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def home() -> Iterator[Path]:
    """A folder for data on the disk of this checkout, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="run-", dir=tools.folder()))
    path.chmod(0o711)  # PostgreSQL runs as another user when root runs this
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def postgres(at: Path) -> Iterator[Embedded]:
    """An embedded PostgreSQL that keeps what it acknowledged."""
    with Embedded(at / "postgres", pg_bin=binaries.find(None), settings=POSTGRES) as running:
        yield running


@contextmanager
def server(dsn: str, **settings: str) -> Iterator[Served]:
    """`steadhold serve` in a process of its own, on a free port, with these settings beside."""
    _steadhold("migrate", dsn=dsn)
    key = json.loads(_steadhold("keys", "create", f"bench-{uuid.uuid4().hex[:8]}", "--operator", dsn=dsn))["key"]
    command = (sys.executable, "-m", "steadhold", "serve", "--port", "0")
    told = {f"STEADHOLD_{name.upper()}": value for name, value in settings.items()}
    with _process(command, {"STEADHOLD_DATABASE_URL": dsn, **told}, lines="stderr") as (process, lines):
        yield Served(_url(process, lines), process.pid, key)


@contextmanager
def hop(dsn: str) -> Iterator[int]:
    """A hop of HTTP that does nothing else, in a process of its own; its port."""
    with _process((sys.executable, "-m", "bench.hop", dsn), {}, lines="stdout") as (_, lines):
        yield int(next(lines))


@contextmanager
def hostile(count: int) -> Iterator[list[str]]:
    """So many receivers of webhooks that mean no good, in a process of their own; their URLs."""
    with _process((sys.executable, "-m", "bench.receivers", str(count)), {}, lines="stdout") as (_, lines):
        yield [next(lines).strip() for _ in range(count)]


@contextmanager
def etcd(at: Path) -> Iterator[int]:
    """One member of etcd on loopback, as it comes; its port."""
    program = tools.etcd()
    client, peer = free_port(), free_port()
    command = (
        str(program), "--data-dir", str(at / "etcd"), "--log-level", "error", "--logger", "zap",
        "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
        "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
        "--initial-cluster", f"default=http://127.0.0.1:{peer}",
    )  # fmt: skip
    with _process(command, {}) as (process, _):
        _until_healthy(process, f"http://127.0.0.1:{client}/health")
        yield client


def etcd_version() -> str:
    """As the program says it."""
    told = subprocess.run([str(tools.etcd()), "--version"], capture_output=True, text=True, check=False).stdout
    return told.partition("\n")[0].rpartition(" ")[2]


@contextmanager
def redis(at: Path, *, always: bool) -> Iterator[int]:
    """A Redis on loopback, as it comes, or keeping each write before it is answered; its port."""
    program, environment = tools.redis()
    port = free_port()
    folder = at / ("redis-always" if always else "redis")
    folder.mkdir(exist_ok=True)
    kept = ("--appendonly", "yes", "--appendfsync", "always") if always else ()
    command = (str(program), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), *kept)
    with _process(command, environment) as (process, _):
        _until_listening(process, port)
        yield port


def redis_version() -> str:
    """As the program says it."""
    program, environment = tools.redis()
    done = subprocess.run(
        [str(program), "--version"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout.partition("v=")[2].partition(" ")[0]


@contextmanager
def nats(at: Path, *, always: bool) -> Iterator[int]:
    """A NATS server with JetStream on loopback, as it comes, or syncing each write before it is answered; its port."""
    port, folder = free_port(), at / ("nats-always" if always else "nats")
    folder.mkdir(exist_ok=True)
    sync = ", sync_interval: always" if always else ""
    config = folder / "nats.conf"
    config.write_text(f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}"{sync} }}\n')
    with _process((str(tools.nats()), "-c", str(config)), {}) as (process, _):
        _until_listening(process, port)
        yield port


def stream(port: int, name: str) -> None:
    """Make a stream of JetStream that keeps the subject of this name in a file."""
    from nats.aio.client import Client as Nats

    async def make() -> None:
        conn = Nats()
        await conn.connect(f"nats://127.0.0.1:{port}")
        await conn.jetstream().add_stream(name=name, subjects=[f"bench.in.{name}"])
        await conn.close()

    _apart(make)


def nats_version() -> str:
    """As the program says it."""
    told = subprocess.run([str(tools.nats()), "--version"], capture_output=True, text=True, check=False).stdout
    return told.strip().rpartition("v")[2]


def _apart(make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run something asynchronous to its end, from within whatever runs."""
    with ThreadPoolExecutor(1) as apart:
        apart.submit(lambda: asyncio.run(make())).result()


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def _process(
    command: tuple[str, ...], more: dict[str, str], lines: str = ""
) -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    pipe = {lines: subprocess.PIPE} if lines else {}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **pipe}
    process = subprocess.Popen(command, env={**os.environ, **more}, text=True, **streams)
    try:
        yield process, iter(getattr(process, lines)) if lines else iter(())
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ask a process of ours to stop, and make it."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _steadhold(*arguments: str, dsn: str) -> str:
    environment = {**os.environ, "STEADHOLD_DATABASE_URL": dsn}
    command = (sys.executable, "-m", "steadhold", *arguments)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"steadhold {arguments[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _url(process: subprocess.Popen[str], lines: Iterator[str]) -> str:
    for line in lines:
        with contextlib.suppress(ValueError):
            if (said := json.loads(line)).get("event") == "ready":
                _let_drain(lines)
                return said["url"]
    raise RuntimeError(f"the server ended with {process.wait()} before it was ready")


def _let_drain(lines: Iterator[str]) -> None:
    import threading

    threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()


def _until_healthy(process: subprocess.Popen[str], url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=1) as answer:  # noqa: S310 - loopback
            if b"true" in answer.read():
                return
        time.sleep(0.05)
    raise RuntimeError(f"etcd was not healthy within {START_SECONDS} seconds")


def _until_listening(process: subprocess.Popen[str], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listened within {START_SECONDS} seconds")


def workspace(served: Served, name: str) -> str:
    """Make a workspace; its key."""
    from steadhold import Client

    with Client(served.url, served.operator_key) as client:
        return client.workspaces.create(name).key
