"""Scopes: each opens its own door and no other."""

from __future__ import annotations

import pytest

from steadhold.access.model import KINDS
from steadhold.access.scopes import ONLY, VERBS, Scope, allows, reach, scope_fault, scope_of

EVERY = [f"{room}:{verb}" for room, verbs in VERBS.items() for verb in verbs]


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
    [
        "",
        "state",
        "state:",
        ":read",
        "*:read",
        "*:*:a",
        "*:",
        "nowhere:read",
        "state:fly",
        "state:read:",
        "STATE:read",
        "state:read:/a",
        "state:read:a/",
        "state:read:a//b",
        "state:read:..",
        "state:read:a\x00",
        " state:read",
    ],
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


def test_a_key_with_a_prefix_is_let_to_its_names_only():
    scopes = ("state:read:team/a",)
    assert allows("service", scopes, "state:read", "team/a/x")
    for beyond in ("team/ab", "team", "", None):
        assert not allows("service", scopes, "state:read", beyond)


def test_a_door_without_a_scope_is_open_to_every_key():
    assert allows("service", (), "")
