"""The exact JSON reader and writer, rule by rule."""

from __future__ import annotations

import math
from decimal import Decimal
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.exact import JsonFault, check, decode, encode, member_bytes, members
from steadhold.kit.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from steadhold.kit.scan import scan

# --- rules, one by one ------------------------------------------------------------------------

NESTED = JSON_DEPTH_MAX
EXACT = [
    *(b"9007199254740993", b"1e400", b"1.10", b"-0", b"-0.0", b"0e1", b"1E+2", b'"\\u0000"', b'"\\ud83d\\ude00"'),
    *(b' {"b":1, "a":2}\n', b'{"a":{"a":1}}', b'[{"a":1},{"a":2}]', '"\u2028é\x7f"'.encode(), b'{"":1}', b"[]"),
    *(b'{"\\u003a":":"}', b'{"a":"\\u003a","b":"\\\\u003a"}'),
    b"[" * NESTED + b"]" * NESTED,
    b'{"a":' * NESTED + b"1" + b"}" * NESTED,
    b"[" + b"[]," * 200 + b'"' + b"[" * 300 + b'"]',
    b'["\\"[[[", ' + b"[]," * 200 + b'"\\\\"]',
    b"1" * JSON_NUMBER_CHARS_MAX,
    b"[" + b"1" * JSON_NUMBER_CHARS_MAX + b',"' + b"1" * 2_000 + b'"]',
]
FAULTS = [
    (b"", 0, "The document ends where a value is expected."),
    (b" [1", 3, "The document ends where a comma or ] is expected."),
    (b"\xef\xbb\xbf1", 0, "A byte order mark is no JSON; send UTF-8 without one."),
    (b'["\xff"]', 2, "The bytes here are not UTF-8."),
    (b'"\xed\xa0\x80"', 1, "The bytes here are not UTF-8."),
    (b"[NaN]", 1, "Expected a value or ], met N."),
    (b"-Infinity", 0, "Expected a value, met -."),
    (b"01", 1, "Expected the end, met 1."),
    (b"[1,]", 3, "Expected a value, met ]."),
    (b'{"a":1,}', 7, "Expected a key in quotes, met }."),
    (b"{1:2}", 1, "Expected a key in quotes or }, met 1."),
    (b'{"a" 1}', 5, "Expected a colon, met 1."),
    (b"[1}", 2, "Expected a comma or ], met }."),
    (b"1 \x00", 2, "Expected the end, met the byte 0x00."),
    (b'{"a":1, "\\u0061":2}', 8, "This object has the same key a second time."),
    (b'{"\\u003a":1,":":2}', 12, "This object has the same key a second time."),
    (b'["\\\\\\ud800"]', 4, "This escape is half a surrogate pair, which is no character."),
    (b'"\\ud800\\ud800\\udc00"', 1, "This escape is half a surrogate pair, which is no character."),
    (b'{"\\udc00":1}', 2, "This escape is half a surrogate pair, which is no character."),
    (b'["a', 3, "The document ends within a string."),
    (b'["a\\x"]', 3, "This escape is none of JSON's."),
    (b'["a\n"]', 3, "A control character in a string is written as an escape."),
    (b"[" * (NESTED + 1), NESTED, "Arrays and objects lie at most 128 deep."),
    (b"[" * (NESTED + 1) + b"]" * (NESTED + 1), NESTED, "Arrays and objects lie at most 128 deep."),
    (b'["\\"",' + b"[" * NESTED + b"]" * NESTED + b"]", NESTED + 5, "Arrays and objects lie at most 128 deep."),
    (b'["\\\\",' + b"[" * NESTED + b"]" * NESTED + b"]", NESTED + 5, "Arrays and objects lie at most 128 deep."),
    (b"[" * 100_000, NESTED, "Arrays and objects lie at most 128 deep."),
    (b"[ " + b"1" * 1_001 + b"]", 2, "A number has at most 1000 characters; this one has 1001."),
    (b"1" * 5_000, 0, "A number has at most 1000 characters; this one has 5000."),
    (b"1." + b"1" * 500 + b"e" + b"1" * 500, 0, "A number has at most 1000 characters; this one has 1003."),
]


@pytest.mark.parametrize("raw", EXACT, ids=range(len(EXACT)))
def test_exact_json_has_no_fault(raw):
    assert check(raw) is None
    assert scan(raw) is None


