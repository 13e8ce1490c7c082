from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.ids import IdFault, id_fault, is_id, new_id, operation_key, uuid7, uuid7_ms

GOOD = ["a", "A-z_0.9~:@", "x" * 200, "0198c1e2-0000-7000-8000-000000000000", "job:17"]
BAD = [
    ("", "at least one"),
    ("x" * 201, "this one has 201"),
    ("a/b", "'/' is none"),
    ("a b", "' ' is none"),
    ("é", r"'\\xe9' is none"),
    ("a\n", r"'\\n' is none"),
    ("a%20", "'%' is none"),
]


@pytest.mark.parametrize("text", GOOD)
def test_an_id_has_no_fault(text):
    assert is_id(text)
    assert id_fault(text) is None


@pytest.mark.parametrize("text, why", BAD)
def test_what_is_no_id_is_told_why(text, why):
    assert not is_id(text)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(id_fault(text))


def test_what_is_no_text_is_no_id():
    assert id_fault(7) == "An id is text; int is none."


@pytest.mark.parametrize("field", ["order-17", '"order-17"', '  "order-17"\t', " order-17 "])
def test_a_key_may_stand_bare_or_in_quotes(field):
    assert operation_key(field) == "order-17"


@pytest.mark.parametrize("field", ["", '""', '"a', 'a"', '"', '"a"b"', '"a";b=1', "a, b", "x" * 201])
def test_what_holds_no_id_is_no_key(field):
    assert isinstance(operation_key(field), IdFault)


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_a_uuid7_holds_its_milliseconds_and_its_randomness(milliseconds, random):
    text = uuid7(milliseconds, random)
    parsed = uuid.UUID(text)
    assert (parsed.version, parsed.variant, str(parsed)) == (7, uuid.RFC_4122, text)
    assert uuid7_ms(text) == uuid7_ms(text.upper()) == milliseconds
    kept = ~(0xF << 76 | 0b11 << 62)
    assert parsed.int & (1 << 80) - 1 & kept == int.from_bytes(random) & kept


@given(st.integers(0, 2**48 - 2), st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_later_uuids_sort_later(milliseconds, one, other):
    assert uuid7(milliseconds, one) < uuid7(milliseconds + 1, other)


@pytest.mark.parametrize(
    "text",
    [
        "0198c1e2-0000-4000-8000-000000000000",
        "0198c1e2-0000-7000-c000-000000000000",
        "0198c1e200007000800000000000000000",
        "0198c1e2-0000-7000-8000-00000000000",
        "{0198c1e2-0000-7000-8000-000000000000}",
        "order-17",
        "",
    ],
)
def test_another_text_has_no_milliseconds(text):
    assert uuid7_ms(text) is None


@pytest.mark.parametrize("milliseconds, size", [(-1, 10), (2**48, 10), (0, 9), (0, 11)])
def test_a_uuid7_that_cannot_be_made_is_refused(milliseconds, size):
    with pytest.raises(ValueError, match="UUIDv7"):
        uuid7(milliseconds, bytes(size))


def test_new_ids_differ_and_are_ids():
    made = {new_id() for _ in range(100)}
    assert len(made) == 100
    assert all(is_id(one) and uuid7_ms(one) for one in made)
