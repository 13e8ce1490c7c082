"""state against PostgreSQL: exact bytes, one winner, numbers that only rise."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import access, state
from steadhold.kit.fields import FenceRef
from steadhold.play.caller import play
from steadhold.state import loops, plans
from steadhold.state.model import Get, Missing, NothingWritten, Pruned, Put, RevisionConflict, StaleFence, Written

EXACT = [b"9007199254740993", b"1e400", b"1.10", b"-0", b'{"b":1, "a" :2}', b' {"a":\t[1 ,2]}\n', '"ü\\u0000"'.encode()]


def put(conn, workspace, name, body=b"1", expected=None):
    """Write, creating by default."""
    return state.put(conn, workspace, name, body, expected)


@pytest.mark.parametrize("body", EXACT)
def test_bytes_read_are_bytes_written(conn, workspace, body):
    """Nothing re-writes what a user wrote."""
    put(conn, workspace, "n", body)
    stored = state.get(conn, workspace, "n")
    assert (stored.body, stored.digest, stored.revision) == (body, hashlib.sha256(body).digest(), 1)


def test_a_write_names_the_revision_it_replaces(conn, workspace):
    """The expected revision wins and rises by one; another learns the current one and changes nothing."""
    assert put(conn, workspace, "n").created
    assert put(conn, workspace, "n", b"2", 1).revision == 2
    assert put(conn, workspace, "n", b"3", 1) == RevisionConflict(2)
    assert put(conn, workspace, "n", b"3", 7) == RevisionConflict(2)
    assert state.get(conn, workspace, "n").body == b"2"


def test_creating_needs_absence(conn, workspace):
    """If the name exists, creating is refused with the revision it is at."""
    put(conn, workspace, "n")
    assert put(conn, workspace, "n", b"2") == RevisionConflict(1)


def test_replacing_needs_presence(conn, workspace):
    """A revision of a name that never existed, or was deleted, is missing."""
    assert put(conn, workspace, "n", b"2", 1) == Missing(None)
    put(conn, workspace, "n")
    state.delete(conn, workspace, "n", 1)
    assert put(conn, workspace, "n", b"2", 2) == Missing(2)
    assert state.delete(conn, workspace, "n", 2) == Missing(2)


def test_revisions_survive_deletion(conn, workspace):
    """A tombstone keeps the number, and what is made again goes on from there."""
    put(conn, workspace, "n")
    assert state.delete(conn, workspace, "n", 1).revision == 2
    assert state.get(conn, workspace, "n") == Missing(2)
    again = put(conn, workspace, "n", b"3")
    assert (again.revision, again.created) == (3, True)


def test_kept_revisions_are_readable_and_older_ones_are_gone(conn, workspace):
    """The last ten stay; an older one says that it is gone, a future one that it never was."""
    put(conn, workspace, "n", b"1")
    for revision in range(1, 15):
        put(conn, workspace, "n", b"%d" % (revision + 1), revision)
    assert state.get_revision(conn, workspace, "n", 6).body == b"6"
    assert state.get_revision(conn, workspace, "n", 5) == Pruned(6)
    assert state.get_revision(conn, workspace, "n", 16) == Missing(15)
    assert state.get_revision(conn, workspace, "other", 1) == Missing(None)
    assert [kept.revision for kept in state.revisions(conn, workspace, "n", 2**60, 100)] == list(range(15, 5, -1))


def kept(conn, workspace):
    return [one.revision for one in state.revisions(conn, workspace, "n", 2**60, 100)]


def test_as_many_are_kept_after_numbers_jumped(database, workspace):
    """Restored or failed over: numbers go on far above, and what was kept before leaves as it would have."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        conn.execute("update steadhold.workspaces set revisions_kept = 3 where workspace = %s", [workspace])
        put(conn, workspace, "n")
        for revision in range(1, 5):
            put(conn, workspace, "n", b"1", revision)
        base = conn.execute("update steadhold.house set incarnation = 1 returning incarnation << 32").fetchone()[0]
        seen = [kept(conn, workspace)]
        for revision in (5, base + 1, base + 2, base + 3, base + 4):
            put(conn, workspace, "n", b"1", revision)
            seen.append([kept_one - base if kept_one > base else -kept_one for kept_one in kept(conn, workspace)])
    assert seen == [[5, 4, 3], [1, -5, -4], [2, 1, -5], [3, 2, 1], [4, 3, 2], [5, 4, 3]]


