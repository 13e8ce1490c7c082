from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.ids import UUID
from steadhold.kit.page import CursorFault, page, read_cursor, write_cursor

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
KEYS = st.lists(TEXTS | st.integers(-(2**63), 2**63 - 1), max_size=4).map(tuple)


@given(KEYS)
def test_a_cursor_gives_its_key_back(key):
    assert read_cursor("state", write_cursor("state", *key), *map(type, key)) == key


def test_a_cursor_fits_a_url_as_it_is():
    assert write_cursor("state", "ÿ?>" * 50).replace("-", "a").replace("_", "a").isalnum()


@given(KEYS, st.data())
def test_a_changed_cursor_is_a_fault(key, data):
    cursor = write_cursor("state", *key)
    at = data.draw(st.integers(0, len(cursor) - 2))
    other = data.draw(st.sampled_from("ABab01-_").filter(lambda c: c != cursor[at]))
    assert isinstance(read_cursor("state", cursor[:at] + other + cursor[at + 1 :], *map(type, key)), CursorFault)


@pytest.mark.parametrize(
    "cursor", ["", "a", "====", "é", "AAAA", "x" * 5_000, "!" * 8, write_cursor("state", "a")[:-2]]
)
def test_what_is_no_cursor_is_a_fault(cursor):
    fault = read_cursor("state", cursor, str)
    assert isinstance(fault, CursorFault)
    assert "next_cursor" in fault.why


@pytest.mark.parametrize(
    ("key", "kind"),
    [("\0", str), (2**63, int), (-(2**63) - 1, int), ("x", UUID), (1, UUID), ("\0", object)],
)
def test_what_the_database_could_not_hold_is_a_fault(key, kind):
    assert isinstance(read_cursor("state", write_cursor("state", key), kind), CursorFault)


def test_a_pattern_is_the_kind_of_what_it_fits():
    id = "0198f000-0000-7000-8000-000000000000"
    assert read_cursor("jobs", write_cursor("jobs", id), UUID) == (id,)


def test_a_cursor_of_another_list_is_a_fault():
    assert isinstance(read_cursor("jobs", write_cursor("state", "a"), str), CursorFault)


@pytest.mark.parametrize("kinds", [(), (int,), (str, str)])
def test_a_key_of_another_shape_is_a_fault(kinds):
    assert isinstance(read_cursor("state", write_cursor("state", "a"), *kinds), CursorFault)


def test_a_key_may_hold_nothing_where_that_is_a_value():
    assert read_cursor("jobs", write_cursor("jobs", None, 7), object, int) == (None, 7)


def test_a_full_page_points_at_its_last_item():
    got = page(["a", "b", "c"], 2, "state", lambda name: (name,))
    assert got.items == ("a", "b")
    assert read_cursor("state", got.next_cursor or "", str) == ("b",)


@pytest.mark.parametrize("found", [[], ["a"], ["a", "b"]])
def test_the_last_page_points_nowhere(found):
    got = page(found, 2, "state", lambda name: (name,))
    assert (got.items, got.next_cursor) == (tuple(found), None)
