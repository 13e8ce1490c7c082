"""Bytes and pins on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

from steadhold import blobs
from steadhold.kit.plan import operation

put, pin, unpin = map(operation, (blobs.put, blobs.pin, blobs.unpin))


def test_smoke(conn, workspace):
    a, b = put(conn, workspace, "o", [b"a", b"b"])
    assert blobs.read(conn, workspace, a) == b"a"
    assert pin(conn, workspace, "p", [a]) is None
    assert unpin(conn, workspace, "o") == 2
    assert blobs.prune(conn, workspace, 10) == 2
    assert blobs.read(conn, workspace, a) == b"a"
    assert blobs.read(conn, workspace, b) == blobs.NoBytes(b)
