"""Keys are made, listed, imported, and workspaces founded, on PostgreSQL."""

from __future__ import annotations

import pytest

from steadhold import access
from steadhold.access.model import HOUSE, Actor, Exceeds, KeyEnded, Made, Taken
from steadhold.kit.outcome import Missing
from tests.access.people import NOBODY, a_name, a_token, find, make, trail


def test_a_key_is_made(conn, workspace, boss):
    made = make(conn, workspace, boss, scopes=("state:read", "state:write:a"))
    assert isinstance(made, Made)
    key = made.key
    assert (key.subject, key.kind, key.scopes, key.state) == (
        "robot",
        "service",
        ("state:read", "state:write:a"),
        "active",
    )
    assert (key.env, key.made_by, key.expires_at, key.last_used_at) == ("live", boss.key_id, None, None)
    assert access.key(conn, workspace, key.key_id) == key
    assert ("boss", boss.key_id, "key.made", f"key:{key.key_id}") in trail(conn, workspace)


def test_a_key_takes_the_mark_of_its_maker(conn, workspace):
    token = a_token(env="dev")
    wanted = {"env": "dev", "subject": "me", "kind": "person", "scopes": ("*:*",)}
    access.import_key(conn, workspace, token.key_id, token.hash, **wanted)
    assert make(conn, workspace, Actor("me", token.key_id)).key.env == "dev"


@pytest.mark.parametrize(
    ("kind", "scopes", "seconds", "beyond"),
    [
        ("person", ("state:read",), None, "kind"),
        ("service", ("state:write",), None, "scopes"),
        ("service", ("state:read",), 3_601.0, "expiry"),
    ],
)
def test_a_key_never_exceeds_its_maker(conn, workspace, boss, kind, scopes, seconds, beyond):
    maker = make(conn, workspace, boss, scopes=("state:read", "keys:create"), seconds=3_600.0).key
    before = access.keys(conn, workspace, "", 100)
    told = make(conn, workspace, Actor("robot", maker.key_id), kind=kind, scopes=scopes, seconds=seconds)
    assert isinstance(told, Exceeds)
    assert told.what == beyond
    assert access.keys(conn, workspace, "", 100) == before
    assert trail(conn, workspace, kind="key.made")[0][3] == f"key:{maker.key_id}"


def test_without_an_expiry_a_key_takes_its_makers(conn, workspace, boss):
    maker = make(conn, workspace, boss, scopes=("state:read",), seconds=60.0).key
    by = Actor("robot", maker.key_id)
    assert make(conn, workspace, by).key.expires_at == maker.expires_at
    assert make(conn, workspace, by, seconds=50.0).key.expires_at <= maker.expires_at


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_key_that_has_ended_makes_none(conn, workspace, boss, clock, end):
    maker = make(conn, workspace, boss, seconds=60.0).key
    if end == "revoked":
        access.revoke_key(conn, workspace, maker.key_id, by=boss)
    else:
        clock.move(61)
    assert make(conn, workspace, Actor("robot", maker.key_id)) == KeyEnded(maker.key_id)


def test_an_unknown_maker_makes_none(conn, workspace):
    assert make(conn, workspace, Actor("ghost", "0" * 22)) == KeyEnded("0" * 22)
    assert make(conn, workspace, NOBODY) == KeyEnded("")


def test_an_operators_key_makes_keys_of_a_workspace(conn, database, workspace):
    token = a_token()
    with database.enter(HOUSE) as house, house.transaction():
        access.import_key(
            house, HOUSE, token.key_id, token.hash, env="live", subject="op", kind="operator", scopes=("*:*",)
        )
    made = make(conn, workspace, Actor("op", token.key_id), kind="person", scopes=("*:*",))
    assert isinstance(made, Made)
    assert made.key.made_by == token.key_id


