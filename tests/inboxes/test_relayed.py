"""The relay's events in an inbox: in order, once, and never under a client's key."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import msgspec
import pytest

from steadhold.events import Event
from steadhold.events.flow import Publication, Reject, Retry, Taken
from steadhold.inboxes import reading
from steadhold.inboxes.relayed import publish
from steadhold.kit.plan import Call
from steadhold.play.caller import play
from tests.inboxes.conftest import event, told

AT = datetime(2026, 11, 29, 16, tzinfo=UTC)


def publication(n, data=b'{"n": 1}'):
    happened = Event("job:7", n, f"job:7@{n}", 1, AT, "job.ended", f"event:job:7@{n}", data, "c", None)
    return Publication(f"p{n}", "s", "inbox:a", "job:7", 0, happened)


@pytest.fixture
def relay(door):
    def published(*batch):
        return play(door.conn, Call(lambda: publish(door.workspace, "a", batch), door.workspace, "publish"))

    return published


def test_they_are_appended_in_order_and_once(door, relay):
    door.make()
    assert relay(publication(1), publication(2)) == [Taken(), Taken()]
    assert relay(publication(2), publication(3)) == [Taken(), Taken()]
    found = door.read("a")
    assert (told(found), [received.event_id for received in found.events]) == (
        [1, 2, 3],
        ["job:7@1", "job:7@2", "job:7@3"],
    )
    envelope = found.events[0].envelope
    assert (envelope.type, envelope.aggregate_id, envelope.aggregate_revision) == ("job.ended", "job:7", 1)
    assert (envelope.occurred_at, envelope.source, envelope.correlation_id) == (
        "2026-11-29T16:00:00.000000Z",
        "relay",
        "c",
    )
    assert found.events[0].body == b'{"n": 1}'


def test_what_has_no_data_has_its_reference(door, relay):
    door.make()
    relay(publication(1, None))
    (received,) = door.read("a").events
    assert (received.body, received.envelope.data_ref) == (None, "event:job:7@1")


def test_a_client_that_was_there_first_keeps_nothing_out(door, relay):
    door.make()
    door.append("a", [event("job:7@1")])
    assert relay(publication(1)) == [Taken()]
    assert told(door.read("a")) == [1, 2]


def test_another_event_under_a_known_id_is_rejected(door, relay):
    door.make()
    relay(publication(1))
    assert relay(publication(1, b"2"), publication(2)) == [Reject("another event has this id, at 1"), Taken()]


def test_where_there_is_no_inbox_they_wait(relay):
    assert relay(publication(1), publication(2)) == [Retry("there is no inbox a")] * 2


def test_a_page_is_json_whatever_the_data_is(door, relay):
    door.make()
    odd = [b"\xff", b"", b'{"a":1,"a":2}', b'{"a":', b"1"]
    assert relay(*[publication(n, data) for n, data in enumerate(odd, 1)]) == [Taken()] * 5
    shown = msgspec.json.decode(reading.page(door.read("a")))["events"]
    assert [base64.b64decode(event["data_base64"]) for event in shown[:4]] == odd[:4]
    assert {event["content_type"] for event in shown[:4]} == {"application/octet-stream"}
    assert (shown[4]["data"], "content_type" in shown[4]) == (1, False)
    assert relay(publication(1, odd[0])) == [Taken()]
