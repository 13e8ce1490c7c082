"""Deliveries and attempts are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.webhooks.plans import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

TABLES = ("webhook_bodies", "deliveries", "attempts")

crowded = crowd("""
insert into steadhold.webhooks
    (workspace, id, revision, url, types, ordered, blocks, concurrency, header_names, retry_seconds, enabled, made_at,
    changed_at)
  select %(w)s, gen_random_uuid(), 1, 'u', '{*}', true, true, 4, '{}', '{0}', true, c, c
  from generate_series(1, 20), steadhold.clock() c;
insert into steadhold.webhook_bodies (workspace, event_id, aggregate_id, aggregate_revision, type, body, made_at)
  select %(w)s, 'e' || n, 'a' || n %% 100, n, 't', 'x', c + n * interval '1 second'
  from generate_series(1, 5000) n, steadhold.clock() c;
insert into steadhold.deliveries
    (workspace, id, webhook, event_id, kind, lane, place, state, attempts, next_at, announce_at, made_at, ended_at)
  select %(w)s, gen_random_uuid(), k.id, 'e' || n, 0, 'a' || n %% 100, n, s, 1, case when s = 0 and n < 50 then c end,
    case when s = 5 then c end, c, case when s = 1 then c end
  from steadhold.webhooks k, steadhold.clock() c, generate_series(1, 500) n,
    lateral (select case when n %% 3 = 0 then 1 when n %% 50 = 1 then 5 else 0 end as s) state
  where k.workspace = %(w)s;
insert into steadhold.attempts (workspace, delivery, n, webhook, state, started_at, deadline_at, ended_at)
  select d.workspace, d.id, 1, d.webhook, case when d.place < 10 then 0 else 1 end, c, c,
    case when d.place >= 10 then c end
  from steadhold.deliveries d, steadhold.clock() c where d.workspace = %(w)s
""")

APART = {f"webhooks.{name}" for name in ("replay", "begin_replay", "keep_bodies", "deliver_again", "first_body")}
"""What only writes, and what reads the first of an index."""

LOOKING = [statement for statement in SQL if statement.name not in APART]


@pytest.mark.parametrize("statement", LOOKING, ids=lambda statement: statement.name)
def test_nothing_is_scanned(crowded, statement):
    found = walks(crowded, statement)
    assert [found[table] for table in TABLES if WHOLE & found.get(table, set())] == []


@pytest.mark.parametrize(
    "name, table, index",
    [
        ("begin", "deliveries", {"deliveries_due", "deliveries_pings", "deliveries_pkey"}),
        ("begin", "webhook_bodies", {"webhook_bodies_past", "webhook_bodies_pkey"}),
        ("free", "attempts", {"attempts_started"}),
        ("still", "attempts", {"attempts_started"}),
        ("still", "deliveries", {"deliveries_pkey"}),
        ("end_attempts", "attempts", {"attempts_pkey"}),
        ("overdue", "attempts", {"attempts_overdue"}),
        ("move", "deliveries", {"deliveries_pkey"}),
        ("move_up", "deliveries", {"deliveries_in_lane", "deliveries_pkey"}),
        ("deliveries", "deliveries", {"deliveries_of"}),
        ("replayable", "webhook_bodies", {"webhook_bodies_past"}),
        ("replayable", "deliveries", {"deliveries_by_event"}),
        ("to_announce", "deliveries", {"deliveries_to_announce"}),
        ("late", "deliveries", {"deliveries_due"}),
        ("purge_deliveries", "deliveries", {"deliveries_past", "deliveries_pkey"}),
    ],
)
def test_it_is_found_by(crowded, name, table, index):
    assert walks(crowded, getattr(SQL, name))[table] <= index
