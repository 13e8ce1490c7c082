"""Hot statements reach their rows by primary key, whatever their arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.operations.plans import SQL
from steadhold.play.transaction import opening
from tests.operations.generic_plan import walks


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which the tables hold so much that a scan would never do."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute(
            "insert into steadhold.claims select %s, 'k' || n, '' from generate_series(1, 5000) n", [workspace]
        )
        conn.execute(
            "insert into steadhold.receipts select %s, 'k' || n, false, '', '', '', '', 200, '', '', '[]', null, null,"
            " null, steadhold.clock() from generate_series(1, 5000) n",
            [workspace],
        )
        conn.execute("analyze steadhold.claims, steadhold.receipts")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


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
