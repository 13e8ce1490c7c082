"""Entitlements, and what is metered under them."""

from __future__ import annotations

import pytest

from steadhold import access, context, state
from steadhold.access import plans
from steadhold.access.model import Entitlements
from steadhold.kit.limits import REVISIONS_KEPT_DEFAULT
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import operation
from tests.access.people import find, trail


def test_without_entitlements_nothing_is_limited(conn, workspace):
    entitled = access.entitlements(conn, workspace)
    assert (entitled.revision, entitled.limits) == (0, Entitlements())
    assert access.limits(conn, workspace) == Entitlements()


def test_entitlements_are_set_under_a_revision(conn, workspace, boss):
    wanted = Entitlements(job_types=("mail",), jobs_queued_max=5, requests_per_second_max=9, bytes_max=0)
    assert access.put_entitlements(conn, workspace, wanted, 1, by=boss) == Missing(None)
    first = access.put_entitlements(conn, workspace, wanted, None, by=boss)
    assert first.limits == access.limits(conn, workspace) == wanted
    assert access.put_entitlements(conn, workspace, wanted, None, by=boss) == RevisionConflict(first.revision)
    second = access.put_entitlements(conn, workspace, Entitlements(), first.revision, by=boss)
    assert second.revision == first.revision + 1
    assert access.put_entitlements(conn, workspace, wanted, first.revision, by=boss) == RevisionConflict(
        second.revision
    )
    assert access.entitlements(conn, workspace).limits == Entitlements()
    changes = trail(conn, workspace, kind="entitlements.changed")
    assert changes == [("boss", boss.key_id, "entitlements.changed", "entitlements")] * 2


def test_a_rate_reaches_whoever_tests_a_key(conn, workspace, boss):
    assert find(conn, workspace, boss.key_id).requests_per_second_max is None
    access.put_entitlements(conn, workspace, Entitlements(requests_per_second_max=7), None, by=boss)
    assert find(conn, workspace, boss.key_id).requests_per_second_max == 7


def test_a_workspace_keeps_as_many_revisions_as_it_is_entitled_to(conn, workspace, boss):
    assert access.limits(conn, workspace).revisions_kept == REVISIONS_KEPT_DEFAULT
    first = access.put_entitlements(conn, workspace, Entitlements(revisions_kept=2), None, by=boss)
    assert access.entitlements(conn, workspace).limits.revisions_kept == 2
    for n in range(12):
        state.put(conn, workspace, "a", b"%d" % n, n or None)
        context.put(conn, workspace, "a", b"%d" % n, n or None)
    for room in (state, context):
        assert [kept.revision for kept in room.revisions(conn, workspace, "a", 2**62, 100)] == [12, 11]
        assert isinstance(room.get_revision(conn, workspace, "a", 10), room.Pruned)
    access.put_entitlements(conn, workspace, Entitlements(), first.revision, by=boss)
    for n in range(12, 24):
        state.put(conn, workspace, "a", b"%d" % n, n)
    assert len(state.revisions(conn, workspace, "a", 2**62, 100)) == REVISIONS_KEPT_DEFAULT


def metered(conn, workspace):
    found = conn.execute(
        "select what, sum(amount)::bigint from steadhold.meters where workspace = %s group by what", (workspace,)
    )
    return dict(found.fetchall())


@pytest.fixture
def counted(database):
    """Let a room count in a given way what a workspace uses."""
    with database.connect() as owner:
        text = owner.execute("select pg_get_functiondef('steadhold.used(text)'::regprocedure)").fetchone()[0]

        def count(rows):
            body = " union all ".join(f"select '{what}'::text, {amount}::bigint" for what, amount in rows)
            owner.execute(text[: text.index("AS $")] + f"as $$ {body} $$")

        yield count
        owner.execute(text)


def play_meter(conn, workspace, **more):
    operation(lambda ws: access.meter(ws, **more))(conn, workspace)


def test_nothing_is_metered_without_a_limit(conn, workspace, boss):
    access.put_entitlements(conn, workspace, Entitlements(jobs_queued_max=1), None, by=boss)
    play_meter(conn, workspace, names=1, bytes=5)
    assert metered(conn, workspace) == {}


def test_a_limit_begins_with_what_is_there(conn, workspace, boss, counted):
    counted([("names", 3), ("names", 4), ("bytes", 100), ("jobs_queued", 9)])
    access.put_entitlements(conn, workspace, Entitlements(names_max=10), None, by=boss)
    assert metered(conn, workspace) == {"names": 7, "bytes": 100}
    play_meter(conn, workspace, names=1, bytes=-20)
    play_meter(conn, workspace, bytes=5)
    assert metered(conn, workspace) == {"names": 8, "bytes": 85}
    assert access.entitlements(conn, workspace).used == {"names": 7, "bytes": 100, "jobs_queued": 9}


def test_a_recount_puts_the_meters_right(conn, workspace, boss, counted, clock):
    def due():
        return conn.execute("select duty from steadhold.due_access() where workspace = %s", (workspace,)).fetchall()

    counted([("names", 3), ("bytes", 10)])
    access.put_entitlements(conn, workspace, Entitlements(bytes_max=10), None, by=boss)
    play_meter(conn, workspace, names=5, bytes=5)
    assert (due(), plans.recount(conn, workspace)) == ([], 0)
    clock.move(6)
    assert (due(), plans.recount(conn, workspace)) == ([("access.recount",)], 1)
    assert metered(conn, workspace) == {"names": 3, "bytes": 10}
    assert (due(), plans.recount(conn, workspace)) == ([], 0)
    clock.move(3_601)
    assert plans.recount(conn, workspace) == 1
