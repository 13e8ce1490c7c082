"""No key exceeds its maker, and refusals say what to do."""

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
    workspace_fault,
)
from steadhold.access.scopes import ONLY, VERBS, allows

EVERY = [f"{room}:{verb}" for room, verbs in VERBS.items() for verb in verbs]
NAMES = st.sampled_from(["a", "a/b", "a/bc", "ab", "a/b/c", "b", "x/y"])


def scopes(room):
    """Up to two scopes of one room; one of them may be good for all."""
    verbs = [*(f"{room}:{verb}" for verb in VERBS[room]), f"{room}:*"]
    named = st.tuples(st.sampled_from(verbs), NAMES).map(":".join)
    return st.lists(st.one_of(st.sampled_from([*verbs, "*:*"]), named), max_size=2)


# Of scopes drawn from all rooms few would ever meet.
TWO_KEYS = st.sampled_from(list(VERBS)).flatmap(lambda room: st.tuples(scopes(room), scopes(room)))


def maker(kind="person", scopes=("*:*",), ends_in=None):
    now = datetime(2030, 1, 1, tzinfo=UTC)
    key = Key("k" * 22, 1, "live", "boss", kind, scopes, "active", None, now, None, None, None)
    return Found("acme", key, True, b"", None, ends_in, None, None, None)


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


@given(TWO_KEYS, st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_a_key_that_was_allowed_opens_nothing_that_its_maker_does_not(scopes, kind_of_maker, kind):
    held, wanted = scopes
    by = maker(kind_of_maker, tuple(held))
    if exceeds(by, kind, wanted, None) is not None:
        return
    assert KINDS.index(kind) <= KINDS.index(kind_of_maker)
    for scope in EVERY:
        if ONLY.get(scope):  # these depend on the kind alone, which the line above compares
            continue
        for name in ("a", "a/b", "a/bc", "ab", "b/c"):
            assert allows(kind_of_maker, tuple(held), scope, name) or not allows(kind, tuple(wanted), scope, name)


@given(TWO_KEYS)
def test_making_goes_no_further_than_the_first_maker(scopes):
    """A key made by a key made by me is one that I might have made."""
    held, wanted = scopes
    first, second = maker(scopes=tuple(held)), maker(scopes=tuple(wanted))
    if exceeds(first, "person", wanted, None) is None:
        for scope in EVERY:
            if exceeds(second, "person", (scope,), None) is None:
                assert exceeds(first, "person", (scope,), None) is None


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
        "revisions_kept": 10,
    }


@pytest.mark.parametrize("name", ["a", "acme", "0", "a-b", "a" * 63])
def test_names_of_workspaces(name):
    assert workspace_fault(name) is None


@pytest.mark.parametrize("name", ["", "-a", "A", "~house", "*", "a_b", "a.b", "a/b", "ä", "a" * 64, "a\n", "а"])  # noqa: RUF001
def test_what_names_no_workspace(name):
    assert "1 to 63 characters" in (workspace_fault(name) or "")
