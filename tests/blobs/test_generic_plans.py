"""Bytes and pins are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.blobs.plans import SQL
from steadhold.play.single import opening
from tests.operations.generic_plan import walks


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which the tables hold so much that a scan would never do."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        digests = "select %s as workspace, sha256(n::text::bytea) as digest from generate_series(1, 5000) n"
        conn.execute(
            f"insert into steadhold.blobs (workspace, digest, bytes) select *, 'x' from ({digests}) d", [workspace]
        )
        conn.execute(
            f"insert into steadhold.pins (workspace, owner, digest) select workspace, 'o', digest from ({digests}) d",
            [workspace],
        )
        conn.execute(f"insert into steadhold.unpinned {digests}", [workspace])
        conn.execute("analyze steadhold.blobs, steadhold.pins, steadhold.unpinned")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


@pytest.mark.parametrize(
    "name", ["pin", "unpin", "pinned", "read", "part", "adopt", "adopt_rest", "drop", "suspects", "prune"]
)
def test_nothing_is_scanned(crowded, name):
    for by in walks(crowded, getattr(SQL, name)).values():
        assert "Seq Scan" not in by


def test_bytes_are_found_by_their_digest(crowded):
    assert walks(crowded, SQL.read) == {"blobs": {"blobs_pkey"}}
