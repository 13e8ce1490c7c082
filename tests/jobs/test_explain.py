"""The plans that PostgreSQL keeps for the statements: generic ones, for a table of which it may know nothing."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.jobs.moving import SQL
from steadhold.testing.database import copied
from tests.operations import due
from tests.operations.generic_plan import WHOLE, planned, settle, walks

pytestmark = pytest.mark.database

BY_ID = (
    "hold", "complete", "finish", "move", "remembered", "start", "advance", "ask_cancel", "note_cancel", "beat",
    "progress", "ends", "look",
)  # fmt: skip
PARTIAL = {
    "jobs_ready",
    "jobs_overdue",
    "jobs_live_key",
    "jobs_active",
    "jobs_failed",
    "jobs_forgettable",
    "jobs_ended",
}


@pytest.fixture(scope="module", params=["unknown", "known"])
def filled(request, server_run):
    """A database with more jobs than anybody would read to find one, its statistics gathered or not."""
    with copied(server_run, f"explain_{request.param}") as database:
        workspace = database.new_workspace()
        with database.connect() as owner:
            owner.execute("alter table steadhold.jobs set (autovacuum_enabled = off)")
            owner.execute(
                "insert into steadhold.jobs (workspace, id, root, type, configuration_revision, priority, revision,"
                " attempts_max, lease_seconds, run_at, created_at, input_digest)"
                " select %s, id, id, 't', 0, n %% 10, 1, 10, 30, steadhold.clock(), steadhold.clock(), ''"
                " from (select n, gen_random_uuid() as id from generate_series(1, 20000) n) i",
                [workspace],
            )
            if request.param == "known":
                owner.execute("analyze steadhold.jobs")
        yield database, workspace, request.param == "known"


@pytest.fixture
def crowded(filled):
    database, workspace, _ = filled
    with database.enter(workspace) as conn, conn.transaction():
        settle(conn, workspace)
        yield conn, workspace


@pytest.mark.parametrize("name", BY_ID)
def test_a_job_is_found_by_its_id(crowded, name):
    found = walks(crowded[0], getattr(SQL, name))["jobs"]
    assert "jobs_pkey" in found
    assert found & (PARTIAL | WHOLE) == set()


@pytest.mark.parametrize("name", BY_ID)
def test_many_jobs_are_not_compared_each_with_each(crowded, filled, name):
    """Items and rows are merged or hashed. Before its first statistics a PostgreSQL may compare them, in memory."""
    *_, known = filled
    loops = [node for node in planned(crowded[0], getattr(SQL, name)) if node["Node Type"] == "Nested Loop"]
    compared = [node["Join Filter"] for node in loops if "Join Filter" in node]
    assert compared == [] if known else len(compared) <= 1


def test_a_claim_walks_the_ready_jobs_priority_by_priority(crowded):
    conn, _ = crowded
    (walk,) = [node for node in planned(conn, SQL.take) if node.get("Index Name") == "jobs_ready"]
    for bound in ("type", "priority", "run_at"):
        assert bound in walk["Index Cond"]
    assert walk["Index Cond"].count("run_at") == 2
    assert walks(conn, SQL.take)["jobs"] == {"jobs_ready", "jobs_pkey", "jobs_active"}


@pytest.mark.parametrize(
    ("name", "index"), [("overdue", "jobs_overdue"), ("forgettable", "jobs_forgettable"), ("outlived", "jobs_ended")]
)
def test_a_sweep_reads_what_is_due(crowded, name, index):
    assert index in walks(crowded[0], getattr(SQL, name))["jobs"]


@pytest.mark.parametrize(("state", "index"), [(1, "jobs_active"), (2, "jobs_active"), (4, "jobs_failed")])
def test_a_list_of_few_among_many_has_its_index(crowded, state, index):
    """Lists are planned for what they are asked."""
    conn, workspace = crowded
    assert SQL.page.anew
    conn.execute("set local plan_cache_mode = force_custom_plan")
    newest = "'ffffffff-ffff-ffff-ffff-ffffffffffff'"
    found = walks(conn, SQL.page, workspace=f"'{workspace}'", state=str(state), before=newest, limit="101")
    assert index in found["jobs"]


def test_a_claim_of_one_among_many(crowded):
    conn, workspace = crowded
    assert len(jobs.claim(conn, workspace, "w", ["t"], 1)) == 1


def test_who_waits_for_an_inbox_is_found_by_index(filled):
    """Of many that wait, those that have not looked at all; and an event behind a position."""
    database, workspace, _ = filled
    with database.connect() as owner:
        owner.execute(
            "insert into steadhold.waits (workspace, job_id, stage, what, inbox, epoch, seen)"
            " select %s, gen_random_uuid(), 's', '', 'i' || n %% 100, 'e', n from generate_series(1, 10000) n"
            " on conflict do nothing",
            [workspace],
        )
    with database.enter(workspace) as conn, conn.transaction():
        settle(conn, workspace)
        found = walks(conn, SQL.watchers)
    assert "waits_by_inbox" in found["waits"]


@pytest.mark.parametrize("statistics", ["none", "gathered"])
def test_whether_an_inbox_that_is_waited_for_has_news_is_asked_by_its_key(server_run, statistics):
    """Nobody goes through all inboxes at each tick, for the sake of the few that somebody waits for."""
    with copied(server_run, f"explain_watches_{statistics}") as database:
        workspace = database.new_workspace()
        with database.connect() as owner:
            owner.execute(
                "insert into steadhold.inboxes (workspace, name, id, revision, present, epoch, incarnation, made_at,"
                " changed_at) select %s, 'i' || n, gen_random_uuid(), 1, true, 'e', 0, steadhold.clock(),"
                " steadhold.clock() from generate_series(1, 5000) n",
                [workspace],
            )
            owner.execute(
                "insert into steadhold.inbox_watches (workspace, inbox, epoch, seen)"
                " select %s, 'i' || n, 'e', 0 from generate_series(1, 4000) n",
                [workspace],
            )
            if statistics == "gathered":
                owner.execute("analyze steadhold.inboxes, steadhold.inbox_watches")
            plan = due.planned(owner, "due_watches")
        with database.enter(workspace) as conn, conn.transaction():
            settle(conn, workspace)
            plan += planned(conn, SQL.news)
    on_inboxes = [node for node in plan if node.get("Relation Name") == "inboxes"]
    assert [node["Node Type"] for node in on_inboxes] == ["Index Scan"] * 2
    assert all("name = " in node["Index Cond"] for node in on_inboxes)