def test_an_id_is_one_keys_in_all_workspaces(conn, committed, database, workspace, boss):
    token = a_token()
    assert isinstance(make(conn, workspace, boss, token=token), Made)
    assert make(conn, workspace, boss, token=token) == Taken(token.key_id)


def test_keys_of_another_workspace_are_missing(conn, database, workspace, boss):
    other = database.new_workspace()
    with database.enter(other) as elsewhere, elsewhere.transaction():
        assert access.key(elsewhere, other, boss.key_id) == Missing(None)
        assert access.revoke_key(elsewhere, other, boss.key_id, by=NOBODY) == Missing(None)
        assert access.keys(elsewhere, other, "", 100) == []


def test_keys_are_listed_in_the_order_of_their_making(conn, workspace, boss):
    made = [make(conn, workspace, boss).key.key_id for _ in range(3)]
    assert [key.key_id for key in access.keys(conn, workspace, boss.key_id, 100)] == made
    assert [key.key_id for key in access.keys(conn, workspace, made[0], 1)] == [made[1]]


def test_a_kept_key_is_known_again_on_each_start(conn, workspace):
    token = a_token()
    wanted = {"env": "dev", "subject": "dev", "kind": "person", "scopes": ("*:*",)}
    first = access.import_key(conn, workspace, token.key_id, token.hash, **wanted)
    assert access.import_key(conn, workspace, token.key_id, token.hash, **wanted) == first
    assert trail(conn, workspace) == [("dev", None, "key.made", f"key:{token.key_id}")]


@pytest.mark.parametrize("other", [{"hash": bytes(32)}, {"subject": "other"}, {"kind": "service"}])
def test_another_key_under_a_known_id_is_refused(conn, workspace, other):
    token = a_token()
    wanted = {"hash": token.hash, "env": "dev", "subject": "dev", "kind": "person", "scopes": ("*:*",)}
    access.import_key(conn, workspace, token.key_id, **wanted)
    assert access.import_key(conn, workspace, token.key_id, **wanted | other) == Taken(token.key_id)


def test_importing_founds_the_workspace(database):
    name, token = a_name(), a_token()
    with database.enter(name) as conn, conn.transaction():
        assert access.known(conn, name) is False
        access.import_key(
            conn, name, token.key_id, token.hash, env="dev", subject="dev", kind="person", scopes=("*:*",)
        )
        assert access.known(conn, name) is True


def created(database, name, by=NOBODY, token=None, **more):
    token = token or a_token()
    with database.enter(name) as conn, conn.transaction():
        return access.create_workspace(conn, name, token.key_id, token.hash, subject="owner", by=by, **more)


def test_a_workspace_comes_with_its_first_key(database, conn):
    name = a_name()
    made = created(database, name, env="test")
    assert (made.workspace, made.key.kind, made.key.scopes, made.key.env) == (name, "person", ("*:*",), "test")
    assert name in [w.name for w in access.workspaces(conn, name, name[:-1], 1000)]
    with database.enter(name) as inside, inside.transaction():
        assert {row[2] for row in trail(inside, name)} == {"workspace.created", "key.made"}


def test_a_name_is_taken_once(database):
    name = a_name()
    assert isinstance(created(database, name), Made)
    token = a_token()
    assert created(database, name, token=token) == Taken(name)
    with database.enter(name) as conn, conn.transaction():
        assert len(access.keys(conn, name, "", 10)) == 1
        assert find(conn, name, token.key_id) is None


def test_an_ended_operators_key_creates_nothing(database, conn):
    name = a_name()
    assert created(database, name, by=Actor("op", "0" * 22)) == KeyEnded("0" * 22)
    with database.enter(name) as inside, inside.transaction():
        assert access.known(inside, name) is False


def test_a_fresh_workspace_takes_a_fresh_id(database, workspace, conn, boss):
    token = a_token()
    created(database, a_name(), token=token)
    with pytest.raises(AssertionError, match="takes a fresh one"):
        created(database, a_name(), token=token)
