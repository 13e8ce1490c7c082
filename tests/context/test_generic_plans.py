"""Paths, revisions and references are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.context.writing import SQL
from tests.operations.generic_plan import WHOLE, conditions, crowd, walks

TABLES = ("context_files", "context_revisions", "context_pins", "context_uploads", "blobs")
crowded = crowd("""
insert into steadhold.context_files
  (workspace, path, file, revision, present, bytes, digest, content_type, changed_at)
  select %(w)s, 'n/' || n, steadhold.file_of(n::text, 1), 1, n %% 10 > 0, 1, sha256(n::text::bytea), '',
    steadhold.clock()
  from generate_series(1, 5000) n;
insert into steadhold.context_revisions (workspace, path, revision, file, bytes, digest, content_type, written_at)
  select f.workspace, f.path, 1, f.file, 1, f.digest, '', f.changed_at from steadhold.context_files f
  where f.workspace = %(w)s;
insert into steadhold.blobs (workspace, digest, bytes)
  select f.workspace, f.digest, 'x' from steadhold.context_files f where f.workspace = %(w)s;
insert into steadhold.context_pins (workspace, path, revision, owner, bytes, digest, content_type)
  select r.workspace, r.path, 1, r.path, 1, r.digest, '' from steadhold.context_revisions r
  where r.workspace = %(w)s;
insert into steadhold.context_uploads (workspace, upload, names, bytes, until)
  select %(w)s, n::text, 1, 1, steadhold.clock() from generate_series(1, 5000) n
""")

COUNTING = {"usage", "reserve", "pin", "covered"}
"""These count what a workspace has, or only insert, or ask a function that looks by itself."""


def test_who_makes_a_file_reads_no_paths_but_its_own(crowded):
    conds = conditions(crowded, SQL.hold, "context_files_pkey")
    assert (len(conds), [cond for cond in conds if "path = " not in cond]) == (3, [])


@pytest.mark.parametrize("name", sorted({sql.name.partition(".")[2] for sql in SQL} - COUNTING))
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [table for table in TABLES if WHOLE & found.get(table, set())] == []
