"""Uploads and quotas: nothing of a part is ever seen, never more than the quota is used."""

from __future__ import annotations

import hashlib

from steadhold import blobs, context
from steadhold.access import StorageExhausted
from steadhold.context import loops, plans, uploads
from steadhold.context.model import (
    Kept,
    Missing,
    Reserved,
    RevisionConflict,
    Upload,
    UploadLapsed,
)
from steadhold.kit.ids import new_id
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES, UPLOAD_LEASE_SECONDS
from steadhold.play.caller import play
from tests.context.desk import BIG, chunks, counted, limit, put, upload


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
        coming = uploads.begin_upload(committed, workspace, "n", None, len(BIG), new_id())
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
    first = uploads.begin_upload(conn, workspace, "a", None, 8, new_id())
    assert isinstance(first, Reserved)
    assert uploads.begin_upload(conn, workspace, "b", None, 3, new_id()) == StorageExhausted("bytes", 8, 10)
    assert put(conn, workspace, "b", b"123") == StorageExhausted("bytes", 8, 10)
    assert uploads.release(conn, workspace, first.upload)
    assert put(conn, workspace, "b", b"123").created


def test_an_upload_counts_off_what_it_replaces(conn, workspace):
    limit(conn, workspace, bytes_max=10)
    put(conn, workspace, "a", b"12345678")
    assert uploads.begin_upload(conn, workspace, "a", 7, 10, new_id()) == StorageExhausted("bytes", 8, 10)
    coming = uploads.begin_upload(conn, workspace, "a", 1, 10, new_id())
    assert coming.credit == 8
    uploads.keep(conn, workspace, coming.upload, 0, b"1234567890")
    whole = Upload(coming.upload, 10, hashlib.sha256(b"1234567890").digest())
    assert plans.put_upload(conn, workspace, "a", whole, 1).revision == 2
    assert counted(conn, workspace) == 10


def test_an_upload_of_unknown_size_grows_within_the_quota(conn, workspace):
    limit(conn, workspace, bytes_max=10)
    coming = uploads.begin_upload(conn, workspace, "a", None, 0, new_id())
    assert uploads.keep(conn, workspace, coming.upload, 0, b"12345678", (1, 8)) == Kept(0)
    assert uploads.keep(conn, workspace, coming.upload, 1, b"123", (1, 11)) == StorageExhausted("bytes", 0, 10)
    assert context.usage(conn, workspace).reserved == 8


def test_what_is_counted_is_what_is_there(conn, workspace):
    put(conn, workspace, "a", b"12345")
    assert dict(conn.execute("select * from steadhold.used_context(%s)", [workspace]).fetchall()) == {
        "names": 1,
        "bytes": 5,
    }
