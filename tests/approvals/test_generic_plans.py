"""Approvals are reached by index, whatever the arguments turn out to be, and however many have ended."""

from __future__ import annotations

import pytest

from steadhold.approvals.moving import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

crowded = crowd("""
insert into steadhold.approvals
    (workspace, id, revision, reference, version, hash, action, title, requester, approvers_scope, quorum,
    allow_requester, created_at, expires_at, usable_seconds, state, ended_at, due_at)
  select %(w)s, gen_random_uuid(), 1, 'r', '1', 'sha256:' || repeat('0', 64), 'a', 't', 'q', 'approvals:vote', 1,
    false, c, c + interval '1 hour', 60, case when n %% 50 = 0 then 'pending' else 'rejected' end,
    case when n %% 50 > 0 then c end, case when n %% 50 = 0 then c + interval '1 hour' end
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.approval_acts (workspace, approval, revision, act, subject, scopes, at)
  select workspace, id, 1, 'request', 'q', '{}', created_at from steadhold.approvals where workspace = %(w)s
""")


@pytest.mark.parametrize("name", ["request", "hold", "look", "deeds", "move", "passing", "approved"])
def test_nothing_is_scanned(crowded, name):
    found = walks(crowded, getattr(SQL, name))
    assert [found[table] for table in ("approvals", "approval_acts") if WHOLE & found.get(table, set())] == []


@pytest.mark.parametrize("name", ["hold", "look", "move"])
def test_an_id_is_found_by_its_key(crowded, name):
    assert walks(crowded, getattr(SQL, name))["approvals"] == {"approvals_pkey"}


def test_what_is_due_is_found_without_what_has_ended(crowded):
    assert walks(crowded, SQL.passing)["approvals"] == {"approvals_due"}
