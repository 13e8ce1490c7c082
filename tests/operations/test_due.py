"""Whether anything is due is found out by index, however much is kept that is not."""

from __future__ import annotations

from tests.operations.due import EXECUTES
from tests.operations.generic_plan import crowd

BY_INDEX = {
    "enable_hashjoin=off", "enable_mergejoin=off", "enable_seqscan=off", "enable_bitmapscan=off", "enable_nestloop=on",
    "jit=off", "search_path=pg_catalog, pg_temp",
}  # fmt: skip

crowded = crowd("""
insert into steadhold.receipts
    (workspace, key, abandoned, kind, scope, scoped, subject, status, body, content_type, headers, committed_at)
  select %(w)s, 'k' || n, false, 'k', 's', 's', 'u', 200, '', 't', '', c
  from generate_series(1, 3000) n, steadhold.clock() c;
insert into steadhold.grants (workspace, subject, fence, holder, length_seconds, until, check_at)
  select %(w)s, 'lock:l' || n, 1, 'h', 30, c, c + interval '1 hour'
  from generate_series(1, 3000) n, steadhold.clock() c
""")
"""Much is kept of which nothing is due."""

READ = """
select sum(seq_tup_read + idx_tup_fetch)::int from pg_stat_xact_user_tables where relname in ('grants', 'receipts')
"""


def test_what_is_not_due_is_not_read(crowded):
    before, *_ = crowded.execute(READ).fetchone()
    crowded.execute("select * from steadhold.due()")
    after, *_ = crowded.execute(READ).fetchone()
    assert after - before < 1_000  # what tests before this one left, of other workspaces


def test_all_that_looks_for_what_is_due_does_so_by_index(conn):
    """A function that is made anew forgets how it is planned: give it these settings, and a text to execute."""
    of_ours = "pronamespace = 'steadhold'::regnamespace and proname like %s"
    asked = f"select proname, proconfig, prosrc, prosecdef from pg_proc where {of_ours}"
    found = conn.execute(asked, [r"due\_%"]).fetchall()
    assert len(found) >= 17
    assert [name for name, settings, *_ in found if not set(settings) >= BY_INDEX] == []
    assert [name for name, _, body, _ in found if not EXECUTES.fullmatch(body)] == []
    assert all(definer for *_, definer in found)
