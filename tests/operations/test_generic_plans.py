"""Hot statements reach their rows by primary key, whatever their arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.operations.plans import SQL
from tests.operations.generic_plan import crowd, walks

crowded = crowd("""
insert into steadhold.claims select %(w)s, 'k' || n, '' from generate_series(1, 5000) n;
insert into steadhold.receipts
  select %(w)s, 'k' || n, false, '', '', '', '', 200, '', '', '[]', null, null, null, steadhold.clock()
  from generate_series(1, 5000) n
""")


@pytest.mark.parametrize("name", ["recall", "look", "free"])
def test_a_key_is_found_by_its_primary_key(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    found.pop("receipt_horizons", None)
    for table, by in found.items():
        assert by == {f"{table}_pkey"}


def test_a_list_walks_the_primary_key(crowded):
    assert walks(crowded, SQL.list) == {"receipts": {"receipts_pkey"}}


def test_what_is_near_an_instant_walks_the_index_by_age(crowded):
    assert walks(crowded, SQL.near) == {"receipts": {"receipts_by_age"}}
