"""Inboxes are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.inboxes import plans
from steadhold.inboxes.items import Envelope, item
from steadhold.inboxes.plans import SQL
from tests.operations.generic_plan import WHOLE, crowd, looked_up, walks

TABLES = ("inboxes", "inbox_events", "inbox_keys", "inbox_consumers", "inbox_gaps", "inbox_sweeps", "grants")
APART = ("inboxes.plan_sweep", "inboxes.find_door")
"""What reads nothing, and what a function reads over all workspaces: see test_door_plans."""

crowded = crowd("""
insert into steadhold.inboxes
    (workspace, name, id, revision, present, epoch, incarnation, last_sequence, made_at, changed_at)
  select %(w)s, 'b' || n, md5(n::text)::uuid, 1, true, 'e', 0, 9, c, c
  from generate_series(1, 3000) n, steadhold.clock() c;
insert into steadhold.inbox_events select %(w)s, md5((n %% 30)::text)::uuid, n, 'e' || n, c, null, '', ''
  from generate_series(1, 6000) n, steadhold.clock() c;
insert into steadhold.inbox_keys select %(w)s, md5((n %% 30)::text)::uuid, 'k' || n, n, 'e' || n, sha256(''), c
  from generate_series(1, 6000) n, steadhold.clock() c;
insert into steadhold.inbox_consumers select %(w)s, md5((n %% 3000)::text)::uuid, 'c' || n, 1, true, 0, 0, c, c
  from generate_series(1, 6000) n, steadhold.clock() c;
insert into steadhold.inbox_gaps select %(w)s, md5(n::text)::uuid, 1, 2, 'retention', c
  from generate_series(1, 3000) n, steadhold.clock() c;
insert into steadhold.inbox_sweeps select %(w)s, md5(n::text)::uuid, 'keys', 'b' || n, c
  from generate_series(1, 3000) n, steadhold.clock() c;
insert into steadhold.grants (workspace, subject, fence, holder, length_seconds, until, check_at)
  select %(w)s, 'consumer:b/' || n, 1, 'h', 30, c, c from generate_series(1, 3000) n, steadhold.clock() c
""")


@pytest.mark.parametrize("name", [sql.name.partition(".")[2] for sql in SQL if sql.name not in APART])
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [table for table in TABLES if WHOLE & found.get(table, set())] == []


@pytest.mark.parametrize(
    ("name", "table", "index"),
    [
        ("hold", "inboxes", "inboxes_pkey"),
        ("append", "inboxes", "inboxes_pkey"),
        ("page", "inbox_events", "inbox_events_pkey"),
        ("shrink", "inbox_events", "inbox_events_pkey"),
        ("acknowledge", "inbox_consumers", "inbox_consumers_pkey"),
        ("acknowledge", "grants", "grants_pkey"),
        ("hold_consumer", "inbox_consumers", "inbox_consumers_pkey"),
        ("due_sweeps", "inbox_sweeps", "inbox_sweeps_to_check"),
    ],
)
def test_by_which_index(crowded, name, table, index):
    assert walks(crowded, getattr(SQL, name))[table] == {index}


def test_where_a_consumer_stands_is_asked_in_its_inbox(crowded):
    found = looked_up(crowded, "house_stands", of_workspace="'w'::text", of_id="'inbox:b7:consumer:c7'::text")
    assert found["inbox_consumers"] == {"inbox_consumers_pkey"}
    assert found["inboxes"] == {"inboxes_pkey"}


def test_what_is_looked_up_in_functions_is_found_by_key(crowded):
    """The plan of a statement does not show those of the functions that it calls."""
    tables = "select relname, seq_scan, idx_scan from pg_stat_xact_user_tables where relname = any(%s) order by relname"

    def scans():
        return crowded.execute(tables, [["inbox_keys", "inboxes"]]).fetchall()

    before = scans()
    with crowded.transaction(force_rollback=True):
        (workspace,) = crowded.execute("show steadhold.workspace").fetchone()
        appended = plans.append(crowded, workspace, "b7", [item("k", Envelope("t"), b"1")])
        assert [one.sequence for one in appended] == [10]
        after = scans()
    assert [(name, was == now) for (name, was, _), (_, now, _) in zip(before, after, strict=True)] == [
        ("inbox_keys", True), ("inboxes", True),
    ]  # fmt: skip
    assert all(now > was for (_, _, was), (_, _, now) in zip(before, after, strict=True))
