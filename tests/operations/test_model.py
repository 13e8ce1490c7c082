"""What a key means, decided without a database."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from steadhold import operations
from steadhold.operations import InFlightHere, OperationAbandoned, OperationMismatch, Receipt, Replayed
from steadhold.operations.model import Known, judge, may_act, write_headers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = st.lists(st.none() | st.binary(max_size=3) | st.text("ab:1-", max_size=3), max_size=4)


def receipt(*, abandoned=False, headers=()):
    sent = write_headers(headers)
    return Receipt("k", abandoned, "v", "s:w", "", "me", 201, b"{}", "application/json", sent, None, 1, None, NOW)


def test_a_claimed_key_means_one_of_four_things():
    assert judge("k", b"f", Known(b"f", None)) == InFlightHere("k")
    assert judge("k", b"f", Known(b"f", receipt())) == Replayed(receipt())
    assert judge("k", b"f", Known(b"g", receipt())) == OperationMismatch("k")
    assert judge("k", b"f", Known(b"", receipt(abandoned=True))) == OperationAbandoned("k")


def test_only_a_twin_in_this_transaction_asks_to_be_begun_again():
    assert InFlightHere("k").again
    assert not OperationMismatch("k").again


def test_headers_come_back_as_they_went():
    sent = (("location", "/v1/jobs/1"), ("link", "a"), ("link", "b"))
    assert receipt(headers=sent).headers == sent


@given(PARTS, PARTS)
def test_two_requests_have_one_fingerprint_only_if_all_their_parts_are_alike(one, other):
    def said(parts):
        return [part.encode() if isinstance(part, str) else part for part in parts]

    assert (operations.fingerprint(*one) == operations.fingerprint(*other)) == (said(one) == said(other))


def test_a_key_that_only_reads_has_nothing_to_abandon():
    assert not may_act(["state:read", "jobs:read:team"])
    assert may_act(["state:read", "state:write:team"])
    assert may_act(["jobs:*"])
