"""Keys are rotated, revoked and swept."""

from __future__ import annotations

from steadhold import access
from steadhold.access import plans
from steadhold.access.model import Actor, Exceeds, KeyEnded, Made
from steadhold.access.token import Token, secret_of
from steadhold.kit.outcome import Missing
from tests.access.people import a_token, find, make, trail


def test_a_rotated_key_has_a_new_secret_and_the_same_subject(conn, workspace, boss, clock):
    token, fresh = a_token(), Token("live", "", secret_of(bytes(32)))
    key = make(conn, workspace, boss, token=token).key
    fresh = Token("live", key.key_id, fresh.secret)
    rotated = access.rotate_key(conn, workspace, key.key_id, fresh.hash, grace_seconds=30.0, by=boss).key
    assert (rotated.subject, rotated.scopes, rotated.revision > key.revision) == (key.subject, key.scopes, True)
    found = find(conn, workspace, key.key_id)
    assert (found.hash, found.old_hash) == (fresh.hash, token.hash)
    assert 0 < found.old_ends_in <= 30
    clock.move(31)
    assert find(conn, workspace, key.key_id).old_ends_in is None
    assert plans.end_keys(conn, workspace, 10) == 1
    assert find(conn, workspace, key.key_id).old_hash is None
    assert access.key(conn, workspace, key.key_id).state == "active"


def test_without_grace_the_old_secret_ends_at_once(conn, workspace, boss):
    key = make(conn, workspace, boss).key
    access.rotate_key(conn, workspace, key.key_id, bytes(32), grace_seconds=0.0, by=boss)
    found = find(conn, workspace, key.key_id)
    assert (found.hash, found.old_hash, found.old_ends_in) == (bytes(32), None, None)


def test_two_secrets_of_a_key_serve_at_most(conn, workspace, boss):
    key = make(conn, workspace, boss).key
    for hashed in (b"1" * 32, b"2" * 32):
        access.rotate_key(conn, workspace, key.key_id, hashed, grace_seconds=600.0, by=boss)
    found = find(conn, workspace, key.key_id)
    assert (found.hash, found.old_hash) == (b"2" * 32, b"1" * 32)


def test_nobody_rotates_a_key_that_may_more_than_himself(conn, workspace, boss):
    weak = make(conn, workspace, boss, scopes=("keys:rotate",)).key
    by = Actor("robot", weak.key_id)
    token = a_token()
    strong = make(conn, workspace, boss, scopes=("state:write",), token=token).key
    assert access.rotate_key(conn, workspace, strong.key_id, bytes(32), grace_seconds=0.0, by=by) == Exceeds(
        "scopes", ("state:write",)
    )
    assert find(conn, workspace, strong.key_id).hash == token.hash
    assert isinstance(access.rotate_key(conn, workspace, weak.key_id, bytes(32), grace_seconds=0.0, by=by), Made)


def test_a_revoked_key_is_ended_for_good(conn, workspace, boss):
    key = make(conn, workspace, boss).key
    revoked = access.revoke_key(conn, workspace, key.key_id, by=boss)
    assert (revoked.key.state, revoked.key.revision > key.revision) == ("revoked", True)
    assert find(conn, workspace, key.key_id).alive is False
    assert access.revoke_key(conn, workspace, key.key_id, by=boss) == revoked
    told = access.rotate_key(conn, workspace, key.key_id, bytes(32), grace_seconds=9.0, by=boss)
    assert told == KeyEnded(key.key_id)
    assert len(trail(conn, workspace, resource=f"key:{key.key_id}")) == 2


def test_there_is_nothing_to_rotate_or_revoke(conn, workspace, boss):
    assert access.revoke_key(conn, workspace, "0" * 22, by=boss) == Missing(None)
    assert access.rotate_key(conn, workspace, "0" * 22, bytes(32), grace_seconds=0.0, by=boss) == Missing(None)


def test_the_clock_alone_ends_a_key_and_the_sweep_writes_it_down(conn, workspace, boss, clock):
    key = make(conn, workspace, boss, seconds=60.0).key
    assert plans.end_keys(conn, workspace, 10) == 0
    clock.move(60)
    assert find(conn, workspace, key.key_id).alive is False
    assert access.key(conn, workspace, key.key_id).state == "expired"
    told = access.rotate_key(conn, workspace, key.key_id, bytes(32), grace_seconds=0.0, by=boss)
    assert told == KeyEnded(key.key_id)
    assert conn.execute("select state from steadhold.keys where key_id = %s", (key.key_id,)).fetchone() == ("active",)
    assert plans.end_keys(conn, workspace, 10) == 1
    assert conn.execute("select state from steadhold.keys where key_id = %s", (key.key_id,)).fetchone() == ("expired",)
    assert plans.end_keys(conn, workspace, 10) == 0
    assert access.revoke_key(conn, workspace, key.key_id, by=boss).key.state == "expired"


def test_the_sweep_takes_no_more_than_it_was_told(conn, workspace, boss, clock):
    for _ in range(3):
        make(conn, workspace, boss, seconds=60.0)
    clock.move(61)
    assert [plans.end_keys(conn, workspace, 2) for _ in range(3)] == [2, 1, 0]


def test_due_names_the_workspace_whose_keys_have_to_be_swept(conn, workspace, boss, clock):
    def due():
        return conn.execute("select duty from steadhold.due_access() where workspace = %s", (workspace,)).fetchall()

    make(conn, workspace, boss, seconds=60.0)
    assert due() == []
    clock.move(61)
    assert due() == [("access.keys",)]
    plans.end_keys(conn, workspace, 10)
    assert due() == []


def test_use_is_noted_once_a_minute(conn, workspace, boss, clock):
    def noted():
        return access.key(conn, workspace, boss.key_id).last_used_at

    assert find(conn, workspace, boss.key_id).unused_seconds is None
    plans.note_used(conn, workspace, [boss.key_id, "0" * 22])
    first = noted()
    assert first is not None
    plans.note_used(conn, workspace, [boss.key_id])
    assert noted() == first
    clock.move(61)
    assert find(conn, workspace, boss.key_id).unused_seconds > 60
    plans.note_used(conn, workspace, [boss.key_id])
    assert noted() > first
