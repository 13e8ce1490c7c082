"""What an operator says of a sink, and how an event is said there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from steadhold.events import Event
from steadhold.server.settings import Settings
from steadhold.server.sources import SettingError, load
from steadhold.sinks import SinkFault, read_sinks
from steadhold.sinks.sink import message

GOOD = "acme/orders=nats://user:word@127.0.0.1:4222/evt.orders"
EVENT = Event("o", 3, "o@3", 1, datetime(2026, 1, 1, tzinfo=UTC), "t", "event:o@3#sha256:00", b"{}", None, None)


def test_an_entry_is_read():
    (sink,) = read_sinks([GOOD]).values()
    assert (sink.workspace, sink.name, sink.server) == ("acme", "orders", "nats://user:word@127.0.0.1:4222")
    assert (sink.subject, sink.mode, sink.source) == ("evt.orders", "structured", "urn:steadhold:acme")
    (other,) = read_sinks([GOOD + "?mode=binary&source=https://a.example/"]).values()
    assert (other.mode, other.source) == ("binary", "https://a.example/")


@pytest.mark.parametrize("entry", [
    "", "acme", "acme/orders", "orders=nats://h:4222/e", "acme/orders=nats://h/e", "acme/orders=nats://h:4222",
    "acme/orders=nats://h:4222/", "acme/orders=nats://h:4222/a b", "acme/orders=nats://h:4222/a..b",
    "acme/orders=nats://h:4222/a.>", "acme/orders=nats://h:4222/*", "acme/orders=http://h:4222/e",
    "acme/orders=nats://h:4222/e?mode=other", "acme/orders=nats://h:4222/e?more=1", "acme/orders=nats://h:x/e",
    "a b/orders=nats://h:4222/e", "acme/a/b=nats://h:4222/e", "acme/orders=nats://h:4222/e?mode",
])  # fmt: skip
def test_what_is_no_sink_is_refused(entry):
    with pytest.raises(SinkFault, match="entry 2 is no sink such as WORKSPACE/NAME=nats://"):
        read_sinks([GOOD, entry])


def test_a_sink_is_there_once():
    with pytest.raises(SinkFault, match="acme/orders is there twice"):
        read_sinks([GOOD, GOOD])


def test_a_server_does_not_start_with_one_and_tells_no_password():
    with pytest.raises(SettingError) as told:
        load({}, {"STEADHOLD_SINKS": GOOD + ", acme/b=nats://user:hidden@h/e"})
    assert "entry 2" in str(told.value)
    assert "hidden" not in str(told.value)
    assert load({}, {"STEADHOLD_SINKS": GOOD}).settings == Settings(sinks=(GOOD,))


@pytest.mark.parametrize("type, subject", [
    ("order.placed", "evt.orders.order.placed"), ("a..b", "evt.orders.a._.b"), (".", "evt.orders._._"),
    ("a~b:c@d-e_f", "evt.orders.a~b:c@d-e_f"),
])  # fmt: skip
def test_a_subject_has_no_empty_word(type, subject):
    (sink,) = read_sinks([GOOD]).values()
    event = Event("o", 3, "o@3", 1, EVENT.occurred_at, type, EVENT.data_ref, b"{}", None, None)
    assert message(sink, event).subject == subject


def test_a_message_of_an_event_is_the_same_each_time():
    (sink,) = read_sinks([GOOD]).values()
    assert message(sink, EVENT) == message(sink, EVENT)
    assert message(sink, EVENT).headers["Nats-Msg-Id"] == "o@3"


def test_a_message_names_the_trace_of_its_event_alone():
    (sink,) = read_sinks([GOOD]).values()
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    named = [
        message(sink, replace(EVENT, trace=trace)).headers.get("traceparent") for trace in (given, "my-trace", None)
    ]
    assert named == [given, None, None]
