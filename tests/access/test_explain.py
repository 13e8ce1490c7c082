"""What is kept of all workspaces and for ever is found by the index of what is asked: a key, a page of the audit."""

from __future__ import annotations

import pytest

from steadhold.access.plans import SQL
from tests.operations.generic_plan import crowd, looked_up, walks

crowded = crowd("""
insert into steadhold.audit (workspace, at, subject, kind, resource)
  select %(w)s, steadhold.clock(), 's' || n, 'k' || n %% 7, 'r' || n from generate_series(1, 9000) n;
insert into steadhold.key_places select 'key' || n, 'w' || n %% 20 from generate_series(1, 5000) n;
insert into steadhold.keys (workspace, key_id, revision, env, subject, kind, scopes, state, hash, created_at)
  select 'w' || n %% 20, 'key' || n, 1, 'live', 's', 'service', '{*:*}', 'active', sha256('x'), steadhold.clock()
  from generate_series(1, 5000) n;
insert into steadhold.entitlements (workspace, revision, changed_at)
  select 'w' || n, 1, steadhold.clock() from generate_series(0, 400) n
""")


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"subject": "'s7'"}, "audit_subjects"),
        ({"resource": "'r7'"}, "audit_resources"),
        ({"subject": "'s7'", "kind": "'k1'"}, "audit_subjects"),
        ({}, "audit_pkey"),
    ],
)
def test_it_is_planned_for_what_is_asked(crowded, asked, index):
    assert SQL.trail.anew
    said = {"before": "'infinity'", "number": "0", "limit": "101", **asked}
    with crowded.transaction(force_rollback=True):
        crowded.execute("set local plan_cache_mode = force_custom_plan")
        ((workspace,),) = crowded.execute("show steadhold.workspace").fetchall()
        found = walks(crowded, SQL.trail, workspace=f"'{workspace}'", **said)
    assert index in found["audit"]


def test_a_key_is_looked_up_in_its_workspace(crowded):
    """Whose it is is not known before, so a walk would go through the keys of all workspaces."""
    assert looked_up(crowded, "find_key", wanted="'key7'::text") == {
        table: {f"{table}_pkey"} for table in ("key_places", "keys", "entitlements")
    }
