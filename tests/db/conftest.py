"""Every PostgreSQL found on this machine, and folders its user can reach."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from steadhold.db import binaries
from steadhold.db.binaries import Binaries
from steadhold.db.embedded import Embedded
from steadhold.db.migrate import files, migrate
from steadhold.db.pool import Pool

FOUND = {b.major: b for b in reversed(list(binaries.everywhere()))}
MEMORY = Path("/dev/shm")
HOUSE = files()[:1]


@pytest.fixture(params=sorted(FOUND), ids=lambda major: f"pg{major}", scope="session")
def pg_bin(request: pytest.FixtureRequest) -> Binaries:
    """One PostgreSQL after the other, of each major version found here."""
    return FOUND[request.param]


@pytest.fixture(scope="session")
def newest() -> Binaries:
    return FOUND[max(FOUND)]


def _open_folder() -> Path:
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2**30
    path = Path(tempfile.mkdtemp(prefix="steadhold-test-", dir=MEMORY if roomy else None))
    path.chmod(0o755)  # pytest's own folders are closed to the user that PostgreSQL runs as under root
    return path


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for data folders, gone afterwards."""
    path = _open_folder()
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def server(pg_bin: Binaries) -> Iterator[Embedded]:
    """A running PostgreSQL that tests share; they make databases of their own on it."""
    path = _open_folder()
    with Embedded(path / "data", throwaway=True, pg_bin=pg_bin) as pg:
        yield pg
    shutil.rmtree(path)


@pytest.fixture
async def empty(server: Embedded) -> AsyncIterator[str]:
    """The URL of a database with nothing in it."""
    name = f"test_{os.urandom(6).hex()}"
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"create database {name}")
    yield server.dsn_of(name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


@pytest.fixture
async def housed(empty: str) -> str:
    """The URL of a database with the first migration in it."""
    await migrate(empty, known=HOUSE)
    return empty


@pytest.fixture
async def pool(housed: str) -> AsyncIterator[Pool]:
    async with Pool(housed, size=2) as made:
        yield made


@pytest.fixture
async def admin(housed: str) -> AsyncIterator[asyncpg.Connection]:
    made = await asyncpg.connect(housed)
    yield made
    await made.close()
