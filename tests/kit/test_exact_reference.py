"""The exact JSON reader against a slow reference, written from the rules on the standard library's reader."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.exact import check
from steadhold.kit.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from steadhold.kit.scan import scan


class RefusedError(ValueError):
    pass


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise RefusedError("a key twice")
    return dict(pairs)


def refuse(text):
    raise RefusedError(text)


def short(text):
    return text if len(text) <= JSON_NUMBER_CHARS_MAX else refuse("a long number")


def deep(value):
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return 0
    return 1 + max(map(deep, value), default=0)


def paired(value):
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for item in value:
            paired(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            paired(key)
            paired(item)


def acceptable(raw):
    """Whether the standard library, held to our rules, accepts a text."""
    try:
        value = json.loads(
            raw.decode(), object_pairs_hook=once, parse_constant=refuse, parse_int=short, parse_float=short
        )
        paired(value)
        return deep(value) <= JSON_DEPTH_MAX
    except (ValueError, RecursionError):
        return False


# --- texts, most of them nearly JSON ----------------------------------------------------------

PIECES = [
    *'[]{}:,"\\ \n\t01-.eE+',
    *(
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        '"a"',
        '"b"',
        '"\\u0061"',
        '"a":',
        '"\\u003a"',
        "\\u003a",
        "\\\\u003A",
    ),
    *('"\\ud83d\\ude00"', "\\ud800", "\\udc00", "\\uD83D", '\\"', "\\\\", "\\n", "\\x", "\\u00", "1.10", "-0", "1e400"),
    *("é", "\ufeff", "\x00", "\x1f", "\x7f", "\u2028"),
]
LONG = [
    "1" * JSON_NUMBER_CHARS_MAX,
    "1" * (JSON_NUMBER_CHARS_MAX + 1),
    "[" * 127,
    "]" * 127,
    '{"a":' * 127,
    "}" * 127,
    f'"{"0" * 1_001}"',
    '"[[[[{{{{"',
]
BYTES = [*(piece.encode() for piece in (*PIECES, *LONG)), b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5", b"\xc0\x80"]
ALMOST = st.lists(st.sampled_from(BYTES), max_size=12).map(b"".join)
KEYS = st.sampled_from(["a", "b", ":", "\\u003a", 'q"', "[", "é", "\\", "a:b"])
SCALARS = st.none() | st.booleans() | st.integers() | KEYS | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@st.composite
def damaged(draw):
    """Well-formed JSON, written in one of several ways, with a piece put in, doubled or taken out."""
    text = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    raw = text.encode("utf-8", "surrogatepass").replace(b'":', draw(st.sampled_from([b'":', b'" : ', b'\\u003a":'])))
    at = draw(st.integers(0, len(raw)))
    end = draw(st.integers(at, min(len(raw), at + 6)))
    return raw[:at] + draw(st.sampled_from([b"", raw[at:end], raw[at:end] * 2, *BYTES])) + raw[end:]


@st.composite
def repeated(draw):
    """An object whose keys are likely to repeat, some of them escaped, beside colons in strings."""
    keys = st.sampled_from(['"a"', '"\\u0061"', '"b"', '":"', '"\\u003a"', '"\\u003A"', '"\\\\u003a"', '"a:b"'])
    pairs = draw(st.lists(st.tuples(keys, keys | st.just('{"a":1}')), max_size=5))
    return ("{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}").encode()


@st.composite
def nested(draw):
    """Well-formed JSON about as deep as it may be, beside strings that try to hide it."""
    strings = st.sampled_from(
        ['""', '"\\""', '"\\\\"', '"\\\\\\""', '"[[["', '"]]]"', '"}"', '"\\"{"', '"\\u0022"', '"n\\\\n"']
    )
    around = ",".join([*draw(st.lists(strings, max_size=4)), "1"])
    depth = draw(st.integers(JSON_DEPTH_MAX - 3, JSON_DEPTH_MAX + 1))
    opening, closing = draw(st.sampled_from([("[", "]"), ('{"a":', "}"), ('[{"]":', "}]")]))
    times = depth // len(closing)
    return f"[{around},{opening * times}{draw(strings)}{closing * times},{around}]".encode()


TEXTS = ALMOST | damaged() | repeated() | nested()


@given(TEXTS)
def test_the_fast_look_agrees_with_the_reference(raw):
    assert (check(raw) is None) == acceptable(raw)


@given(TEXTS)
def test_the_fast_look_agrees_with_the_scan(raw):
    assert check(raw) == scan(raw)


@given(st.binary(max_size=64))
def test_any_bytes_get_an_answer_with_a_position_inside_them(raw):
    fault = check(raw)
    assert (fault is None) == acceptable(raw)
    assert fault is None or 0 <= fault.position <= len(raw)
