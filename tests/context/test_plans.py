"""context against PostgreSQL: exact bytes, one winner, numbers that only rise, never more than the quota."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import access, blobs, context
from steadhold.access import StorageExhausted
from steadhold.context import loops, plans, uploads
from steadhold.context.model import (
    Kept,
    Missing,
    PathTaken,
    Pruned,
    Reference,
    Reserved,
    RevisionConflict,
    StaleFence,
    Unresolved,
    Upload,
    UploadLapsed,
    Written,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES, CONTEXT_WHOLE_BYTES_MAX, UPLOAD_LEASE_SECONDS
from steadhold.play.caller import play

BIG = bytes(range(256)) * 4096 + b"end"
"""A little more than what is written in one piece."""
OPERATOR = access.Actor("operator", None)


def put(conn, workspace, path, body=b"1", expected=None, **more):
    """Write, creating by default."""
    return context.put(conn, workspace, path, body, expected, **more)


def read(conn, workspace, path):
    return context.get(conn, workspace, path).content.body


def upload(conn, workspace, body, path="n", expected=None):
    """Bring bytes piece by piece; what is to be written then."""
    reserved = uploads.begin_upload(conn, workspace, path, expected, len(body))
    for at in range(0, len(body), CONTEXT_CHUNK_BYTES):
        piece = body[at : at + CONTEXT_CHUNK_BYTES]
        assert uploads.keep(conn, workspace, reserved.upload, at // CONTEXT_CHUNK_BYTES, piece) == Kept(
            at // CONTEXT_CHUNK_BYTES
        )
    return Upload(reserved.upload, len(body), hashlib.sha256(body).digest())


def limit(conn, workspace, **most):
    """Give the workspace these entitlements."""
    return access.put_entitlements(conn, workspace, access.Entitlements(**most), None, by=OPERATOR)


def counted(conn, workspace, what="bytes"):
    return access.entitlements(conn, workspace).used[what]


def chunks(conn, workspace):
    return conn.execute("select count(*) from steadhold.blobs where workspace = %s", [workspace]).fetchone()[0]


@pytest.mark.parametrize("body", [b"", b"\0\xff", b"<script>", BIG[:CONTEXT_WHOLE_BYTES_MAX]])
def test_bytes_read_are_bytes_written(conn, workspace, body):
    made = put(conn, workspace, "a/n", body, content_type="text/plain; charset=utf-8")
    stored = context.get(conn, workspace, "a/n")
    assert stored.content == context.Content(
        len(body), hashlib.sha256(body).digest(), "text/plain; charset=utf-8", body
    )
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


# --- uploads ----------------------------------------------------------------------------------


def test_an_upload_is_not_there_before_it_is_whole(conn, workspace):
    coming = upload(conn, workspace, BIG)
    assert context.get(conn, workspace, "n") == Missing(None)
    assert blobs.read(conn, workspace, coming.digest) == blobs.NoBytes(coming.digest)
    assert plans.put_upload(conn, workspace, "n", coming, None).created
    assert blobs.read(conn, workspace, coming.digest) == BIG
    assert context.get(conn, workspace, "n").content.body is None
    assert uploads.release(conn, workspace, coming.id) is False


def test_pieces_are_read_as_far_as_their_chunk_goes(conn, workspace):
    coming = upload(conn, workspace, BIG)
    plans.put_upload(conn, workspace, "n", coming, None)
    at, found = 5, []
    while at < len(BIG):
        found.append(blobs.part(conn, workspace, coming.digest, at, len(BIG)))
        at += len(found[-1])
    assert b"".join(found) == BIG[5:]
    assert max(map(len, found)) == CONTEXT_CHUNK_BYTES
    assert blobs.part(conn, workspace, coming.digest, 7, 9) == BIG[7:9]


def test_bytes_of_an_older_version_are_one_chunk(conn, workspace):
    digest = hashlib.sha256(BIG).digest()
    conn.execute("insert into steadhold.blobs (workspace, digest, bytes) values (%s, %s, %s)", [workspace, digest, BIG])
    assert blobs.part(conn, workspace, digest, CONTEXT_CHUNK_BYTES + 1, len(BIG)) == BIG[CONTEXT_CHUNK_BYTES + 1 :]
    plans.put_upload(conn, workspace, "n", upload(conn, workspace, BIG), None)
    assert blobs.read(conn, workspace, digest) == BIG


def test_the_same_bytes_are_stored_once(conn, workspace):
    put(conn, workspace, "one", BIG)
    before = chunks(conn, workspace)
    put(conn, workspace, "two", BIG)
    plans.put_upload(conn, workspace, "three", upload(conn, workspace, BIG), None)
    assert chunks(conn, workspace) == before == len(BIG) // CONTEXT_CHUNK_BYTES + 1


def test_an_upload_that_is_given_up_leaves_nothing(conn, workspace):
    coming = upload(conn, workspace, BIG)
    assert uploads.release(conn, workspace, coming.id)
    assert chunks(conn, workspace) == 0
    assert context.usage(conn, workspace).reserved == 0
    assert plans.put_upload(conn, workspace, "n", coming, None) == UploadLapsed()
    assert uploads.keep(conn, workspace, coming.id, 0, b"late") == UploadLapsed()


def test_an_upload_that_lost_can_still_be_given_up(conn, workspace):
    coming = upload(conn, workspace, BIG)
    put(conn, workspace, "n")
    assert plans.put_upload(conn, workspace, "n", coming, None) == RevisionConflict(1)
    assert uploads.release(conn, workspace, coming.id)


def test_a_lapsed_upload_is_swept(committed, workspace, clock):
    with committed.transaction():
        upload(committed, workspace, BIG)
    due = "select duty from steadhold.due_context() where workspace = %s"
    assert committed.execute(due, [workspace]).fetchall() == []
    clock.move(UPLOAD_LEASE_SECONDS + 1)
    assert committed.execute(due, [workspace]).fetchall() == [("context.uploads",)]
    (duty,) = [duty for duty in loops.DUTIES if duty.name == "context.uploads"]
    with committed.transaction():
        assert play(committed, duty.call(workspace, 10)) == 1
        assert chunks(committed, workspace) == 0
        assert context.usage(committed, workspace).reserved == 0


def test_more_bytes_renew_the_lease(committed, workspace, clock):
    with committed.transaction():
        coming = uploads.begin_upload(committed, workspace, "n", None, len(BIG))
    clock.move(UPLOAD_LEASE_SECONDS - 1)
    with committed.transaction():
        assert uploads.keep(committed, workspace, coming.upload, 0, BIG[:CONTEXT_CHUNK_BYTES]) == Kept(0)
    clock.move(UPLOAD_LEASE_SECONDS - 1)
    with committed.transaction():
        assert uploads.sweep(committed, workspace, 10) == 0


# --- quotas -----------------------------------------------------------------------------------


def test_bytes_and_names_are_counted_once_a_file(conn, workspace):
    limit(conn, workspace, bytes_max=100, names_max=3)
    put(conn, workspace, "a", b"12345")
    put(conn, workspace, "b", b"12345")
    put(conn, workspace, "a", b"123", 1)
    assert (counted(conn, workspace), counted(conn, workspace, "names")) == (8, 2)
    context.delete(conn, workspace, "a", 2)
    assert (counted(conn, workspace), counted(conn, workspace, "names")) == (5, 1)
    assert context.usage(conn, workspace) == context.Usage(1, 5, 4, 0, 100, 3)


def test_no_more_than_the_quota(conn, workspace):
    limit(conn, workspace, bytes_max=10, names_max=2)
    put(conn, workspace, "a", b"123456")
    assert put(conn, workspace, "b", b"12345") == StorageExhausted("bytes", 6, 10)
    assert put(conn, workspace, "b", b"1234").created
    assert put(conn, workspace, "c", b"") == StorageExhausted("names", 2, 2)
    assert put(conn, workspace, "a", b"1", 1).revision == 2
    assert conn.execute("select count(*) from steadhold.context_files").fetchone() == (2,)


def test_what_is_promised_to_uploads_is_not_there_for_others(conn, workspace):
    limit(conn, workspace, bytes_max=10, names_max=2)
    first = uploads.begin_upload(conn, workspace, "a", None, 8)
    assert isinstance(first, Reserved)
    assert uploads.begin_upload(conn, workspace, "b", None, 3) == StorageExhausted("bytes", 8, 10)
    assert put(conn, workspace, "b", b"123") == StorageExhausted("bytes", 8, 10)
    assert uploads.release(conn, workspace, first.upload)
    assert put(conn, workspace, "b", b"123").created


def test_an_upload_counts_off_what_it_replaces(conn, workspace):
    limit(conn, workspace, bytes_max=10)
    put(conn, workspace, "a", b"12345678")
    assert uploads.begin_upload(conn, workspace, "a", 7, 10) == StorageExhausted("bytes", 8, 10)
    coming = uploads.begin_upload(conn, workspace, "a", 1, 10)
    assert coming.credit == 8
    uploads.keep(conn, workspace, coming.upload, 0, b"1234567890")
    whole = Upload(coming.upload, 10, hashlib.sha256(b"1234567890").digest())
    assert plans.put_upload(conn, workspace, "a", whole, 1).revision == 2
    assert counted(conn, workspace) == 10


def test_an_upload_of_unknown_size_grows_within_the_quota(conn, workspace):
    limit(conn, workspace, bytes_max=10)
    coming = uploads.begin_upload(conn, workspace, "a", None, 0)
    assert uploads.keep(conn, workspace, coming.upload, 0, b"12345678", (1, 8)) == Kept(0)
    assert uploads.keep(conn, workspace, coming.upload, 1, b"123", (1, 11)) == StorageExhausted("bytes", 0, 10)
    assert context.usage(conn, workspace).reserved == 8


def test_what_is_counted_is_what_is_there(conn, workspace):
    put(conn, workspace, "a", b"12345")
    assert dict(conn.execute("select * from steadhold.used_context(%s)", [workspace]).fetchall()) == {
        "names": 1,
        "bytes": 5,
    }


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


# --- references -------------------------------------------------------------------------------


def refer(path, revision, body):
    return str(Reference(path, revision, hashlib.sha256(body).digest()))


def test_a_reference_is_exactly_these_bytes(conn, workspace):
    put(conn, workspace, "a@b#c%", b"one")
    named = refer("a@b#c%", 1, b"one")
    assert context.resolve(conn, workspace, named).body == b"one"
    assert context.resolve(conn, workspace, refer("a@b#c%", 1, b"two")) == Missing(None)
    assert context.resolve(conn, workspace, refer("a@b#c%", 2, b"one")) == Missing(None)
    assert context.resolve(conn, workspace, refer("other", 1, b"one")) == Missing(None)


def age(conn, workspace, path="n"):
    """Write so often that revision 1 is not kept."""
    for revision in range(1, 11):
        put(conn, workspace, path, b"body %d" % (revision + 1), revision)


def test_a_pinned_reference_outlives_its_revision(conn, workspace):
    put(conn, workspace, "n", b"body 1")
    named = refer("n", 1, b"body 1")
    assert context.pin(conn, workspace, "job:1", [named]) is None
    assert context.pin(conn, workspace, "job:1", [named]) is None
    age(conn, workspace)
    blobs.prune(conn, workspace, 10)
    assert context.get_revision(conn, workspace, "n", 1) == Pruned(2)
    assert context.resolve(conn, workspace, named).body == b"body 1"
    assert context.pin(conn, workspace, "job:2", [named]) is None
    assert context.unpin(conn, workspace, "job:1") == 1
    assert context.resolve(conn, workspace, named).body == b"body 1"
    assert context.unpin(conn, workspace, "job:2", named) == 1
    blobs.prune(conn, workspace, 10)
    assert context.resolve(conn, workspace, named) == Pruned(None)
    assert context.pin(conn, workspace, "job:3", [named]) == Pruned(None)


def test_a_refused_pin_has_pinned_nothing(conn, workspace):
    put(conn, workspace, "n", b"body 1")
    assert context.pin(conn, workspace, "o", [refer("n", 1, b"body 1"), refer("m", 1, b"x")]) == Missing(None)
    assert context.unpin(conn, workspace, "o") == 0


def test_two_references_to_the_same_bytes_are_let_go_one_by_one(conn, workspace):
    for path in ("n", "m"):
        put(conn, workspace, path, b"same")
    named = [refer(path, 1, b"same") for path in ("n", "m")]
    context.pin(conn, workspace, "o", named)
    assert context.unpin(conn, workspace, "o", named[0]) == 1
    assert conn.execute("select count(*) from steadhold.pins where owner = 'reference:o'").fetchone() == (1,)
    assert context.unpin(conn, workspace, "o", named[1]) == 1
    assert conn.execute("select count(*) from steadhold.pins where owner = 'reference:o'").fetchone() == (0,)


def test_digests_of_others_are_no_way_to_their_bytes(conn, workspace):
    """Only the reference that was pinned resolves, not any that has its digest."""
    put(conn, workspace, "secret", b"body")
    put(conn, workspace, "mine", b"1")
    context.pin(conn, workspace, "o", [refer("secret", 1, b"body")])
    assert context.resolve(conn, workspace, refer("mine", 1, b"body")) == Missing(None)


def test_a_reference_can_be_written_elsewhere(conn, workspace):
    put(conn, workspace, "a", b"body", content_type="text/css")
    made = context.put_reference(conn, workspace, "b", refer("a", 1, b"body"), None)
    assert (made.revision, made.created) == (1, True)
    assert context.get(conn, workspace, "b").content == context.get(conn, workspace, "a").content
    assert context.put_reference(conn, workspace, "c", refer("z", 1, b"body"), None) == Unresolved(
        refer("z", 1, b"body")
    )
    assert context.put_reference(conn, workspace, "b", refer("a", 1, b"body"), None) == RevisionConflict(1)


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
