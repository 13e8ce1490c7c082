"""Bytes and pins are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.blobs.plans import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

crowded = crowd("""
insert into steadhold.blobs (workspace, digest, bytes)
  select %(w)s, sha256(n::text::bytea), 'x' from generate_series(1, 5000) n;
insert into steadhold.pins (workspace, owner, digest)
  select %(w)s, 'o' || n / 10, sha256(n::text::bytea) from generate_series(1, 5000) n;
insert into steadhold.unpinned select %(w)s, sha256(n::text::bytea) from generate_series(1, 5000) n
""")


@pytest.mark.parametrize("name", ["pin", "unpin", "pinned", "read", "part", "adopt", "adopt_rest", "drop", "prune"])
def test_nothing_is_scanned(crowded, name):
    for by in walks(crowded, getattr(SQL, name)).values():
        assert not WHOLE & by


def test_what_lost_a_pin_is_walked_and_nothing_else(crowded):
    found = walks(crowded, SQL.suspects)
    assert "unpinned_pkey" in found["unpinned"]
    assert not WHOLE & found["blobs"]


def test_bytes_are_found_by_their_digest(crowded):
    assert walks(crowded, SQL.read) == {"blobs": {"blobs_pkey"}}
