"""Scopes, keys and quotas decide without a database."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.access.model import (
    KINDS,
    Entitlements,
    Exceeds,
    Found,
    Key,
    NotEntitled,
    QueueFull,
    StorageExhausted,
    exceeds,
    job_type_verdict,
    queue_verdict,
    storage_verdict,
    workspace_fault,
)
from steadhold.access.scopes import ONLY, VERBS, Scope, allows, reach, scope_fault, scope_of
from steadhold.access.token import Token, is_key_id, key_id_of, opens, parse_token, secret_of

EVERY = [f"{room}:{verb}" for room, verbs in VERBS.items() for verb in verbs]
NAMES = st.sampled_from(["a", "a/b", "a/bc", "ab", "a/b/c", "b", "x/y"])
SCOPES = st.one_of(
    st.just("*:*"),
    st.sampled_from(EVERY),
    st.sampled_from([f"{room}:*" for room in VERBS]),
    st.tuples(st.sampled_from(EVERY), NAMES).map(":".join),
    st.tuples(st.sampled_from([f"{room}:*" for room in VERBS]), NAMES).map(":".join),
)


def maker(kind="person", scopes=("*:*",), ends_in=None):
    now = datetime(2030, 1, 1, tzinfo=UTC)
    key = Key("k" * 22, 1, "live", "boss", kind, scopes, "active", None, now, None, None, None)
    return Found("acme", key, True, b"", None, ends_in, None, None, None)


# --- the text of a key ---


def a_token(env="live"):
    return Token(env, key_id_of("0198c0de-0000-7000-8000-00000000002a"), secret_of(bytes(range(32))))


def test_a_key_reads_back_as_it_was_made():
    token = a_token()
    assert parse_token(token.text) == token
    assert token.text.startswith("sh_live_")
    assert len(token.hash) == 32


@given(st.binary(min_size=32, max_size=32), st.uuids(), st.from_regex(r"[a-z0-9]{1,16}", fullmatch=True))
def test_every_key_reads_back(random, fresh, env):
    token = Token(env, key_id_of(str(fresh)), secret_of(random))
    assert parse_token(token.text) == token
    assert is_key_id(token.key_id)


@pytest.mark.parametrize("at", range(len(a_token().text)))
def test_a_mistyped_key_is_none(at):
    text = a_token().text
    wrong = "0" if text[at] != "0" else "1"
    assert parse_token(text[:at] + wrong + text[at + 1 :]) is None


@pytest.mark.parametrize(
    "text", ["", "sh_", "sh_live__", a_token().text + "x", a_token().text + "\n", "Ω" * 80, "x" * 256]
)
def test_what_is_no_key_is_none(text):
    assert parse_token(text) is None


def test_a_secret_is_told_by_no_representation():
    token = a_token()
    assert token.secret not in repr(token)
    assert token.secret not in f"{[token]!s}"


def test_a_hash_is_of_this_key_only():
    one = Token("live", key_id_of("0198c0de-0000-7000-8000-000000000001"), secret_of(bytes(32)))
    two = Token("live", key_id_of("0198c0de-0000-7000-8000-000000000002"), secret_of(bytes(32)))
    assert one.hash != two.hash


@given(st.uuids(version=4), st.uuids(version=4))
def test_ids_sort_as_what_they_were_made_of(a, b):
    assert (key_id_of(str(a)) < key_id_of(str(b))) == (a.int < b.int)


def test_a_secret_takes_all_its_bytes():
    with pytest.raises(ValueError, match="32 random bytes, not 16"):
        secret_of(bytes(16))


def test_both_hashes_are_compared_whatever_the_first_said(monkeypatch):
    compared = []
    monkeypatch.setattr("steadhold.access.token.hmac.compare_digest", lambda a, b: compared.append(b) or a == b)
    assert opens(b"x", b"x", b"y") == (True, False)
    assert opens(b"q", b"x", b"y") == (False, False)
    assert compared == [b"x", b"y", b"x", b"y"]


@pytest.mark.parametrize("name", ["a", "acme", "0", "a-b", "a" * 63])
def test_names_of_workspaces(name):
    assert workspace_fault(name) is None


@pytest.mark.parametrize("name", ["", "-a", "A", "~house", "*", "a_b", "a.b", "a/b", "ä", "a" * 64, "a\n", "а"])  # noqa: RUF001
def test_what_names_no_workspace(name):
    assert "1 to 63 characters" in (workspace_fault(name) or "")


# --- scopes ---


@pytest.mark.parametrize(
    ("have", "wanted", "covered"),
    [
        ("*:*", "state:read", True),
        ("*:*", "*:*", True),
        ("state:*", "state:read", True),
        ("state:*", "state:*", True),
        ("state:*", "jobs:read", False),
        ("state:*", "*:*", False),
        ("state:read", "state:*", False),
        ("state:read", "state:write", False),
        ("state:read", "state:read:a", True),
        ("state:read:a", "state:read", False),
        ("state:read:a", "state:read:a", True),
        ("state:read:a", "state:read:a/b", True),
        ("state:read:a", "state:read:ab", False),
        ("state:read:a/b", "state:read:a", False),
        ("state:*:a", "state:write:a/b", True),
        ("*:*", "state:*:a", True),
    ],
)
def test_what_a_scope_covers(have, wanted, covered):
    assert scope_of(have).covers(scope_of(wanted)) is covered


def test_a_prefix_may_hold_colons():
    assert scope_of("state:read:a:b/c") == Scope("state", "read", "a:b/c")


@pytest.mark.parametrize("text", [*EVERY, "*:*", "state:*", "state:*:a/b", "state:read:ä/b"])
def test_scopes_there_are(text):
    assert scope_fault(text, ONLY.get(text, "person")) is None


@pytest.mark.parametrize(
    "text",
    ["", "state", "state:", ":read", "*:read", "*:*:a", "*:", "nowhere:read", "state:fly", "state:read:", "STATE:read"]
    + ["state:read:/a", "state:read:a/", "state:read:a//b", "state:read:..", "state:read:a\0", " state:read"],
)
def test_scopes_there_are_not(text):
    assert scope_fault(text, "operator")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scope", EVERY)
def test_the_matrix_of_scopes(kind, scope):
    """Each scope opens its own door and no other; some open none for keys of another kind."""
    serves = ONLY.get(scope, kind) == kind
    assert allows(kind, (scope,), scope) is serves
    assert allows(kind, ("*:*",), scope) is serves
    assert allows(kind, tuple(s for s in EVERY if s != scope), scope) is False
    assert allows(kind, (), scope) is False


@pytest.mark.parametrize("scope", ["approvals:vote", "inboxes:acknowledge", "payloads:read", "keys:create"])
def test_scopes_of_their_own_come_with_no_other_verb(scope):
    room = scope.partition(":")[0]
    others = tuple(s for s in EVERY if s.startswith(f"{room}:") and s != scope)
    assert not allows("person", others, scope)


def test_only_a_person_votes():
    assert [kind for kind in KINDS if allows(kind, ("*:*",), "approvals:vote")] == ["person"]
    assert "person only" in (scope_fault("approvals:vote", "service") or "")


@pytest.mark.parametrize(
    ("scopes", "reached"),
    [
        (("state:read",), ("",)),
        (("*:*",), ("",)),
        (("state:read:a", "state:*:b", "state:write:c", "jobs:read"), ("a", "b")),
        (("state:read:a", "state:read"), ("",)),
        (("state:write",), ()),
        ((), ()),
    ],
)
def test_how_far_a_list_reaches(scopes, reached):
    assert reach("service", scopes, "state:read") == reached


def test_a_key_with_a_prefix_is_let_to_a_list_and_to_its_names_only():
    scopes = ("state:read:team/a",)
    assert allows("service", scopes, "state:read", None)
    assert allows("service", scopes, "state:read", "team/a/x")
    assert not allows("service", scopes, "state:read", "team/ab")


def test_a_door_without_a_scope_is_open_to_every_key():
    assert allows("service", (), "")


# --- no more than its maker ---


@pytest.mark.parametrize(
    ("by", "kind", "scopes", "expires_in", "beyond"),
    [
        (maker(), "person", ("*:*",), None, None),
        (maker(), "service", ("state:read",), 60.0, None),
        (maker("service"), "person", ("state:read",), None, Exceeds("kind")),
        (maker("service"), "service", ("*:*",), None, None),
        (maker("person"), "operator", (), None, Exceeds("kind")),
        (maker(scopes=("state:read", "jobs:*")), "service", ("state:read:a", "jobs:work"), None, None),
        (
            maker(scopes=("state:read",)),
            "service",
            ("state:write", "state:read"),
            None,
            Exceeds("scopes", ("state:write",)),
        ),
        (maker(scopes=("state:read:a",)), "service", ("state:read",), None, Exceeds("scopes", ("state:read",))),
        (maker(ends_in=60.0), "service", (), 60.0, None),
        (maker(ends_in=60.0), "service", (), None, None),
        (maker(ends_in=60.0), "service", (), 60.5, Exceeds("expiry")),
    ],
)
def test_no_more_than_its_maker(by, kind, scopes, expires_in, beyond):
    assert exceeds(by, kind, scopes, expires_in) == beyond


@given(st.lists(SCOPES, max_size=4), st.lists(SCOPES, max_size=4), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_a_key_that_was_allowed_opens_nothing_that_its_maker_does_not(held, wanted, kind_of_maker, kind):
    by = maker(kind_of_maker, tuple(held))
    if exceeds(by, kind, wanted, None) is not None:
        return
    assert KINDS.index(kind) <= KINDS.index(kind_of_maker)
    for scope in EVERY:
        if ONLY.get(scope):  # these depend on the kind alone, which the line above compares
            continue
        for name in ("a", "a/b", "a/bc", "ab", "b/c"):
            assert allows(kind_of_maker, tuple(held), scope, name) or not allows(kind, tuple(wanted), scope, name)


@given(st.lists(SCOPES, max_size=4), st.lists(SCOPES, max_size=4))
def test_making_goes_no_further_than_the_first_maker(held, wanted):
    """A key made by a key made by me is one that I might have made."""
    first, second = maker(scopes=tuple(held)), maker(scopes=tuple(wanted))
    if exceeds(first, "person", wanted, None) is None:
        for scope in EVERY:
            if exceeds(second, "person", (scope,), None) is None:
                assert exceeds(first, "person", (scope,), None) is None


# --- how much ---


@pytest.mark.parametrize(
    ("allowed", "verdict"),
    [
        (None, None),
        (("mail",), None),
        (("call",), NotEntitled("jobs of type mail")),
        ((), NotEntitled("jobs of type mail")),
    ],
)
def test_job_types(allowed, verdict):
    assert job_type_verdict(allowed, "mail") == verdict


@pytest.mark.parametrize(
    ("depth", "most", "verdict"),
    [(10, None, None), (9, 10, None), (10, 10, QueueFull(10, 10)), (0, 0, QueueFull(0, 0))],
)
def test_the_queue(depth, most, verdict):
    assert queue_verdict(depth, most) == verdict


@pytest.mark.parametrize(
    ("used", "growth", "most", "verdict"),
    [
        (10, 5, None, None),
        (10, 5, 15, None),
        (10, 6, 15, StorageExhausted("bytes", 10, 15)),
        (20, 0, 15, None),
        (20, -1, 15, None),
    ],
)
def test_storage(used, growth, most, verdict):
    assert storage_verdict("bytes", used, growth, most) == verdict


@pytest.mark.parametrize(
    ("refusal", "code", "extras"),
    [
        (NotEntitled("jobs of type mail"), "not_entitled", {"what": "jobs of type mail"}),
        (QueueFull(3, 2), "queue_full", {"depth": 3, "max": 2}),
        (StorageExhausted("names", 2, 2), "storage_exhausted", {"what": "names", "used": 2, "max": 2}),
    ],
)
def test_refusals_say_what_to_do(refusal, code, extras):
    assert (refusal.code, refusal.extras) == (code, extras)
    assert "again" in refusal.detail or "operator" in refusal.detail


def test_entitlements_are_columns():
    assert Entitlements(job_types=("a",), bytes_max=1).columns == {
        "job_types": ["a"],
        "jobs_queued_max": None,
        "jobs_running_max": None,
        "requests_per_second_max": None,
        "names_max": None,
        "bytes_max": 1,
        "endpoints_max": None,
    }
