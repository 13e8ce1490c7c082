"""What is due of webhooks is asked of each by index, also where nothing was open when PostgreSQL counted last."""

from __future__ import annotations

from tests.operations import due
from tests.operations.generic_plan import WHOLE, crowd, reached

crowded = crowd("""
insert into steadhold.webhooks
    (workspace, id, revision, url, types, ordered, blocks, concurrency, header_names, retry_seconds, enabled, why,
    made_at, changed_at)
  select %(w)s, gen_random_uuid(), 1, 'u', '{*}', true, true, 4, '{}', '{0}', n %% 2 = 0,
    case when n %% 2 = 1 then 'operator' end, c, c
  from generate_series(1, 40) n, steadhold.clock() c;
insert into steadhold.deliveries
    (workspace, id, webhook, event_id, kind, lane, place, state, attempts, made_at, ended_at)
  select %(w)s, gen_random_uuid(), k.id, 'e' || n, 0, 'a' || n %% 100, n, 1, 1, c, c
  from steadhold.webhooks k, steadhold.clock() c, generate_series(1, 250) n where k.workspace = %(w)s;
insert into steadhold.attempts (workspace, delivery, n, webhook, state, started_at, deadline_at, ended_at)
  select d.workspace, d.id, 1, d.webhook, 1, c, c, c
  from steadhold.deliveries d, steadhold.clock() c where d.workspace = %(w)s
""")


def test_what_is_to_be_skipped_is_asked_of_each_endpoint_that_is_disabled(crowded):
    """What is open for others by now may be very much."""
    found = reached(crowded, due.planned(crowded, "due_webhooks"))
    assert [(table, found[table]) for table in ("deliveries", "attempts") if WHOLE & found[table]] == []