@pytest.mark.parametrize("jumped", [False, True])
def test_what_is_kept_no_more_leaves_with_the_next_write(database, workspace, jumped):
    """Also where a workspace keeps fewer from now on, and where numbers jumped since."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        put(conn, workspace, "n")
        for revision in range(1, 15):
            put(conn, workspace, "n", b"1", revision)
        conn.execute("update steadhold.workspaces set revisions_kept = 2 where workspace = %s", [workspace])
        if jumped:
            conn.execute("update steadhold.house set incarnation = 1")
        after = put(conn, workspace, "n", b"1", 15).revision
        assert kept(conn, workspace) == [after, 15]


def test_a_deletion_is_a_revision_without_bytes(conn, workspace):
    """The list of kept revisions shows it, and reading it finds nothing."""
    put(conn, workspace, "n")
    state.delete(conn, workspace, "n", 1)
    found = state.revisions(conn, workspace, "n", 9, 9)
    assert [(one.revision, one.deleted) for one in found] == [(2, True), (1, False)]
    assert state.get_revision(conn, workspace, "n", 2) == Missing(2)
    assert state.get_revision(conn, workspace, "n", 1).body == b"1"


def test_a_prefix_covers_whole_segments_in_byte_order(conn, workspace):
    """`a` covers `a` and `a/…`, and not `ab`; pages go on behind the last name."""
    for name in ("a", "a/b", "a/ü", "ab", "b", "a/B", "a0"):
        put(conn, workspace, name)
    found = [entry.name for entry in state.names(conn, workspace, "a", "", 10)]
    assert found == ["a", "a/B", "a/b", "a/ü"]
    assert [entry.name for entry in state.names(conn, workspace, "", "a/b", 2)] == ["a/ü", "a0"]
    state.delete(conn, workspace, "a", 1)
    assert "a" not in [entry.name for entry in state.names(conn, workspace, "", "", 10)]


def test_another_workspace_is_another_world(conn, database, workspace):
    """The same name in two workspaces is two names, and a wrong workspace sees nothing."""
    put(conn, workspace, "n")
    other = database.new_workspace()
    with database.enter(other) as there, there.transaction():
        assert state.get(there, other, "n") == Missing(None)
        assert there.execute("select count(*) from steadhold.state").fetchone() == (0,)


def test_after_a_restore_numbers_jump_and_never_repeat(conn, workspace, database):
    """A raised incarnation lifts the next revision above all that a lost life may have issued."""
    put(conn, workspace, "n")
    conn.execute("reset role")
    conn.execute("update steadhold.house set incarnation = incarnation + 1")
    conn.execute("set role steadhold_app")
    raised = put(conn, workspace, "n", b"2", 1).revision
    assert raised == (1 << 32) + 1
    assert put(conn, workspace, "m").revision == raised
    assert put(conn, workspace, "n", b"3", raised).revision == raised + 1


def test_a_purged_tombstone_raises_the_floor(conn, workspace, clock):
    """Numbers of a name that is forgotten are not issued again to its successor."""
    put(conn, workspace, "n")
    for revision in (1, 2, 3):
        put(conn, workspace, "n", b"1", revision)
    state.delete(conn, workspace, "n", 4)
    assert plans.bury(conn, workspace, 30 * 86400.0, 10) == 0
    clock.move(31 * 86400)
    assert plans.bury(conn, workspace, 30 * 86400.0, 10) == 1
    assert state.get(conn, workspace, "n") == Missing(None)
    assert put(conn, workspace, "n").revision == 6


def test_the_window_of_tombstones_is_the_servers_to_set(conn, workspace, clock):
    """What is due, and what the duty buries, follow the setting and not the default."""

    def due():
        return conn.execute("select duty from steadhold.due_state() where workspace = %s", (workspace,)).fetchall()

    put(conn, workspace, "n")
    state.delete(conn, workspace, "n", 1)
    clock.move(61)
    assert due() == []
    conn.execute("select set_config('steadhold.tombstones_seconds', '60', true)")
    assert due() == [("state.tombstones",)]
    (usual,), (short,) = loops.duties(loops.KEPT_SECONDS), loops.duties(60.0)
    assert [play(conn, duty.call(workspace, 10)) for duty in (usual, short)] == [0, 1]
    assert due() == []


def test_a_stale_fence_changes_nothing(conn, workspace):
    """A grant that nobody holds refuses every write that names it."""
    put(conn, workspace, "n")
    fence = (FenceRef("lock:deploy", 3),)
    assert state.put(conn, workspace, "n", b"2", 1, fence) == StaleFence("lock:deploy")
    assert state.delete(conn, workspace, "n", 1, fence) == StaleFence("lock:deploy")
    assert state.batch(conn, workspace, [Put("n", b"2", 1)], fence) == StaleFence("lock:deploy")
    assert state.get(conn, workspace, "n").body == b"1"


def test_a_batch_answers_each_item(conn, workspace):
    """Each write stands for itself, and readings see what the batch wrote."""
    put(conn, workspace, "b")
    outcomes = state.batch(
        conn, workspace, [Put("c", b"3", None), Get("c"), Put("b", b"2", 9), Get("b"), Get("x"), Put("b", None, 1)]
    )
    assert isinstance(outcomes[0], Written)
    assert outcomes[1].body == b"3"
    assert outcomes[2] == outcomes[3] == Missing(2)  # the deletion was first
    assert outcomes[4] == Missing(None)
    assert outcomes[5].revision == 2


def test_a_batch_of_which_nothing_took_effect_is_a_refusal(conn, workspace):
    """Then no receipt may be kept for it."""
    put(conn, workspace, "b")
    outcome = state.batch(conn, workspace, [Put("b", b"2", None), Get("b")])
    assert isinstance(outcome, NothingWritten)
    assert outcome.outcomes[0] == RevisionConflict(1)
    assert outcome.outcomes[1].body == b"1"


def test_one_name_twice_in_a_batch_has_one_winner(conn, workspace):
    """Of two writes with one expected revision the first wins, and the second learns the new one."""
    put(conn, workspace, "n")
    first, second = state.batch(conn, workspace, [Put("n", b"2", 1), Put("n", b"3", 1)])
    assert (first.revision, second) == (2, RevisionConflict(2))
    assert state.get(conn, workspace, "n").body == b"2"


def test_require_holds_a_revision(conn, workspace):
    """A condition without a write answers as the write would."""
    put(conn, workspace, "n")
    assert state.require(conn, workspace, "n", 1) is None
    assert state.require(conn, workspace, "n", 2) == RevisionConflict(1)
    assert state.require(conn, workspace, "n", None) == RevisionConflict(1)
    assert state.require(conn, workspace, "m", 1) == Missing(None)
    assert state.require(conn, workspace, "m", None) is None
    assert state.get(conn, workspace, "m") == Missing(None)
    assert put(conn, workspace, "m").revision == 1


def entitle(conn, workspace, **maxima):
    access.put_entitlements(conn, workspace, access.Entitlements(**maxima), None, by=access.Actor("test", None))


def test_names_and_bytes_are_bounded_by_the_entitlement(conn, workspace):
    """What would go beyond is refused with what is used; what shrinks always passes."""
    entitle(conn, workspace, names_max=2, bytes_max=20)
    put(conn, workspace, "a", b'"' + b"x" * 8 + b'"')
    assert put(conn, workspace, "b", b'"' + b"x" * 9 + b'"').max == 20
    put(conn, workspace, "b", b"1")
    refused = put(conn, workspace, "c", b"1")
    assert (refused.what, refused.used, refused.max) == ("names", 2, 2)
    assert put(conn, workspace, "a", b"1", 1).revision == 2
    state.delete(conn, workspace, "b", 1)
    assert put(conn, workspace, "c", b"1").revision == 1


def test_hot_statements_find_their_rows_by_key(conn, workspace):
    """With a plan made for any argument, writing and looking walk the primary key."""
    conn.execute("set local plan_cache_mode = force_generic_plan")
    conn.execute("set local enable_seqscan = off")
    for sql in (plans.SQL.write, plans.SQL.look, plans.SQL.hold):
        types = {"name": "text[]", "expected": "bigint[]", "body": "bytea[]", "digest": "bytea[]", "workspace": "text"}
        types |= {"alone": "bool[]", "sealed": "bigint[]"}
        conn.execute(f"prepare p ({', '.join(types[param] for param in sql.params)}) as {sql.numbered}")
        given = ", ".join("null" for _ in sql.params)
        text = "\n".join(row[0] for row in conn.execute(f"explain execute p({given})").fetchall())
        conn.execute("deallocate p")
        assert "state_pkey" in text
        assert "Seq Scan on state" not in text


def test_a_list_is_narrowed_to_what_is_in_reach(conn, workspace):
    """Of the names under a prefix only those show that are under an allowed prefix, too."""
    for name in ("a/x", "a-b", "a/y/z", "b", "c/d"):
        put(conn, workspace, name)

    def listed(prefix, *within):
        return [entry.name for entry in state.names(conn, workspace, prefix, "", 10, within)]

    assert listed("", "a", "c") == ["a/x", "a/y/z", "c/d"]
    assert listed("a", "a/y", "c") == ["a/y/z"]
    assert listed("a/y", "a") == ["a/y/z"]
    assert listed("b", "a") == []
