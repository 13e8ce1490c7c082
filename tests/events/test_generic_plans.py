"""Events, heads and waits are reached by index, whatever the arguments turn out to be."""

from __future__ import annotations

import pytest

from steadhold.events.plans import SQL
from steadhold.play.transaction import opening
from tests.operations.generic_plan import WHOLE, walks

EVENT = "aggregate_id, aggregate_revision, type, event_id, schema_version, data_ref, occurred_at, matched_at"
"""Most have been matched long ago, as is so where a relay lives."""

PUBLICATION = "aggregate_id, aggregate_revision, subscription, id, target, lane, key, made_at"
SUBSCRIPTION = "subscription, revision, types, aggregates, target, ordered, made_at, changed_at"


@pytest.fixture
def crowded(database, workspace):
    """A transaction, rolled back, in which one workspace is large and most are small."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        place = "case when n > 5000 then 'w' || n else %s end"
        for columns, values in {
            f"events (workspace, {EVENT})": (
                "'a' || n, 1, 't', 'e' || n, 1, 'r', steadhold.clock(),"
                " case when mod(n, 100) > 0 then steadhold.clock() end"
            ),
            "aggregates (workspace, aggregate_id, revision)": "'a' || n, 1",
            "heads (workspace, subject, revision, state, open, of)": "'h' || n, 1, 's', true, 'o' || n",
            "waits (workspace, job_id, subject, stage, due_at, what)": (
                "lpad(n::text, 32, '0')::uuid, 'h' || n, 's', steadhold.clock() + n * interval '1 s', ''"
            ),
            f"publications (workspace, {PUBLICATION})": (
                "'a' || n, 1, 's', lpad(n::text, 32, '0')::uuid, 'inbox:x', mod(n, 16), 'a' || n, steadhold.clock()"
            ),
            f"subscriptions (workspace, {SUBSCRIPTION})": (
                "'s' || n, 1, '{}', '{}', 'inbox:x', true, steadhold.clock(), steadhold.clock()"
            ),
        }.items():
            conn.execute(
                f"insert into steadhold.{columns} select {place}, {values} from generate_series(1, 9000) n", [workspace]
            )
        conn.execute("analyze steadhold.events, steadhold.aggregates, steadhold.heads, steadhold.waits")
        conn.execute("analyze steadhold.publications, steadhold.subscriptions")
        conn.execute(opening(workspace, 5_000).partition(";")[2].encode())
        yield conn


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
