"""Bytes and pins on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

import hashlib

import psycopg
import pytest

from steadhold import blobs
from steadhold.blobs import NoBytes
from tests.blobs.verbs import pin, put, unpin

ABSENT = hashlib.sha256(b"absent").digest()


def stored(conn):
    return conn.execute("select count(*) from steadhold.blobs").fetchone()[0]


def test_bytes_come_back_by_their_digest_and_are_stored_once(conn, workspace):
    assert put(conn, workspace, "a", [b"x", b"\0y", b"x"]) == [
        *(hashlib.sha256(b).digest() for b in (b"x", b"\0y", b"x")),
    ]
    (digest,) = put(conn, workspace, "b", [b"x"])
    assert blobs.read(conn, workspace, digest) == b"x"
    assert blobs.read(conn, workspace, ABSENT) == NoBytes(ABSENT)
    assert stored(conn) == 2


def test_pinning_what_is_not_there_pins_nothing(conn, workspace):
    kept, fresh = put(conn, workspace, "a", [b"kept", b"fresh"])
    pin(conn, workspace, "b", [kept])
    assert pin(conn, workspace, "b", [kept, fresh, ABSENT]) == NoBytes(ABSENT)
    assert unpin(conn, workspace, "b") == 1


def test_bytes_go_when_their_last_pin_has_gone(conn, workspace):
    shared, mine = put(conn, workspace, "a", [b"shared", b"mine"])
    assert pin(conn, workspace, "b", [shared]) is None
    assert unpin(conn, workspace, "a") == 2
    assert blobs.prune(conn, workspace, 10) == 2
    assert blobs.read(conn, workspace, mine) == NoBytes(mine)
    assert blobs.read(conn, workspace, shared) == b"shared"
    assert unpin(conn, workspace, "b", [shared, shared]) == 1
    assert blobs.prune(conn, workspace, 10) == 1
    assert stored(conn) == 0


def test_letting_go_of_some_keeps_the_others(conn, workspace):
    one, two = put(conn, workspace, "a", [b"one", b"two"])
    assert unpin(conn, workspace, "a", [one, ABSENT]) == 1
    blobs.prune(conn, workspace, 10)
    assert blobs.read(conn, workspace, two) == b"two"


def test_a_prune_looks_at_no_more_than_it_is_told(conn, workspace):
    put(conn, workspace, "a", [b"1", b"2", b"3"])
    unpin(conn, workspace, "a")
    assert blobs.prune(conn, workspace, 2) == 2
    assert stored(conn) == 1


def test_the_database_refuses_to_lose_pinned_bytes(conn, workspace):
    put(conn, workspace, "a", [b"x"])
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        conn.execute("delete from steadhold.blobs")


def test_bytes_of_another_workspace_are_not_there(conn, workspace, database):
    (digest,) = put(conn, workspace, "a", [b"x"])
    elsewhere = database.new_workspace()
    assert blobs.read(conn, elsewhere, digest) == NoBytes(digest)
    assert pin(conn, elsewhere, "a", [digest]) == NoBytes(digest)


def test_a_workspace_is_due_while_something_lost_a_pin(committed, workspace):
    asked = "select duty from steadhold.due_blobs() where workspace = %s"
    with committed.transaction():
        put(committed, workspace, "a", [b"x"])
    assert committed.execute(asked, [workspace]).fetchall() == []
    with committed.transaction():
        unpin(committed, workspace, "a")
    assert committed.execute(asked, [workspace]).fetchall() == [("blobs.prune",)]
