"""What names a cause on its way: a traceparent, and nothing else that a job may have been given as its trace."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold.kit.traces import trace_id, traceparent
from steadhold.webhooks.heading import headers
from steadhold.webhooks.model import Sending

GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (GIVEN, GIVEN),
        (GIVEN.replace("00-4b", "cc-4b") + "-more", GIVEN),
        (GIVEN + "-more", None),
        ("ff" + GIVEN[2:], None),
        (GIVEN.upper(), None),
        (f"{GIVEN}, {GIVEN}", None),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
        (f"00-{'1' * 32}-{'0' * 16}-01", None),
        ("my-trace", None),
        ("", None),
        (None, None),
    ],
)
def test_what_is_no_traceparent_is_as_if_nothing_was_said(text, read):
    assert traceparent(text) == read
    assert trace_id(text) == (None if read is None else read[3:35])


def sent(trace, own):
    sending = Sending("d", 1, "e", 0, 0, b"{}", datetime(2026, 11, 30, tzinfo=UTC), trace)
    return {name: value for name, value in headers(sending, [], own).items() if name.lower() == "traceparent"}


def test_a_delivery_names_a_traceparent_alone_and_an_endpoints_own_goes_before():
    assert sent(GIVEN, {}) == {"traceparent": GIVEN}
    assert sent("my-trace", {}) == sent(None, {}) == {}
    assert sent(GIVEN, {"TraceParent": "mine"}) == {"TraceParent": "mine"}
