"""Names of events and of their data."""

from __future__ import annotations

import hashlib

import pytest

from steadhold.events import event_id
from steadhold.events.flow import matches
from steadhold.events.model import data_ref, is_ours, place_of
from steadhold.kit.ids import is_id


def test_an_event_is_named_by_its_aggregate_and_revision_alone():
    assert event_id("job:1", 2) == "job:1@2"
    assert place_of("job:1@2") == ("job:1", 2)
    assert place_of("a@b@12") == ("a@b", 12)
    assert [place_of(name) for name in ("mine", "@1", "job@", "job@01", "job@1.0", "job@-1")] == [None] * 6


def test_a_name_is_an_id_however_long_the_aggregates_is():
    one, other = event_id("a" * 200, 1), event_id("a" * 200, 2)
    assert is_id(one)
    assert one != other
    assert one == event_id("a" * 200, 1)
    assert place_of(one) is None


def test_inline_data_is_referred_to_by_its_event_and_digest():
    assert data_ref("e", b"{}") == f"event:e#sha256:{hashlib.sha256(b'{}').hexdigest()}"


def test_aggregates_of_rooms_are_ours():
    assert is_ours("job:1")
    assert is_ours("lock:deploy")
    assert not is_ours("jobs")
    assert not is_ours("order:1")


@pytest.mark.parametrize(
    ("glob", "fits", "not_these"),
    [
        ("a", ["a"], ["", "aa", "ab"]),
        ("*", ["", "a", "a\nb"], []),
        ("a*", ["a", "ab", "aa"], ["", "ba"]),
        ("*a", ["a", "ba", "aba"], ["ab"]),
        ("a*a", ["aa", "aba", "aaa"], ["a", "ab"]),
        ("a*b*a", ["aba", "axbxa", "abba"], ["aa", "ab", "ba"]),
        ("ab*ba", ["abba", "abxba"], ["aba"]),
        ("a**b", ["ab", "axb"], ["a", "b"]),
        ("*bc*bc*", ["bcbc", "abcxbcd"], ["bcb", "bcc"]),
        ("a.c", ["a.c"], ["abc"]),
    ],
)
def test_a_star_stands_for_any_characters(glob, fits, not_these):
    assert [matches([glob], text) for text in (*fits, *not_these)] == [True] * len(fits) + [False] * len(not_these)


def test_no_glob_takes_longer_than_its_text_is_long():
    assert not matches(["*a" * 100], "a" * 199 + "b")
    assert not matches(["*a*a*a*a*a*a*a*a*a*a*b"], "a" * 200)
