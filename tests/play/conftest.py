"""The toy room's table, and players on a pool of the test's database."""

from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from tests.play import toy


@pytest.fixture
def counters(database, workspace):
    """A table of counters in the test's database; returns a maker of names at revision 1."""
    with database.connect() as conn:
        conn.execute("select pg_advisory_xact_lock(7)")
        conn.execute(toy.SCHEMA)

    def make(*names: str) -> None:
        with database.connect() as conn:
            for name in names:
                conn.execute("insert into toy.counters values (%s, %s, 1)", (workspace, name))

    return make


@pytest.fixture
async def pool(dsn, counters):
    """A pool on the test's database, whose schema the toy room has joined."""
    async with Pool(dsn, size=12) as opened:
        yield opened


@pytest.fixture
def revision_of(database, workspace):
    """Read what a counter holds, past all plans."""

    def read(name: str) -> int:
        with database.connect() as conn:
            return toy.revision(conn, workspace, name)

    return read