@pytest.mark.parametrize("raw, position, why", FAULTS, ids=range(len(FAULTS)))
def test_a_fault_says_where_and_why(raw, position, why):
    assert check(raw) == JsonFault(position, why)


def test_a_deep_document_passes_however_deep_the_caller_is():
    def below(depth):
        return below(depth - 1) if depth else check(b"[" * NESTED + b"]" * NESTED)

    assert below(800) is None


# --- values -----------------------------------------------------------------------------------


def test_numbers_are_read_exactly():
    got = decode(b'[9007199254740993, 1.10, 1e400, -0.0, 1E+2, "x"]')
    assert list(map(str, got)) == ["9007199254740993", "1.10", "1E+400", "-0.0", "1E+2", "x"]
    assert list(map(type, got)) == [int, Decimal, Decimal, Decimal, Decimal, str]


def test_the_longest_integer_is_read_exactly():
    assert decode(b"9" * JSON_NUMBER_CHARS_MAX) == 10**JSON_NUMBER_CHARS_MAX - 1


@pytest.mark.parametrize("raw", [b"1e9999999999999999999", b"[0e-9999999999999999999]"])
def test_an_exponent_that_no_decimal_holds_is_refused_in_a_sentence(raw):
    assert check(raw) is None
    with pytest.raises(ValueError, match="read the bytes instead"):
        decode(raw)


@pytest.mark.parametrize("raw", [b"[1,]", b'"\xff"', b"[" * 100_000, b"1" * 5_000], ids=range(4))
def test_what_is_no_json_is_refused_with_its_position(raw):
    with pytest.raises(ValueError, match=r"\(byte \d+\)"):
        decode(raw)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


WRITTEN = [
    (None, b"null"),
    ([True, False], b"[true,false]"),
    ({"a": (1, "é"), Colour.RED: Colour.RED, "n": Level.HIGH}, '{"a":[1,"é"],"red":"red","n":3}'.encode()),
    ([1.5, 1e16, -0.0, 5e-324], b"[1.5,1e+16,-0.0,5e-324]"),
    ([Decimal("1.10"), Decimal("1E+400"), Decimal("-0")], b"[1.10,1E+400,-0]"),
    (2**80, b"1208925819614629174706176"),
    ('"\\\n\x00', b'"\\"\\\\\\n\\u0000"'),
]
UNWRITABLE = [
    (math.nan, ValueError),
    ([math.inf], ValueError),
    (-math.inf, ValueError),
    (Decimal("NaN"), ValueError),
    (Decimal("-sNaN"), ValueError),
    (Decimal("-Infinity"), ValueError),
    ("\ud800", ValueError),
    ({"\udc00": 1}, ValueError),
    (10**JSON_NUMBER_CHARS_MAX, ValueError),
    (1 << 100_000, ValueError),
    (Decimal("1." + "1" * 1_000), ValueError),
    (b"bytes", TypeError),
    ({1, 2}, TypeError),
    ({1: 2}, TypeError),
    (object(), TypeError),
]


@pytest.mark.parametrize("value, raw", WRITTEN)
def test_a_value_is_written_exactly(value, raw):
    assert encode(value) == raw
    assert check(raw) is None


@pytest.mark.parametrize("value, error", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_what_json_cannot_say_is_refused(value, error):
    with pytest.raises(error):
        encode(value)


def test_a_value_within_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="128 deep"):
        encode(loop)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
VALUES_OF_ALL_KINDS = st.recursive(
    SCALARS | DECIMALS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES_OF_ALL_KINDS)
def test_what_is_written_passes_and_reads_back_equal(value):
    raw = encode(value)
    assert check(raw) is None
    assert decode(raw) == decode(encode(decode(raw)))


@given(st.integers() | DECIMALS)
def test_a_number_reads_back_as_itself(number):
    assert decode(encode(number)) == number


# --- members ----------------------------------------------------------------------------------


def test_a_member_is_its_exact_bytes():
    raw = b' { "a" : { "z":1.10 , "y" : [ ] } , "b":-0 ,"\\u0063": "\\u0063" } '
    assert members(raw) == {"a": b'{ "z":1.10 , "y" : [ ] }', "b": b"-0", "c": b'"\\u0063"'}
    assert member_bytes(raw, "b") == b"-0"
    assert member_bytes(raw, "z") is None


@pytest.mark.parametrize("raw", [b"[1]", b"1", b'"a"', b"null"])
def test_what_is_no_object_has_no_members(raw):
    assert members(raw) == {}
    assert member_bytes(raw, "a") is None
