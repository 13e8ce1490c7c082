"""Grants are reached by primary key, and the sweep by its own index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.fences.plans import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

crowded = crowd("""
insert into steadhold.grants (workspace, subject, fence, holder, key, length_seconds, until, check_at)
  select case when n > 5000 then 'w' || n else %(w)s end, 'job:' || n, 1, 'a', 'k' || n, 60, at, at
  from generate_series(1, 9000) n, steadhold.clock() c, lateral (select c + n * interval '1 s' as at) until
""")
"""One workspace is large, and most are small."""


@pytest.mark.parametrize("name", ["grant", "restart", "look", "hold", "own", "renew", "release", "finish", "drop"])
def test_a_grant_is_found_by_its_primary_key(crowded, name):
    assert walks(crowded, getattr(SQL, name))["grants"] == {"grants_pkey"}


def test_a_sweep_walks_what_is_to_be_looked_at(crowded):
    assert "grants_to_check" in walks(crowded, SQL.lapsed)["grants"]
    assert not WHOLE & walks(crowded, SQL.lapsed)["grants"]


def test_what_was_taken_under_a_key_is_found_by_it(crowded):
    assert walks(crowded, SQL.under_key)["grants"] == {"grants_by_key"}
