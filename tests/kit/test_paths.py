from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.paths import bounds, context_path_fault, from_url, path_fault, prefix_fault, under

GOOD = ["a", "a/b/c", "a.b", ".a", "...", "a b", "é/ü", "a/..b", "a:b@c", "x" * 512, "é" * 256, "日本/語", "a%2Fb"]
BAD = [
    ("", "has 0"),
    ("x" * 513, "has 513"),
    ("é" * 257, "has 514"),
    ("/a", "no empty segment"),
    ("a/", "no empty segment"),
    ("a//b", "no empty segment"),
    ("/", "no empty segment"),
    (".", "is . or .."),
    ("a/..", "is . or .."),
    ("a/./b", "is . or .."),
    ("a\x00b", "control"),
    ("a\n", "control"),
    ("a\x7f", "control"),
    ("a\x85b", "control"),
    ("e\u0301", "normalisation form C"),
    ("\ud800", "surrogate"),
]


@pytest.mark.parametrize("path", GOOD, ids=range(len(GOOD)))
def test_a_path_has_no_fault(path):
    assert path_fault(path) is None
    assert context_path_fault(path) is None
    assert prefix_fault(path) is None


@pytest.mark.parametrize("path, why", BAD, ids=range(len(BAD)))
def test_what_is_no_path_is_told_why(path, why):
    assert why in (path_fault(path) or "")
    assert why in (context_path_fault(path) or "")


def test_a_backslash_is_refused_in_context_alone():
    assert path_fault("a\\b") is None
    assert "backslash" in (context_path_fault("a\\b") or "")


def test_the_empty_prefix_covers_everything():
    assert prefix_fault("") is None
    assert under("any/thing", "")


def test_a_prefix_ends_in_a_whole_segment():
    assert "last /" in (prefix_fault("a/") or "")
    assert "no empty segment" in (prefix_fault("/a") or "")


@pytest.mark.parametrize(
    "path, prefix, covered",
    [
        ("a/b", "a", True),
        ("a", "a", True),
        ("a/b/c", "a/b", True),
        ("a/bc", "a/b", False),
        ("ab", "a", False),
        ("a", "a/b", False),
        ("a0", "a", False),
        ("a.b", "a", False),
    ],
)
def test_a_prefix_covers_whole_segments(path, prefix, covered):
    assert under(path, prefix) is covered


PATHS = st.text(st.sampled_from("ab/.0é-"), min_size=1, max_size=8).filter(lambda path: path_fault(path) is None)


@given(PATHS, PATHS)
def test_the_bounds_hold_just_what_lies_below(path, prefix):
    low, high = (bound.encode() for bound in bounds(prefix))
    assert (path == prefix or low <= path.encode() < high) == under(path, prefix)


@given(st.text(max_size=8))
def test_a_path_is_what_the_rules_say(path):
    segments = path.split("/")
    plain = not any(unicodedata.category(c) in {"Cc", "Cs"} for c in path)
    expected = plain and unicodedata.is_normalized("NFC", path) and not {"", ".", ".."} & set(segments)
    assert (path_fault(path) is None) == expected


@pytest.mark.parametrize(
    "raw, text",
    [
        (b"a/b", "a/b"),
        (b"a%2Fb", "a/b"),
        (b"%c3%A9", "é"),
        ("é".encode(), "é"),
        (b"a+b", "a+b"),
        (b"%00", "\x00"),
        (b"%ff", None),
        (b"%ed%a0%80", None),
        (b"100%", None),
        (b"%zz", None),
        (b"%2", None),
    ],
)
def test_a_url_says_strict_utf8(raw, text):
    assert from_url(raw) == text
