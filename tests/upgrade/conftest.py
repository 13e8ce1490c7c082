"""A PostgreSQL of the upgrade tests' own: they crash its backends and make databases from nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steadhold.db import binaries
from steadhold.db.embedded import Embedded

MEMORY = Path("/dev/shm")
FOUND = {b.major: b for b in reversed(list(binaries.everywhere()))}


@pytest.fixture(scope="module", params=sorted(FOUND), ids=lambda major: f"pg{major}")
def server(request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """A running PostgreSQL, of each major version found here."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2**30
    path = Path(tempfile.mkdtemp(prefix="steadhold-test-", dir=MEMORY if roomy else None))
    path.chmod(0o755)  # for the user that PostgreSQL runs as under root
    with Embedded(path / "data", throwaway=True, pg_bin=FOUND[request.param]) as pg:
        yield pg
    shutil.rmtree(path)
