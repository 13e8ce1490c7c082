"""Identities and receipts on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

from steadhold import operations


def test_smoke(conn, workspace):
    assert isinstance(operations.look(conn, workspace, "k"), operations.NotCommitted)
    assert operations.abandon(conn, workspace, "k").abandoned
    assert operations.receipts(conn, workspace, "", 10)[0].key == "k"
    assert operations.purge(conn, workspace, 10) == 0
