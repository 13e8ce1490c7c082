"""References: exactly these bytes, for as long as somebody relies on them."""

from __future__ import annotations

from steadhold import blobs, context
from steadhold.context.model import (
    Missing,
    Pruned,
    RevisionConflict,
    StorageExhausted,
    Unresolved,
)
from tests.context.desk import limit, put, refer


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


def relied(conn):
    return conn.execute("select count(*) from steadhold.pins where owner like 'reference:%'").fetchone()[0]


def test_two_references_to_the_same_bytes_are_let_go_one_by_one(conn, workspace):
    for path in ("n", "m"):
        put(conn, workspace, path, b"same")
    named = [refer(path, 1, b"same") for path in ("n", "m")]
    context.pin(conn, workspace, "o", named)
    assert context.unpin(conn, workspace, "o", named[0]) == 1
    assert relied(conn) == 1
    assert context.unpin(conn, workspace, "o", named[1]) == 1
    assert relied(conn) == 0


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


def test_a_copy_for_which_there_is_no_room_leaves_nothing(conn, workspace):
    put(conn, workspace, "a", b"body")
    limit(conn, workspace, bytes_max=4)
    full = context.put_reference(conn, workspace, "b", refer("a", 1, b"body"), None)
    assert full == StorageExhausted("bytes", 4, 4)
    assert context.get(conn, workspace, "b") == Missing(None)
    assert conn.execute("select path from steadhold.context_files").fetchall() == [("a",)]
