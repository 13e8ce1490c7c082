"""Events, heads and waits are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.events.plans import SQL
from tests.operations.generic_plan import WHOLE, crowd, walks

WHOSE = "case when n > 5000 then 'w' || n else %(w)s end"
"""One workspace is large, and most are small."""

crowded = crowd(f"""
insert into steadhold.events
    (workspace, aggregate_id, aggregate_revision, type, event_id, schema_version, data_ref, occurred_at, matched_at)
  select {WHOSE}, 'a' || n, 1, 't', 'e' || n, 1, 'r', c, case when n %% 100 > 0 then c end
  from generate_series(1, 9000) n, steadhold.clock() c;
insert into steadhold.aggregates (workspace, aggregate_id, revision)
  select {WHOSE}, 'a' || n, 1 from generate_series(1, 9000) n;
insert into steadhold.heads (workspace, subject, revision, state, open, of)
  select {WHOSE}, 'h' || n, 1, 's', true, 'o' || n from generate_series(1, 9000) n;
insert into steadhold.waits (workspace, job_id, subject, stage, due_at, what)
  select {WHOSE}, lpad(n::text, 32, '0')::uuid, 'h' || n, 's', c + n * interval '1 s', ''
  from generate_series(1, 9000) n, steadhold.clock() c;
insert into steadhold.publications
    (workspace, aggregate_id, aggregate_revision, subscription, id, target, lane, key, made_at)
  select {WHOSE}, 'a' || n, 1, 's', lpad(n::text, 32, '0')::uuid, 'inbox:x', n %% 16, 'a' || n, c
  from generate_series(1, 9000) n, steadhold.clock() c;
insert into steadhold.subscriptions
    (workspace, subscription, revision, types, aggregates, target, ordered, made_at, changed_at)
  select {WHOSE}, 's' || n, 1, '{{}}', '{{}}', 'inbox:x', true, c, c
  from generate_series(1, 9000) n, steadhold.clock() c
""")
"""Most events have been matched long ago, as is so where a relay lives."""


@pytest.mark.parametrize(
    "name, table, index",
    [
        ("history", "events", "events_pkey"),
        ("named", "events", "events_by_name"),
        ("at", "events", "events_pkey"),
        ("taken", "events", "events_by_name"),
        ("aggregate", "aggregates", "aggregates_pkey"),
        ("advance", "aggregates", "aggregates_pkey"),
        ("hold", "heads", "heads_pkey"),
        ("heads_of", "heads", "heads_of"),
        ("due", "waits", "waits_due"),
        ("take", "waits", "waits_pkey"),
        ("unwait", "waits", "waits_pkey"),
        ("require", "aggregates", "aggregates_pkey"),
        ("event_held", "events", "events_pkey"),
        ("matched", "events", "events_pkey"),
        ("publication_held", "publications", "publications_pkey"),
        ("publication", "publications", "publications_by_id"),
        ("published", "publications", "publications_by_id"),
        ("skip", "publications", "publications_by_id"),
        ("publications", "publications", "publications_by_state"),
        ("subscription", "subscriptions", "subscriptions_pkey"),
    ],
)
def test_a_row_is_found_by_its_index(crowded, name, table, index):
    assert walks(crowded, getattr(SQL, name))[table] == {index}


def test_a_change_finds_the_waits_for_it_by_their_subject(crowded):
    assert walks(crowded, SQL.settled)["waits"] == {"waits_by_subject", "waits_pkey"}


def test_an_event_is_matched_and_its_window_begun_by_index(crowded):
    assert walks(crowded, SQL.unmatched)["events"] - WHOLE == {"events_unmatched", "events_unmatched_of"}
    assert walks(crowded, SQL.ended)["publications"] == {"publications_pkey"}
