"""Real `steadhold` processes, as whoever runs the tests and, where that is root, as a normal user as well."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import steadhold
from steadhold.db.account import Account, barrier, choose

USERS = ("me", "nobody") if os.geteuid() == 0 else ("me",)
BASE = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8"}
SOURCES = Path(steadhold.__file__).parents[1]


@dataclass(frozen=True, slots=True)
class User:
    """Whom processes run as, and with which Python."""

    python: str = sys.executable
    environ: Mapping[str, str] = field(default_factory=dict)
    account: Account | None = None

    @property
    def switch(self) -> dict[str, Any]:
        """What `subprocess` is told to become this user."""
        if self.account is None:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}

    def own(self, folder: Path) -> None:
        """Hand a folder over."""
        if self.account is not None:
            os.chown(folder, self.account.uid, self.account.gid)


@contextmanager
def normal_user() -> Iterator[User]:
    """A user that is not root, with a Python that it can run: root's own may lie where nobody else gets."""
    account = choose()
    home = Path(tempfile.mkdtemp(prefix="steadhold-python-"))
    home.chmod(0o755)
    python, library = Path(sys.executable), Path(sysconfig.get_path("stdlib"))
    needed = (python, python.resolve(), library, SOURCES / "steadhold")
    try:
        if all(barrier(path, account) is None for path in needed):
            yield User(account=account)
        else:
            yield User(*_copied(home), account)
    finally:
        shutil.rmtree(home)


def _copied(home: Path) -> tuple[str, Mapping[str, str]]:
    """The interpreter, its library and what is installed, linked where possible."""
    standard, installed = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    apart = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib", "*.a")
    _tree(standard, home / "lib" / standard.name, apart)
    _tree(installed, home / "installed", shutil.ignore_patterns("__pycache__"))
    _tree(SOURCES, home / "src", shutil.ignore_patterns("__pycache__"))
    (home / "bin").mkdir()
    program = home / "bin" / "python3"
    _link(os.path.realpath(sys.executable), str(program))
    for library in Path(sysconfig.get_config_var("LIBDIR") or "/nowhere").glob("libpython3*.so*"):
        _link(str(library), str(home / "lib" / library.name))
    paths = {"PYTHONHOME": str(home), "PYTHONPATH": f"{home / 'src'}:{home / 'installed'}"}
    return str(program), {**paths, "LD_LIBRARY_PATH": str(home / "lib")}


def _tree(source: Path, to: Path, apart: Callable[..., Any]) -> None:
    shutil.copytree(source, to, ignore=apart, copy_function=_link, symlinks=False)


def _link(source: str, to: str) -> None:
    try:
        os.link(os.path.realpath(source), to)
    except OSError:
        shutil.copy2(source, to)


class Program:
    """One `steadhold` process. What it logs is kept in a file, and shown when it does not come up."""

    def __init__(
        self,
        *words: str,
        user: User,
        log: Path,
        environ: Mapping[str, str] | None = None,
        errors: bool = False,
        module: str | None = "steadhold",
        **popen: Any,
    ) -> None:
        self.log = log
        with log.open("ab") as kept:
            self.process = subprocess.Popen(
                [user.python, *(("-m", module) if module else ()), *words],
                stdin=subprocess.DEVNULL,
                stdout=popen.pop("stdout", subprocess.PIPE),
                stderr=subprocess.PIPE if errors else kept,
                env={**BASE, **user.environ, **(environ or {})},
                cwd=popen.pop("cwd", "/"),
                **user.switch,
                **popen,
            )
        self.errors = self.process.stderr

    def line(self) -> dict[str, Any]:
        """The next line that it prints."""
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError(f"it ended with {self.process.wait()}: {self.log.read_text()}")
        return json.loads(said)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait; what it exits with."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait until it has ended; what it exits with."""
        return self.process.wait(60)

    def close(self) -> None:
        """Leave nothing behind, however a test ended: PostgreSQL ends before its server does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in filter(None, (self.process.stdout, self.process.stderr)):
            stream.close()
