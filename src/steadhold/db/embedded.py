"""PostgreSQL as a child of this process: started, watched, restarted when it dies, stopped with it.

One thread owns the child, from its start until it has been reaped: on Linux the kernel ties a child's
death signal to the thread that started it, and a child nobody reaps keeps the next one from starting.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from steadhold.db import binaries as programs
from steadhold.db import launch, postmaster
from steadhold.db.account import choose
from steadhold.db.binaries import Binaries
from steadhold.db.errors import EmbeddedError
from steadhold.db.folder import OWNER, Folder

READY_SECONDS = 300.0  # recovery after a crash reads all of the log since the last checkpoint
LOOK_SECONDS = 0.01
BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS = 0.05, 2.0
FAST_SECONDS, IMMEDIATE_SECONDS = 20.0, 5.0
PORT = 5432

BASE = {
    "unix_socket_permissions": "0700",
    "log_line_prefix": "%m [%p] ",
    "logging_collector": "off",
    "log_destination": "stderr",
    "cluster_name": "steadhold",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
    "random_page_cost": "1.1",
    "max_connections": "100",
    "idle_in_transaction_session_timeout": "5min",
    "client_connection_check_interval": "2s",  # a dead client's statement does not wait on for its lock
}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_wal_size": "2GB"}
THROWAWAY = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "200",
}


def _ignore(_: str) -> None:
    pass


class Embedded:
    """A PostgreSQL of our own on `data_dir`, for as long as the context lasts (`with` or `async with`).

    `throwaway`: for tests; gives up durability, and `stop` does not wait for a checkpoint.
    `port`: also listens on 127.0.0.1, with the password in `data_dir/password`; None: the socket only.
    `pg_bin`: a folder with postgres and initdb; None: the chain of `binaries.find`.
    `user`: whom a root process runs it as; None: nobody. `settings`: more of PostgreSQL's, these win.
    `environment`: more variables for postgres itself. `on`: told, in sentences, of restarts and repairs;
    it is called in the supervisor's thread.

    One process holds a folder at a time; a second one gets EmbeddedError.
    """

    def __init__(
        self,
        data_dir: str | Path,
        *,
        throwaway: bool = False,
        port: int | None = None,
        pg_bin: str | Path | Binaries | None = None,
        user: str | None = None,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        on: Callable[[str], None] = _ignore,
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.throwaway = throwaway
        self.port = port
        self._pg_bin = pg_bin
        self._user = user
        self._settings = BASE | (THROWAWAY if throwaway else DURABLE) | dict(settings or {})
        self._environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **(environment or {})}
        self._on = on
        self._turn = threading.Condition()
        self._process = -1
        self._child: subprocess.Popen[bytes] | None = None
        self._ready = self._stopping = False
        self._failure: EmbeddedError | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Return once PostgreSQL answers. Raises EmbeddedError with what to do, and leaves nothing running."""
        self._process = os.getpid()
        self._folder = Folder(self.data_dir, choose(self._user))
        self._folder.hold()
        try:
            self._binaries = self._choose()
            said = postmaster.clear(self._folder.pgdata)
            self._folder.prepare(self._binaries, throwaway=self.throwaway)
            if said:
                self._on(said)
            self._begin()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop PostgreSQL, reap it and let go of the folder; a second call does nothing."""
        if os.getpid() != self._process:  # a fork of ours: the child is not its own
            return
        atexit.unregister(self.stop)
        with self._turn:
            self._stopping = True
            self._turn.notify_all()
        if self._thread is not None:
            for number, seconds in self._ways_to_stop():
                self._send(number)
                self._thread.join(seconds)
                if not self._thread.is_alive():
                    break
            self._thread = None
        self._folder.release()

    def kill(self) -> None:
        """Kill PostgreSQL as a crash would; the supervisor starts it again. For tests of faults."""
        self._send(signal.SIGKILL)

    @property
    def pid(self) -> int:
        """The postmaster's process id now; it changes with a restart."""
        child = self._child
        if child is None:
            raise EmbeddedError("PostgreSQL is not running.")
        return child.pid

    @property
    def version(self) -> str:
        """For example `18.6`."""
        return self._binaries.version

    @property
    def dsn(self) -> str:
        """A connection URL by the socket; asyncpg, psycopg and psql all read it."""
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        """The same for another database of this PostgreSQL."""
        where = quote(str(self._folder.socket_dir), safe="/")
        return f"postgresql://{OWNER}@/{quote(database, safe='')}?host={where}&port={self.port or PORT}"

    @property
    def tcp_dsn(self) -> str:
        """A connection URL by TCP, password included. Raises EmbeddedError when no port was asked for."""
        if self.port is None:
            raise EmbeddedError("This PostgreSQL listens on its socket only. Start it with a port to reach it by TCP.")
        return f"postgresql://{OWNER}:{self._folder.password}@127.0.0.1:{self.port}/postgres"

    def wait_ready(self, *, not_pid: int | None = None, seconds: float = READY_SECONDS) -> int:
        """Block until a postmaster other than `not_pid` is ready, at most `seconds`; returns its process id."""
        with self._turn:
            done = self._turn.wait_for(lambda: self._answers(not_pid) or self._failure or self._stopping, seconds)
            if self._failure is not None:
                raise self._failure
            if not done or not self._answers(not_pid):
                raise EmbeddedError(f"PostgreSQL was not ready within {seconds:g} s. It wrote:\n{self._folder.tail()}")
            return self.pid

    def _answers(self, not_pid: int | None) -> bool:
        return self._ready and self._child is not None and self._child.pid != not_pid

    def _choose(self) -> Binaries:
        if isinstance(self._pg_bin, Binaries):
            found = self._pg_bin
        else:
            found = programs.find(self._pg_bin, major=self._folder.major())
        return programs.reachable(found, self._folder.account)

    def _begin(self) -> None:
        self._stopping, self._failure = False, None
        self._thread = threading.Thread(target=self._supervise, name="steadhold-postgres", daemon=True)
        atexit.register(self.stop)
        self._thread.start()
        self.wait_ready()

    def _ways_to_stop(self) -> tuple[tuple[signal.Signals, float], ...]:
        fast = () if self.throwaway else ((signal.SIGINT, FAST_SECONDS),)
        return (*fast, (signal.SIGQUIT, IMMEDIATE_SECONDS), (signal.SIGKILL, IMMEDIATE_SECONDS))

    def _send(self, number: signal.Signals) -> None:
        child = self._child
        if child is not None:
            child.send_signal(number)

    def _supervise(self) -> None:
        pause = BACKOFF_FIRST_SECONDS
        proven = False
        while True:
            try:
                was_ready, said = self._live()
            except (OSError, EmbeddedError) as error:
                was_ready, said = False, f"PostgreSQL could not be run: {error}"
            if self._stopping:
                return
            if not proven and not was_ready:
                self._fail(f"{said}. It wrote:\n{self._folder.tail()}")
                return
            proven = True
            pause = BACKOFF_FIRST_SECONDS if was_ready else min(pause * 2, BACKOFF_MAX_SECONDS)
            self._on(f"{said}; starting it again in {pause:g} s.")
            self._rest(pause)

    def _live(self) -> tuple[bool, str]:
        """One life of PostgreSQL, from start to reaped: whether it was ready, and how it ended."""
        child = self._spawn()
        was_ready = child is not None and self._watch(child)
        code = child.wait() if child is not None else 0
        with self._turn:
            self._ready, self._child = False, None
        if code != 0:
            postmaster.clear(self._folder.pgdata)  # its own children may outlive it by a moment
        return was_ready, f"PostgreSQL ended (code {code})"

    def _fail(self, said: str) -> None:
        with self._turn:
            self._failure = EmbeddedError(said)
            self._turn.notify_all()

    def _rest(self, seconds: float) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._stopping, seconds)

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        with self._turn, self._folder.log.open("ab") as log:
            if self._stopping:
                return None
            # Its own session, so that Ctrl-C in a terminal reaches the server first and PostgreSQL through it.
            start = partial(
                subprocess.Popen[bytes],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
            account = self._folder.account
            uid, gid = (account.uid, account.gid) if account.lent else (-1, -1)
            self._child = launch.child(start, uid, gid, self._environment, self._command())
            return self._child

    def _command(self) -> list[str]:
        socket = {
            "unix_socket_directories": str(self._folder.socket_dir),
            "listen_addresses": "127.0.0.1" if self.port else "",
            "port": str(self.port or PORT),
        }
        given = [f"--{name}={value}" for name, value in (self._settings | socket).items()]
        return [str(self._binaries.postgres), "-D", str(self._folder.pgdata), *given]

    def _watch(self, child: subprocess.Popen[bytes]) -> bool:
        """Wait until `child` is ready or dead; True when it was ready."""
        while child.poll() is None:
            found = postmaster.read(self._folder.pgdata)
            # A file left by an earlier postmaster says ready as well; only our child's counts.
            if found is not None and found.ready and found.pid == child.pid:
                with self._turn:
                    self._ready = True
                    self._turn.notify_all()
                return True
            time.sleep(LOOK_SECONDS)
        return False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)
