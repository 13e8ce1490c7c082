"""context against PostgreSQL: exact bytes, one winner, numbers that only rise."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import blobs, context
from steadhold.context import loops, plans
from steadhold.context.model import (
    Missing,
    PathTaken,
    Pruned,
    RevisionConflict,
    StaleFence,
    Written,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES, CONTEXT_WHOLE_BYTES_MAX
from tests.context.desk import BIG, chunks, put, read, refer


@pytest.mark.parametrize("body", [b"", b"\0\xff", b"<script>", BIG[:CONTEXT_WHOLE_BYTES_MAX]])
def test_bytes_read_are_bytes_written(conn, workspace, body):
    made = put(conn, workspace, "a/n", body, content_type="text/plain; charset=utf-8")
    stored = context.get(conn, workspace, "a/n")
    assert stored.content == context.Content(
        len(body),
        hashlib.sha256(body).digest(),
        "text/plain; charset=utf-8",
        tuple(body[at : at + CONTEXT_CHUNK_BYTES] for at in range(0, len(body) or 1, CONTEXT_CHUNK_BYTES)),
    )
    assert stored.content.body == body
    assert (made.revision, made.created, made.digest) == (1, True, stored.content.digest)


def test_a_write_names_the_revision_it_replaces(conn, workspace):
    put(conn, workspace, "n")
    assert put(conn, workspace, "n", b"2", 1).revision == 2
    assert put(conn, workspace, "n", b"3", 1) == RevisionConflict(2)
    assert put(conn, workspace, "n", b"3") == RevisionConflict(2)
    assert put(conn, workspace, "m", b"3", 1) == Missing(None)
    assert read(conn, workspace, "n") == b"2"


def test_numbers_survive_a_deletion(conn, workspace):
    put(conn, workspace, "n")
    assert context.delete(conn, workspace, "n", 1).revision == 2
    assert context.get(conn, workspace, "n") == Missing(2)
    assert context.delete(conn, workspace, "n", 2) == Missing(2)
    assert put(conn, workspace, "n", b"3").revision == 3
    assert [one.deleted for one in context.revisions(conn, workspace, "n", 9, 9)] == [False, True, False]


def test_what_is_not_kept_says_so_and_its_bytes_go(conn, workspace):
    put(conn, workspace, "n", b"body 1")
    for revision in range(1, 12):
        put(conn, workspace, "n", b"body %d" % (revision + 1), revision)
    assert context.get_revision(conn, workspace, "n", 3).content.body == b"body 3"
    assert context.get_revision(conn, workspace, "n", 2) == Pruned(3)
    assert context.get_revision(conn, workspace, "n", 13) == Missing(12)
    blobs.prune(conn, workspace, 10)
    assert chunks(conn, workspace) == 10


def test_a_grant_that_is_not_current_writes_nothing(conn, workspace):
    fence = (FenceRef("lock:l", 1),)
    assert put(conn, workspace, "n", fences_held=fence) == StaleFence("lock:l")
    assert context.delete(conn, workspace, "n", 1, fence) == StaleFence("lock:l")
    assert context.move(conn, workspace, "n", "m", 1, fence) == StaleFence("lock:l")


# --- moving -----------------------------------------------------------------------------------


def test_a_moved_file_keeps_its_id_and_history(conn, workspace):
    put(conn, workspace, "a", b"old")
    put(conn, workspace, "a", b"new", 1)
    before = context.get(conn, workspace, "a")
    moved = context.move(conn, workspace, "a", "b", 2)
    after = context.get(conn, workspace, "b")
    assert (moved.id, moved.revision) == (before.id, 3)
    assert (after.id, after.content) == (before.id, before.content)
    assert context.get(conn, workspace, "a") == Missing(3)
    kept = context.revisions(conn, workspace, "b", 99, 99)
    assert [(one.path, one.revision) for one in kept] == [("b", 3), ("a", 2), ("a", 1)]
    for path in ("a", "b"):
        assert context.get_revision(conn, workspace, path, 1).content.body == b"old"


def test_bytes_of_a_path_and_a_revision_never_change_by_a_move(conn, workspace):
    put(conn, workspace, "a", b"of a")
    put(conn, workspace, "b", b"of b")
    assert context.move(conn, workspace, "a", "b", 1) == PathTaken(1)
    context.delete(conn, workspace, "b", 1)
    assert context.move(conn, workspace, "a", "b", 1).revision == 3
    assert context.get_revision(conn, workspace, "b", 1) == Pruned(1)
    assert put(conn, workspace, "a", b"again").revision == 3
    assert context.get_revision(conn, workspace, "a", 1).content.body == b"of a"


def test_a_move_that_is_refused_leaves_nothing(conn, workspace):
    assert context.move(conn, workspace, "a", "b", 1) == Missing(None)
    put(conn, workspace, "a")
    assert context.move(conn, workspace, "a", "b", 7) == RevisionConflict(1)
    assert context.move(conn, workspace, "a", "a", 1) == PathTaken(1)
    assert conn.execute("select path from steadhold.context_files").fetchall() == [("a",)]
    assert context.move(conn, workspace, "a", "b", None).revision == 2


def test_what_was_moved_goes_with_its_own_revisions(conn, workspace):
    put(conn, workspace, "a", b"0")
    context.move(conn, workspace, "a", "b", 1)
    for revision in range(2, 12):
        put(conn, workspace, "b", b"%d" % revision, revision)
    assert context.get_revision(conn, workspace, "a", 1) == Pruned(2)


# --- lists and windows ------------------------------------------------------------------------


def test_a_prefix_covers_whole_segments_in_byte_order(conn, workspace):
    for path in ("a", "a/b", "a/ü", "ab", "b"):
        put(conn, workspace, path)
    assert [entry.path for entry in context.names(conn, workspace, "a", "", 10)] == ["a", "a/b", "a/ü"]
    assert [entry.path for entry in context.names(conn, workspace, "", "a", 9, ["a", "b"])] == ["a/b", "a/ü", "b"]
    assert context.names(conn, workspace, "ab", "", 9, ["a"]) == []


def test_a_purged_path_leaves_its_number_behind(committed, workspace, clock):
    with committed.transaction():
        put(committed, workspace, "n", b"bytes")
        context.delete(committed, workspace, "n", 1)
    clock.move(loops.KEPT_SECONDS + 1)
    due = "select duty from steadhold.due_context() where workspace = %s"
    assert committed.execute(due, [workspace]).fetchall() == [("context.tombstones",)]
    with committed.transaction():
        assert plans.bury(committed, workspace, loops.KEPT_SECONDS, 10) == 1
        assert context.get(committed, workspace, "n") == Missing(None)
        assert context.get_revision(committed, workspace, "n", 1) == Pruned(None)
        assert context.resolve(committed, workspace, refer("n", 1, b"bytes")) == Pruned(None)
        assert put(committed, workspace, "n").revision == 3
        assert put(committed, workspace, "m").revision == 3
        blobs.prune(committed, workspace, 10)
        assert chunks(committed, workspace) == 1


def test_a_condition_holds_what_is_there_and_what_is_not(conn, workspace):
    assert context.require(conn, workspace, "n", None) is None
    assert context.require(conn, workspace, "n", 1) == Missing(None)
    put(conn, workspace, "n")
    assert context.require(conn, workspace, "n", 1) is None
    assert context.require(conn, workspace, "n", 2) == RevisionConflict(1)
    assert context.require(conn, workspace, "n", None) == RevisionConflict(1)


def test_another_workspace_is_another_world(conn, database, workspace):
    put(conn, workspace, "n", b"body")
    other = database.new_workspace()
    with database.enter(other) as there, there.transaction():
        assert context.get(there, other, "n") == Missing(None)
        assert context.resolve(there, other, refer("n", 1, b"body")) == Missing(None)
        assert there.execute("select count(*) from steadhold.blobs").fetchone() == (0,)


def test_after_a_restore_numbers_jump_and_never_repeat(conn, workspace):
    put(conn, workspace, "n")
    conn.execute("reset role")
    conn.execute("update steadhold.house set incarnation = incarnation + 1")
    conn.execute("set role steadhold_app")
    raised = put(conn, workspace, "n", b"2", 1)
    assert raised == Written((1 << 32) + 1, raised.written_at, False, 1, raised.digest)
    assert put(conn, workspace, "m").revision == raised.revision
    assert context.move(conn, workspace, "m", "k", None).revision == raised.revision + 1


def test_a_file_that_is_moved_back_and_forth_keeps_ten_revisions(conn, workspace):
    put(conn, workspace, "a")
    here, there, revision = "a", "b", 1
    for _ in range(14):
        revision = context.move(conn, workspace, here, there, revision).revision
        here, there = there, here
    assert len(context.revisions(conn, workspace, here, 2**62, 100)) == 10
    assert read(conn, workspace, here) == b"1"
