"""The record is never changed, and no secret lies anywhere."""

from __future__ import annotations

import psycopg
import pytest

from steadhold import access
from steadhold.access.model import Actor
from steadhold.access.token import Token, secret_of
from steadhold.kit.outcome import Missing
from tests.access.people import a_token, dumped, make, trail


def test_the_record_is_filtered_and_paged(conn, workspace, boss):
    keys = [make(conn, workspace, boss).key.key_id for _ in range(3)]
    access.revoke_key(conn, workspace, keys[1], by=Actor("chief", keys[0], "op-1"))
    newest = access.trail(conn, workspace, 1)[0]
    assert (newest.subject, newest.key_id, newest.kind, newest.operation_id) == (
        "chief",
        keys[0],
        "key.revoked",
        "op-1",
    )
    rest = access.trail(conn, workspace, 100, before=(newest.at, newest.number))
    assert [row.resource for row in rest] == [f"key:{k}" for k in (*reversed(keys), boss.key_id)]
    assert [r[2] for r in trail(conn, workspace, resource=f"key:{keys[1]}")] == ["key.revoked", "key.made"]
    assert [r[3] for r in trail(conn, workspace, subject="chief")] == [f"key:{keys[1]}"]
    assert len(trail(conn, workspace, kind="key.made", subject="boss")) == 4
    assert trail(conn, workspace, kind="key.mad") == []


@pytest.mark.parametrize(
    "verb", ["update steadhold.audit set subject = 'x'", "delete from steadhold.audit", "truncate steadhold.audit"]
)
def test_the_record_is_never_changed(conn, workspace, boss, verb):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(verb)


@pytest.mark.parametrize("what", ["subject = 'x'", "scopes = '{*}'", "kind = 'person'", "expires_at = null"])
def test_whose_a_key_is_and_what_it_may_do_is_said_once(conn, workspace, boss, what):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(f"update steadhold.keys set {what}")


@pytest.mark.parametrize("table", ["keys", "key_places", "entitlements", "meters"])
def test_nothing_here_is_deleted(conn, workspace, table):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(f"delete from steadhold.{table}")


def test_the_record_goes_with_what_it_tells_of(committed, workspace):
    token = a_token()
    with committed.transaction(force_rollback=True):
        access.import_key(
            committed, workspace, token.key_id, token.hash, env="live", subject="x", kind="person", scopes=("*:*",)
        )
        assert trail(committed, workspace)
    with committed.transaction():
        assert access.key(committed, workspace, token.key_id) == Missing(None)
        assert trail(committed, workspace) == []


def test_no_secret_lies_in_any_table(database, committed, workspace):
    """Everything that there is in the database, written out: neither a key nor its secret is in it, in any spelling."""
    first, second = a_token(b"\xfe" * 32), a_token(b"\xfd" * 32)
    with committed.transaction():
        access.import_key(
            committed, workspace, first.key_id, first.hash, env="live", subject="boss", kind="person", scopes=("*:*",)
        )
        by = Actor("boss", first.key_id, "op")
        make(committed, workspace, by, token=second)
        fresh = Token("live", second.key_id, secret_of(b"\xfc" * 32))
        access.rotate_key(committed, workspace, second.key_id, fresh.hash, grace_seconds=60.0, by=by)
    dump = dumped(database)
    assert second.hash.hex() in dump  # the dump is whole: what is kept of a key is in it
    for token in (first, second, fresh):
        for spelt in (token.secret[:20], token.secret[:20].encode().hex(), token.text):
            assert spelt not in dump
    for raw in (b"\xfe", b"\xfd", b"\xfc"):
        assert (raw * 32).hex() not in dump


def test_whoever_names_no_workspace_sees_no_key(database, conn, workspace, boss):
    conn.execute("select set_config('steadhold.workspace', '', true)")
    for table in ("keys", "keys_told", "key_places", "audit", "entitlements", "meters"):
        assert conn.execute(f"select count(*) from steadhold.{table}").fetchone() == (0,)


def test_a_workspace_makes_no_key_of_another(conn, database, workspace, boss):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(
            "insert into steadhold.key_places (key_id, workspace) values ('x', %s)", (database.new_workspace(),)
        )


def test_operators_keys_lie_outside_of_every_workspace(conn, workspace):
    token = a_token()
    with pytest.raises(psycopg.errors.CheckViolation):
        access.import_key(
            conn, workspace, token.key_id, token.hash, env="live", subject="op", kind="operator", scopes=("*:*",)
        )
