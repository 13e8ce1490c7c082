"""Keys, workspaces, entitlements and their record, on PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest

from steadhold import access
from steadhold.access import plans
from steadhold.access.model import HOUSE, Actor, Entitlements, Exceeds, KeyEnded, Made, Taken
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing, RevisionConflict

RANDOM = bytes(range(32))
NOBODY = Actor("nobody", None)


def a_token(random=RANDOM, env="live"):
    return Token(env, key_id_of(new_id()), secret_of(random))


@pytest.fixture
def boss(conn, workspace):
    """The first key of a workspace: a person with every scope. Answers the actor that it is."""
    token = a_token()
    made = access.import_key(
        conn, workspace, token.key_id, token.hash, env="live", subject="boss", kind="person", scopes=("*:*",)
    )
    assert isinstance(made, Made)
    return Actor("boss", token.key_id)


def make(conn, workspace, by, *, subject="robot", kind="service", scopes=("state:read",), seconds=None, token=None):
    token = token or a_token()
    wanted = {"subject": subject, "kind": kind, "scopes": scopes, "expires_in_seconds": seconds}
    return access.make_key(conn, workspace, token.key_id, token.hash, **wanted, by=by)


def find(conn, workspace, key_id):
    return plans.find_key(conn, workspace, key_id)


def trail(conn, workspace, **wanted):
    return [(row.subject, row.key_id, row.kind, row.resource) for row in access.trail(conn, workspace, 100, **wanted)]


# --- keys ---


def test_a_key_is_made(conn, workspace, boss):
    made = make(conn, workspace, boss, scopes=("state:read", "jobs:work:a"))
    assert isinstance(made, Made)
    key = made.key
    assert (key.subject, key.kind, key.scopes, key.state) == (
        "robot",
        "service",
        ("state:read", "jobs:work:a"),
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


# --- rotation and revocation ---


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


# --- importing ---


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
    name, token = f"w{key_id_of(new_id()).lower()}", a_token()
    with database.enter(name) as conn, conn.transaction():
        assert access.known(conn, name) is False
        access.import_key(
            conn, name, token.key_id, token.hash, env="dev", subject="dev", kind="person", scopes=("*:*",)
        )
        assert access.known(conn, name) is True


# --- workspaces ---


def created(database, name, by=NOBODY, token=None, **more):
    token = token or a_token()
    with database.enter(name) as conn, conn.transaction():
        return access.create_workspace(conn, name, token.key_id, token.hash, subject="owner", by=by, **more)


def a_name():
    return f"w{key_id_of(new_id()).lower()}"


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


# --- entitlements ---


def test_without_entitlements_nothing_is_limited(conn, workspace):
    entitled = access.entitlements(conn, workspace)
    assert (entitled.revision, entitled.limits) == (0, Entitlements())
    assert access.limits(conn, workspace) == Entitlements()


def test_entitlements_are_set_under_a_revision(conn, workspace, boss):
    wanted = Entitlements(job_types=("mail",), jobs_queued_max=5, requests_per_second_max=9, bytes_max=0)
    assert access.put_entitlements(conn, workspace, wanted, 1, by=boss) == Missing(None)
    first = access.put_entitlements(conn, workspace, wanted, None, by=boss)
    assert first.limits == access.limits(conn, workspace) == wanted
    assert access.put_entitlements(conn, workspace, wanted, None, by=boss) == RevisionConflict(first.revision)
    second = access.put_entitlements(conn, workspace, Entitlements(), first.revision, by=boss)
    assert second.revision == first.revision + 1
    assert access.put_entitlements(conn, workspace, wanted, first.revision, by=boss) == RevisionConflict(
        second.revision
    )
    assert access.entitlements(conn, workspace).limits == Entitlements()
    changes = trail(conn, workspace, kind="entitlements.changed")
    assert changes == [("boss", boss.key_id, "entitlements.changed", "entitlements")] * 2


def test_a_rate_reaches_whoever_tests_a_key(conn, workspace, boss):
    assert find(conn, workspace, boss.key_id).requests_per_second_max is None
    access.put_entitlements(conn, workspace, Entitlements(requests_per_second_max=7), None, by=boss)
    assert find(conn, workspace, boss.key_id).requests_per_second_max == 7


def metered(conn, workspace):
    found = conn.execute(
        "select what, sum(amount)::bigint from steadhold.meters where workspace = %s group by what", (workspace,)
    )
    return dict(found.fetchall())


@pytest.fixture
def counted(database):
    """Let a room count in a given way what a workspace uses."""
    with database.connect() as owner:
        text = owner.execute("select pg_get_functiondef('steadhold.used(text)'::regprocedure)").fetchone()[0]

        def count(rows):
            body = " union all ".join(f"select '{what}'::text, {amount}::bigint" for what, amount in rows)
            owner.execute(text[: text.index("AS $")] + f"as $$ {body} $$")

        yield count
        owner.execute(text)


def play_meter(conn, workspace, **more):
    from steadhold.kit.plan import operation

    operation(lambda ws: access.meter(ws, **more))(conn, workspace)


def test_nothing_is_metered_without_a_limit(conn, workspace, boss):
    access.put_entitlements(conn, workspace, Entitlements(jobs_queued_max=1), None, by=boss)
    play_meter(conn, workspace, names=1, bytes=5)
    assert metered(conn, workspace) == {}


def test_a_limit_begins_with_what_is_there(conn, workspace, boss, counted):
    counted([("names", 3), ("names", 4), ("bytes", 100), ("jobs_queued", 9)])
    access.put_entitlements(conn, workspace, Entitlements(names_max=10), None, by=boss)
    assert metered(conn, workspace) == {"names": 7, "bytes": 100}
    play_meter(conn, workspace, names=1, bytes=-20)
    play_meter(conn, workspace, bytes=5)
    assert metered(conn, workspace) == {"names": 8, "bytes": 85}
    assert access.entitlements(conn, workspace).used == {"names": 7, "bytes": 100, "jobs_queued": 9}


def test_a_recount_puts_the_meters_right(conn, workspace, boss, counted, clock):
    def due():
        return conn.execute("select duty from steadhold.due_access() where workspace = %s", (workspace,)).fetchall()

    counted([("names", 3), ("bytes", 10)])
    access.put_entitlements(conn, workspace, Entitlements(bytes_max=10), None, by=boss)
    play_meter(conn, workspace, names=5, bytes=5)
    assert (due(), plans.recount(conn, workspace)) == ([], 0)
    clock.move(6)
    assert (due(), plans.recount(conn, workspace)) == ([("access.recount",)], 1)
    assert metered(conn, workspace) == {"names": 3, "bytes": 10}
    assert (due(), plans.recount(conn, workspace)) == ([], 0)
    clock.move(3_601)
    assert plans.recount(conn, workspace) == 1


# --- the record ---


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


# --- secrets and walls ---


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
    with database.connect() as owner:
        tables = owner.execute(
            "select quote_ident(schemaname) || '.' || quote_ident(tablename) from pg_tables where schemaname = 'steadhold'"
        ).fetchall()
        dump = "\n".join(
            row[0] for (table,) in tables for row in owner.execute(f"select t::text from {table} t").fetchall()
        )
    assert second.hash.hex() in dump  # the dump is whole: what is kept of a key is in it
    for token in (first, second, fresh):
        for spelt in (token.secret, token.secret.encode().hex(), token.text):
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
