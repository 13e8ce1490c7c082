"""Long steps lead to the same fault as going token by token."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steadhold.kit.exact import check
from steadhold.kit.scan import JsonFault, scan
from steadhold.kit.stride import DOUBT

KEYS = st.sampled_from(["a", "b", "", ":", "é", "[", "}", '"', "0"])
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | KEYS,
    lambda inner: st.lists(inner, min_size=1, max_size=6) | st.dictionaries(KEYS, inner, min_size=1, max_size=6),
    max_leaves=40,
)
PIECES = [*(b"%c" % mark for mark in b',[]{}:"x'), b'"a":', b'"a":1,', b',"":1', b"\\ud800", b"01", b"1.", b"1" * 1_001]
DAMAGE = st.sampled_from(PIECES)


@st.composite
def damaged(draw):
    """A long text with two pieces put in or taken out."""
    raw = json.dumps(draw(st.lists(VALUES, min_size=3)), indent=draw(st.sampled_from([None, 0]))).encode()
    for _ in range(2):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(DAMAGE) + raw[at + draw(st.integers(0, 3)) :]
    return raw


@given(damaged())
@example(b"[1,2,[,3,4]")
@example(b'{"a":1,"b":{,"c":3}')
@example(b'{"a":1,"b":2,"a":3,"c":4,"d":5}')
@example(b'[{"a":1,"b":[2,3],"c":4},{"a":1,"a":2,"c":3},5]')
@example(b'{"a":[{"b":1,"c":2,"d":[3,4],"b":5,"e":6}],"f":7,"g":8}')
@example(b'{"a":{"b":1,"c":2},"d":3,"e":4,"a":5,"f":6}')
@example(b'{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"b":1,"g":1,"h":1}')
@example(b'{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"c":1,"g":1,"h":1}')
@example(b"[1,2],3,4,5")
@example(b"[1,2,3}],4,5")
@example(b"[1,],2,3,4")
def test_steps_lead_to_the_same_fault(raw):
    assert check(raw) == scan(raw)


WIDE = {
    "items": (b"[" + b"1," * 500_000 + b"x]", 1_000_001, "Expected a value, met x."),
    "records": (b"[" + b'{"a":1,"b":[2,{}]},' * 50_000 + b"]", 950_001, "Expected a value, met ]."),
    "members": (
        b"{" + b",".join(b'"k%d":1' % n for n in range(80_000)) + b',"k0":1}',
        868_891,
        "This object has the same key a second time.",
    ),
    "objects in objects": (
        b"[" + b'{"a":[{"b":{}}]},' * 50_000 + b'{"x":{"x":1,"x":2}}]',
        850_013,
        "This object has the same key a second time.",
    ),
    "nests": (
        b"[" + (b"[" * 100 + b"]" * 100 + b",") * 5_000 + b"[" * 128,
        1_005_128,
        "Arrays and objects lie at most 128 deep.",
    ),
    "a lost end": (b'{"a":[' * 20 + b"1," * 500_000, 1_000_120, "The document ends where a value is expected."),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_fault_at_the_end_of_a_large_document(name):
    raw, position, why = WIDE[name]
    asked = []

    def sure(part):
        asked.append(len(part))
        return json.loads(part) if check(part) is None else DOUBT

    assert scan(raw, sure) == JsonFault(position, why) == check(raw)
    assert 0.9 * len(raw) < sum(asked) < 4 * len(raw)  # most of it was vouched for, and little of it often


@pytest.mark.parametrize(
    "unit", [b"[" * 126 + b"]" * 126, b'{"a":' * 60 + b"1" + b"}" * 60, b'{"a":[' * 60 + b"]}" * 60]
)
def test_a_fault_behind_much_that_is_nested_is_found_where_it_is(unit):
    raw = b"[" + (unit + b",") * 300 + b"x]"
    assert check(raw) == JsonFault(len(raw) - 2, "Expected a value, met x.")
