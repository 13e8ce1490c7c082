"""Under a private prefix a name holds envelopes alone, each bound to its place and to the revision it is stored as."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import psycopg
import pytest

from steadhold import context, private, state
from steadhold.context.plans import readable as context_readable
from steadhold.envelopes import Bound, Keyring, open_envelope, seal
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.rules import Misuse
from steadhold.kit.sealed import SealFault, seal_of
from steadhold.private import EnvelopeMismatch, NotPrivate, PlaintextPresent, PlaintextRefused
from steadhold.state import StorageExhausted, Written, plans
from tests.access.people import NOBODY

KEYS = Keyring.generate()


def bound(workspace, name, revision, kind="state", content_type="application/json"):
    return Bound(workspace=workspace, kind=kind, name=name, content_type=content_type, revision=revision)


def sealed(workspace, name, revision, data=b"1", **kw):
    return seal(KEYS, bound(workspace, name, revision, **kw), data)


@pytest.fixture
def make(conn, workspace):
    def made(prefix="secret", kind="state"):
        return private.make(conn, workspace, kind, prefix, plans.readable, by=NOBODY)

    return made


def put(conn, workspace, name, body, expected=None):
    return state.put(conn, workspace, name, body, expected)


def test_a_private_prefix_takes_envelopes_alone(conn, workspace, make):
    assert make().made
    assert put(conn, workspace, "secret/a", b"1") == PlaintextRefused()
    assert put(conn, workspace, "secret", b"1") == PlaintextRefused()
    assert isinstance(put(conn, workspace, "secrets", b"1"), Written)
    envelope = sealed(workspace, "secret/a", 1)
    assert put(conn, workspace, "secret/a", envelope).revision == 1
    found = state.get(conn, workspace, "secret/a")
    assert open_envelope(KEYS, bound(workspace, "secret/a", 1), found.body) == b"1"


def test_an_envelope_is_stored_under_its_own_revision_alone(conn, workspace, make):
    make()
    put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1))
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1), 1) == EnvelopeMismatch(2)
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 3), 1) == EnvelopeMismatch(2)
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 2), 1).revision == 2
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 3), 1) == RevisionConflict(2)


def test_a_tombstone_is_written_over_by_its_next_revision(conn, workspace, make):
    """A create over a tombstone stores nothing that its reader must refuse."""
    make()
    put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1))
    assert state.delete(conn, workspace, "secret/a", 1).revision == 2
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1)) == EnvelopeMismatch(3)
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 3)).revision == 3


def test_a_floor_that_was_raised_is_the_next_revision(conn, workspace, make):
    make()
    conn.execute("reset role")
    conn.execute("update steadhold.house set incarnation = 7")
    conn.execute("set role steadhold_app")
    told = put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1))
    assert told == EnvelopeMismatch((7 << 32) + 1)
    written = put(conn, workspace, "secret/a", sealed(workspace, "secret/a", told.next_revision))
    assert written.revision == told.next_revision


@pytest.mark.parametrize("wrong", ["workspace", "name", "kind"])
def test_an_envelope_of_another_place_is_refused(conn, workspace, make, wrong):
    make()
    place = {"workspace": workspace, "name": "secret/a", "kind": "state"} | {
        wrong: {"workspace": "other", "name": "secret/b", "kind": "context"}[wrong]
    }
    envelope = sealed(place["workspace"], place["name"], 1, kind=place["kind"])
    assert put(conn, workspace, "secret/a", envelope) == EnvelopeMismatch(1)


def test_an_envelope_lies_nowhere_else(conn, workspace, make):
    make()
    assert put(conn, workspace, "open/a", sealed(workspace, "open/a", 1)) == NotPrivate()


def test_one_kind_s_prefixes_are_not_the_other_s(conn, workspace, make):
    make(kind="context")
    assert isinstance(put(conn, workspace, "secret/a", b"1"), Written)


def test_plaintext_stands_in_the_way(conn, workspace, make):
    for name in ("secret", "secret/a", "secrets", "secret/gone"):
        put(conn, workspace, name, b"1")
    state.delete(conn, workspace, "secret/gone", 1)
    assert make() == PlaintextPresent(("secret", "secret/a"))
    state.delete(conn, workspace, "secret", 1)
    state.delete(conn, workspace, "secret/a", 1)
    assert make().made
    again = make()
    assert (again.made, again.revision) == (False, private.get(conn, workspace, "state", "secret").revision)


def test_a_prefix_that_is_lifted_takes_anything_and_keeps_what_is_sealed(conn, workspace, make):
    first = make()
    put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1))
    assert private.lift(conn, workspace, "state", "secret", first.revision + 1, by=NOBODY) == RevisionConflict(
        first.revision
    )
    assert private.lift(conn, workspace, "state", "secret", first.revision, by=NOBODY) == first.__class__(
        first.prefix, first.revision, first.made_at
    )
    assert private.lift(conn, workspace, "state", "secret", first.revision, by=NOBODY) == Missing()
    plain = put(conn, workspace, "secret/b", b"1")
    assert state.get(conn, workspace, "secret/a").body.startswith(b"eyJ")
    state.delete(conn, workspace, "secret/b", plain.revision)
    assert make().revision > first.revision


def test_new_names_begin_above_a_prefix_that_was_lifted(conn, workspace, make):
    """While it is private nothing is forgotten, so nothing has to begin above it."""
    made = make()
    assert put(conn, workspace, "a", b"1").revision == 1
    assert put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1)).revision == 1
    private.lift(conn, workspace, "state", "secret", made.revision, by=NOBODY)
    assert (made.revision, put(conn, workspace, "b", b"1").revision) == (1, 2)
    assert context.put(conn, workspace, "c", b"1", None).revision == 2


def test_prefixes_are_listed_in_the_order_of_their_bytes(conn, workspace, make):
    for prefix in ("b", "a/c", "a"):
        make(prefix)
    assert [one.prefix for one in private.prefixes(conn, workspace, "state", "", 2)] == ["a", "a/c"]
    assert [one.prefix for one in private.prefixes(conn, workspace, "state", "a/c", 2)] == ["b"]


def test_a_batch_is_judged_item_by_item(conn, workspace, make):
    make()
    came = state.batch(
        conn, workspace,
        [
            state.Put("secret/a", b"1", None),
            state.Put("secret/b", sealed(workspace, "secret/b", 1), None),
            state.Put("secret/c", sealed(workspace, "secret/c", 9), None),
            state.Put("open", b"1", None),
        ],
    )  # fmt: skip
    assert [type(one).__name__ for one in came] == ["PlaintextRefused", "Written", "EnvelopeMismatch", "Written"]


def test_a_full_workspace_says_so_of_envelopes_too(conn, workspace, make, database):
    make()
    conn.execute(
        "insert into steadhold.entitlements (workspace, revision, changed_at, bytes_max)"
        " values (%s, 1, steadhold.clock(), 20) on conflict (workspace) do update set bytes_max = 20",
        (workspace,),
    )
    assert isinstance(put(conn, workspace, "secret/a", sealed(workspace, "secret/a", 1)), StorageExhausted)


def test_a_refused_rival_of_one_flush_is_nobody_else_s_refusal(conn, workspace, make):
    """Writes of one name that are flushed together are judged each by what it brings itself."""
    make()
    right = sealed(workspace, "secret/a", 1)
    for wrong in (b"1", sealed(workspace, "secret/a", 9)):
        came = state.batch(conn, workspace, [state.Put("secret/a", wrong, None), state.Put("secret/a", right, None)])
        assert [type(one).__name__ for one in came][1] == "Written"
        state.delete(conn, workspace, "secret/a", came[1].revision)
        right = sealed(workspace, "secret/a", came[1].revision + 2)


LARGE = 3 * 1024 * 1024
JUNK = b"readable " * 200_000


@pytest.mark.parametrize("body", [b"", b"readable", b"eyJ readable", JUNK], ids=["none", "few", "like", "many"])
def test_a_file_that_only_says_it_is_sealed_stands_in_the_way(conn, workspace, body):
    """Outside private prefixes a file may be anything, and say anything of itself."""
    there = context.put(conn, workspace, "secret/a", body, None, "application/jose")
    assert private.make(conn, workspace, "context", "secret", context_readable, by=NOBODY) == PlaintextPresent(
        ("secret/a",)
    )
    assert isinstance(context.delete(conn, workspace, "secret/a", there.revision), context.Written)
    assert private.make(conn, workspace, "context", "secret", context_readable, by=NOBODY).made


@pytest.mark.parametrize("size", [1, LARGE], ids=["few", "many"])
def test_what_is_sealed_already_stands_in_nobody_s_way(conn, workspace, size):
    first = private.make(conn, workspace, "context", "secret", context_readable, by=NOBODY)
    for n in range(12):
        body = sealed(workspace, f"secret/{n}", 1, bytes(size if n == 11 else 1), kind="context")
        assert context.put(conn, workspace, f"secret/{n}", body, None, "application/jose").revision == 1
    private.lift(conn, workspace, "context", "secret", first.revision, by=NOBODY)
    plain = context.put(conn, workspace, "secret/zz", b"1", None)
    assert private.make(conn, workspace, "context", "secret", context_readable, by=NOBODY) == PlaintextPresent(
        ("secret/zz",)
    )
    context.delete(conn, workspace, "secret/zz", plain.revision)
    assert private.make(conn, workspace, "context", "secret", context_readable, by=NOBODY).made


def test_an_older_snapshot_writes_nothing(database, workspace):
    """It would not show a prefix that was made meanwhile, nor to who makes one what was written meanwhile."""
    with psycopg.connect(database.dsn) as old, psycopg.connect(database.dsn) as new:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert state.get(old, workspace, "secret/a") == Missing(None)
        private.make(new, workspace, "state", "secret", plans.readable, by=NOBODY)
        new.commit()
        with pytest.raises(RuntimeError, match="need `read committed`"):
            state.put(old, workspace, "secret/a", b"1", None)
        with pytest.raises(RuntimeError, match="need `read committed`"):
            private.make(old, workspace, "state", "other", plans.readable, by=NOBODY)
        assert state.get(old, workspace, "secret/a") == Missing(None)


@pytest.mark.parametrize("number", [2**63, 2**64, 10**30, -1, 0])
def test_a_number_that_no_write_makes_is_no_envelope(conn, workspace, make, number):
    """The database could not even be asked whether it is the next one."""
    make()
    head, *rest = sealed(workspace, "secret/a", 1).split(b".")
    said = json.loads(urlsafe_b64decode(head + b"=="))
    said["ctx"]["revision"] = number
    other = b".".join([urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"="), *rest])
    assert isinstance(seal_of(other), SealFault)
    with pytest.raises(Misuse, match="revision"):
        put(conn, workspace, "secret/a", other)
    said["ctx"]["revision"] = 2**63 - 1
    last = b".".join([urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"="), *rest])
    assert put(conn, workspace, "secret/a", last) == EnvelopeMismatch(1)
