"""Structured fields beyond the outside suite: lists, tokens, numbers, dates, and what cannot be written."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.structured import (
    Date,
    InnerList,
    Item,
    StructuredError,
    Token,
    parse_dictionary,
    parse_item,
    parse_list,
    write_dictionary,
    write_item,
    write_list,
)

KEYS = st.from_regex(r"[a-z*][a-z0-9_.*-]{0,6}", fullmatch=True)
BARE = (
    st.booleans()
    | st.integers(-999_999_999_999_999, 999_999_999_999_999)
    | st.decimals(-999_999_999_999, 999_999_999_999, places=3)
    | st.binary(max_size=9)
    | st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=9)
    | st.from_regex(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]{0,9}", fullmatch=True).map(Token)
    | st.integers(-(10**14), 10**14).map(Date)
)
PARAMETERS = st.dictionaries(KEYS, BARE, max_size=3)
ITEMS = st.builds(Item, BARE, PARAMETERS)
MEMBERS = ITEMS | st.builds(InnerList, st.lists(ITEMS, max_size=3).map(tuple), PARAMETERS)


@given(ITEMS)
def test_an_item_survives_the_wire(item):
    assert parse_item(write_item(item)) == item


@given(st.lists(MEMBERS, max_size=4))
def test_a_list_survives_the_wire(members):
    assert parse_list(write_list(members)) == tuple(members)


@given(st.dictionaries(KEYS, MEMBERS, max_size=4))
def test_a_dictionary_survives_the_wire(members):
    assert parse_dictionary(write_dictionary(members)) == members


def read_or_none(parse, text):
    try:
        return parse(text)
    except StructuredError:
        return None


@pytest.mark.parametrize(
    "parse, write", [(parse_item, write_item), (parse_list, write_list), (parse_dictionary, write_dictionary)]
)
@given(text=st.text(max_size=12) | st.text('a1"\\:;,=()?@*-. \t', max_size=12))
def test_any_text_is_read_and_written_again_or_refused(text, parse, write):
    value = read_or_none(parse, text)
    assert value is None or parse(write(value)) == value


@pytest.mark.parametrize(
    "text, value",
    [
        ("1.5", Decimal("1.5")),
        ("-0", 0),
        ("999999999999999", 999_999_999_999_999),
        ("999999999999.999", Decimal("999999999999.999")),
        ("*a/b:c", Token("*a/b:c")),
        ("?0", False),
        ("@1659578233", Date(1659578233)),
    ],
)
def test_a_bare_item_is_plain_python(text, value):
    read = parse_item(text).value
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    ["1000000000000000", "1.", "1.0000", "1234567890123.1", "-", "--1", "1.2.3", "?2", "@1.5", "é", "1 2", "(1)", "%"],
)
def test_what_is_no_item_is_refused(text):
    with pytest.raises(StructuredError):
        parse_item(text)


@pytest.mark.parametrize("text", ["1,", "1,,2", "(1", "(1,2)", '("a""b")', "1;A=2", "1;=2", "1 ; a"])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(StructuredError):
        parse_list(text)


@pytest.mark.parametrize(
    "value",
    ["é", "\n", Token("1a"), Token(""), 10**15, -(10**15), Decimal(10**12), Decimal("NaN"), Date(10**15)],
)
def test_what_no_field_can_say_is_not_written(value):
    with pytest.raises(StructuredError):
        write_item(Item(value))


def test_a_key_that_no_field_can_say_is_not_written():
    with pytest.raises(StructuredError, match="no key"):
        write_item(Item(1, {"A": 1}))
