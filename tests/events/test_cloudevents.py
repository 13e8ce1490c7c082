"""Events leave as CloudEvents 1.0, structured and binary."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.events import cloudevents
from steadhold.events.model import Event, data_ref

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SOURCE = "/acme/subscriptions/billing"


def an_event(data=b'{"total":12345678901234567890.10}', **more):
    told = {"correlation_id": None, "causation_id": "o-1@1", "type": "order.paid", **more}
    return Event("o-1", 2, "o-1@2", 3, AT, told["type"], data_ref("o-1@2", data or b""), data, *[told[name] for name in
                 ("correlation_id", "causation_id")])  # fmt: skip


def test_structured_mode_keeps_the_data_byte_for_byte():
    sent = cloudevents.structured(an_event(), SOURCE)
    told = json.loads(sent)
    assert b'"data":{"total":12345678901234567890.10}' in sent
    del told["data"], told["dataref"]
    assert told == {
        "specversion": "1.0", "id": "o-1@2", "source": SOURCE, "type": "order.paid", "subject": "o-1",
        "time": "2026-11-29T12:00:00.000000Z", "dataschema": "urn:steadhold:order.paid:3", "partitionkey": "o-1",
        "aggregaterevision": "2", "causationid": "o-1@1", "datacontenttype": "application/json",
    }  # fmt: skip


def test_bytes_that_are_no_json_are_in_base64():
    told = json.loads(cloudevents.structured(an_event(b"\x00\xff"), SOURCE))
    assert (told["data_base64"], told["datacontenttype"], "data" in told) == ("AP8=", "application/octet-stream", False)
    assert "datacontenttype" not in json.loads(cloudevents.structured(an_event(None), SOURCE))


def test_binary_mode_sends_the_data_as_it_is():
    fields, body = cloudevents.binary(an_event(), SOURCE)
    assert body == b'{"total":12345678901234567890.10}'
    assert (fields["ce-id"], fields["ce-specversion"], fields["content-type"]) == ("o-1@2", "1.0", "application/json")
    assert cloudevents.binary(an_event(None), SOURCE)[1] == b""


@pytest.mark.parametrize("mode", ["structured", "binary"])
def test_names_of_attributes_are_lower_case_letters_and_digits_at_most_twenty(mode):
    names = cloudevents.attributes(an_event(correlation_id="c"), SOURCE)
    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in names), mode


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_fields_of_the_binary_mode_are_printable_and_read_back(text):
    fields, _ = cloudevents.binary(an_event(correlation_id=text), SOURCE)
    assert re.fullmatch("[!-~]+", fields["ce-correlationid"])
    assert '"' not in fields["ce-correlationid"]
    assert unquote(fields["ce-correlationid"]) == text
