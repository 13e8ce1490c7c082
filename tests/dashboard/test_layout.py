"""How stored text is shown: every token as it was written, and nothing that misleads. Pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.dashboard import charts, rendering
from steadhold.dashboard.facts import HEX_BYTES_MAX, SHOWN_BYTES_MAX, Facts, payload
from steadhold.dashboard.guard import cookies
from steadhold.dashboard.layout import laid_out, plain

PLAIN = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("1.10", "1.10"),
        ("[]", "[]"),
        ("{}", "{}"),
        ("[ [],{} ]", "[\n  [],\n  {}\n]"),
        ('{"a":1e3,"b":[true]}', '{\n  "a": 1e3,\n  "b": [\n    true\n  ]\n}'),
        ('"\\u0041 , {"', '"\\u0041 , {"'),
        ('["[", "]"]', '[\n  "[",\n  "]"\n]'),
        ('{"{}":"a\\"b"}', '{\n  "{}": "a\\"b"\n}'),
        ("12345678901234567890.50", "12345678901234567890.50"),
    ],
)
def test_json_is_laid_out_and_no_token_is_touched(exact, shown):
    assert laid_out(exact) == shown


@given(VALUES)
def test_what_is_laid_out_says_the_same(value):
    for exact in (json.dumps(value), json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
        assert json.loads(laid_out(exact)) == value


@pytest.mark.parametrize("text", ["[" * 4000, "[" * 100 + "1," * 20_000, '{"a":' * 3000])
def test_what_nests_deep_is_shown_as_it_was_written(text):
    """Indents would be most of it: of 64 KiB, gigabytes."""
    assert laid_out(text) == text


@pytest.mark.parametrize("text", ['"' + '\\"' * 50, '["a', '"a\\', '"a\\\nb"', '"\n"'])
def test_a_string_without_an_end_is_read_once(text):
    """Bytes that call themselves JSON may be none: then each quote in them must not be read from anew to the end."""
    assert laid_out(text).replace("[\n  ", "[") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße 日本\n\t.", "Grüße 日本\n\t."),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\0", "a\\u200bb\\u0000"),
        ("\x1b[2J", "\\u001b[2J"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_misleads_is_written_out(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("raw", "kind", "form", "shown"),
    [
        (b'{"a":1}', "application/json", "json", '{\n  "a": 1\n}'),
        (b'{"a":1}', "application/merge-patch+json", "json", '{\n  "a": 1\n}'),
        (b"a<b", "text/plain", "text", "a<b"),
        (b"\xff\0a", "", "bytes", "000000  ff 00 61" + " " * 41 + "..a"),
        (b"a\0b", "text/plain", "bytes", "000000  61 00 62" + " " * 41 + "a.b"),
        (b"eyJ", "application/jose", "text", "eyJ"),
        (b'"\xff"', "application/json", "bytes", "000000  22 ff 22" + " " * 41 + '"."'),
    ],
)
def test_bytes_are_shown_as_what_they_are(raw, kind, form, shown):
    found = payload(raw, kind, readable=True)
    assert (found.form, found.text, found.cut) == (form, shown, False)
    assert payload(raw, kind, readable=False).raw == b""


def test_of_much_the_beginning_is_shown():
    text = payload(b"\xc3\xa4" * SHOWN_BYTES_MAX, "text/plain", readable=True)
    assert (text.cut, len(text.text)) == (True, SHOWN_BYTES_MAX // 2)
    dump = payload(b"\xff" * 5000, "", readable=True)
    assert (dump.cut, dump.text.count("\n") + 1) == (True, HEX_BYTES_MAX // 16)


def test_members_that_are_absent_are_nothing():
    facts = Facts({}, readable=True)
    assert (facts.raw("a").form, facts.base64("a").form) == ("absent", "absent")
    assert (facts.part("a"), facts.each("a"), facts.get("a", 1), "a" in facts, list(facts)) == (None, [], 1, False, [])


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.25, "250 ms"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3700, "1 h 1 min"),
        (90000, "1 d 1 h"),
        (86400, "1 d"),
    ],
)
def test_spans(seconds, shown):
    assert rendering.span(seconds) == shown


def test_instants():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    text = (now - timedelta(minutes=3)).isoformat()
    assert rendering.ago(text, now) == "3 min ago"
    assert rendering.ago((now + timedelta(hours=2)).isoformat(), now) == "in 2 h"
    assert (rendering.ago(None, now), rendering.clock(None)) == ("\N{EN DASH}", "\N{EN DASH}")
    assert rendering.clock("2026-01-01T00:00:00.123456Z") == "2026-01-01 00:00:00"


@pytest.mark.parametrize(("count", "shown"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")])
def test_sizes(count, shown):
    assert rendering.size(count) == shown


@given(st.lists(st.floats(0, 1e9), max_size=30), st.text())
def test_charts_say_in_words_what_they_show_and_hold_no_code(values, label):
    for drawn in (
        charts.bars(values, label=label),
        charts.sparkline(values, label=label),
        charts.meter(1, 3, label=label),
    ):
        assert drawn.startswith('<svg class="chart ')
        inner = drawn[drawn.index(">") :]
        assert "style=" not in inner
        assert f'aria-label="{escape(label)}"' in drawn
        assert "<script" not in drawn


def test_of_two_cookies_with_one_name_the_first_counts():
    assert cookies("a=1; b=2;a=3; c") == {"a": "1", "b": "2", "c": ""}
