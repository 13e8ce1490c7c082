"""Names are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold import state
from steadhold.kit.limits import PATH_BYTES_MAX
from steadhold.kit.paths import BEHIND_ALL
from steadhold.state.plans import SQL
from tests.operations.generic_plan import WHOLE, conditions, crowd, walks

crowded = crowd("""
insert into steadhold.state (workspace, name, revision, present, bytes, digest, changed_at)
  select %(w)s, 'n/' || n, 1, n %% 10 > 0, 1, '', steadhold.clock() from generate_series(1, 5000) n;
insert into steadhold.state_revisions (workspace, name, revision, body, digest, written_at)
  select %(w)s, 'n/' || n, 1, '1', '', steadhold.clock() from generate_series(1, 5000) n
""")


@pytest.mark.parametrize(
    "name", ["write", "look", "look_at", "hold", "readable", "revisions", "old_tombstones", "bury"]
)
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [found[table] for table in ("state", "state_revisions") if WHOLE & found.get(table, set())] == []


def test_a_write_reads_no_names_but_those_it_writes(crowded):
    conds = conditions(crowded, SQL.write, "state_pkey")
    assert (len(conds), [cond for cond in conds if "name = ANY" not in cond]) == (3, [])


def test_names_under_a_prefix_are_a_range_of_the_index(crowded):
    assert walks(crowded, SQL.names) == {"state": {"state_pkey"}}
    (cond,) = conditions(crowded, SQL.names, "state_pkey")
    assert ("name >= $" in cond, "name < $" in cond) == (True, True)


@pytest.mark.parametrize("last", ["\U0010ffff" * (PATH_BYTES_MAX // 4), "\U0010fffe" * 100, "zzz"])
def test_every_name_lies_before_the_end(last):
    assert last.encode() < BEHIND_ALL.encode()


def test_a_write_of_a_name_that_stands_touches_no_index(conn, workspace):
    hot = "select pg_stat_get_xact_tuples_hot_updated('steadhold.state'::regclass)"
    (before,) = conn.execute(hot).fetchone()
    made = state.put(conn, workspace, "n", b"1", None)
    state.put(conn, workspace, "n", b"2", made.revision)
    assert conn.execute(hot).fetchone() == (before + 1,)
