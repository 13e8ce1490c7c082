"""What a door of inboxes would refuse, a verb refuses, and says which argument it was."""

from __future__ import annotations

import pytest

from steadhold.inboxes.items import Envelope, item
from steadhold.inboxes.model import NoInbox, Retention, Start
from steadhold.inboxes.sending import Sending
from steadhold.kit import limits
from steadhold.kit.rules import Misuse
from tests.inboxes.conftest import event

MUCH = b'"%b"' % (b"x" * limits.INBOX_EVENT_BYTES_MAX)
NO_EVENTS = {
    "no JSON": (item("k", Envelope("t"), b"{"), "item: body: No exact JSON"),
    "a key twice": (item("k", Envelope("t"), b'{"a":1,"a":2}'), "item: body: No exact JSON"),
    "nothing": (item("k", Envelope("t"), b""), "item: body: No exact JSON"),
    "too much": (item("k", Envelope("t"), MUCH), "item: body: At most 1048576 bytes"),
    "too many bytes": (item("k", Envelope("t"), MUCH, "text/plain"), "item: body: At most 1048576 bytes"),
    "neither data nor a reference": (item("k", Envelope("t"), None), "item: There is data or a data_ref"),
    "both": (item("k", Envelope("t", data_ref="x"), b"1"), "item: There is data or a data_ref"),
    "a key that is none": (item("a/b", Envelope("t"), b"1"), "item: key: "),
    "no type": (item("k", Envelope(""), b"1"), r"item: head: .*type"),
    "an aggregate that is none": (item("k", Envelope("t", aggregate_id="a b"), b"1"), r"item: head: .*aggregate_id"),
    "no revision": (item("k", Envelope("t", aggregate_revision=0), b"1"), r"item: head: .*aggregate_revision"),
}


@pytest.mark.parametrize("fault", NO_EVENTS)
def test_what_is_no_event_is_refused(door, fault):
    """Half a value in an inbox would spoil every page that it is on."""
    sent, why = NO_EVENTS[fault]
    door.make()
    with pytest.raises(Misuse, match=rf"inboxes\.append_one: {why}"):
        door.append_one("a", sent)
    with pytest.raises(Misuse, match=r"inboxes\.append: items\[1\]: "):
        door.append("a", [event("x"), sent])
    assert door.get("a").last_sequence == 0


def test_what_is_one_is_taken(door):
    assert door.append_one("a", event("x")) == NoInbox("a")
    door.make()
    most = MUCH[:-3] + b'"'
    taken = [
        event("a"), event("b", most[: limits.INBOX_EVENT_BYTES_MAX]), item("c", Envelope("t"), b"\xff", "text/plain"),
        item("d", Envelope("t", data_ref="x"), None), item("any / key", Envelope("t", source="door"), b"1"),
    ]  # fmt: skip
    assert [one.sequence for one in door.append("a", taken[:1] + taken[2:])] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("verb", "arguments", "why"),
    [
        ("get", ("a/b",), "get: inbox: An id"),
        ("read", ("a", "e", -1), "read: after: It is at least 0"),
        ("read", ("a", None, None, 0), "read: limit: It is at least 1"),
        ("read", ("a", None, None, 10_000), "read: limit: It is at most"),
        ("put", ("a", Retention(0.0), None), r"put: retention\.max_age_seconds: It is at least 1"),
        ("put", ("a", Retention(None, -1), None), r"put: retention\.max_events: It is at least 0"),
        ("delete", ("", 1), "delete: inbox: "),
        ("receipt", ("a b", "client:k"), "receipt: inbox: "),
        ("acknowledge", ("a", "c", "e", -1), "acknowledge: sequence: It is at least 0"),
        ("acknowledge", ("a", "c", "e/f", 1), "acknowledge: epoch: An id"),
        ("lease", ("a", "c", "me", 0), "lease: lease_seconds: It is at least 1"),
        ("lease", ("a", "c", "m e", 9.0), "lease: owner: An id"),
        ("renew", ("a", "c", 0), "renew: fence: It is at least 1"),
        ("renew", ("a", "c", 1, 1e9), "renew: lease_seconds: It is at most"),
        ("release", ("a", "c", 10**15), "release: fence: It is at most"),
        ("put_consumer", ("a", "c/d", Start("latest"), None), "put_consumer: name: An id"),
        (
            "put_consumer",
            ("a", "c", Start("position", "e", -1), None),
            r"put_consumer: start\.sequence: It is at least 0",
        ),
        ("put_consumer", ("a", "c", Start("first"), None), r"put_consumer: start\.at: It is one of earliest"),
        ("get_consumer", ("a", ""), "get_consumer: name: An id"),
        ("delete_consumer", ("a/b", "c", 1), "delete_consumer: inbox: An id"),
        ("consumers", ("a", "", 0), "consumers: limit: It is at least 1"),
        ("inboxes", ("", 0), "inboxes: limit: It is at least 1"),
        ("send", ("a b", Sending(type="t")), "send: inbox: An id"),
        ("send", ("a", Sending(type="")), "send: sending: type: "),
        ("send", ("a", Sending(type="t", id="a/b")), "send: sending: id: An id"),
        ("send", ("a", Sending(type="t", data=b"{")), "send: sending: data: No exact JSON"),
        ("send", ("a", Sending(type="t", data=b'{"a":1,"a":2}')), "send: sending: data: No exact JSON"),
        ("send", ("a", Sending(type="t", data=MUCH)), "send: sending: data: At most 65536 bytes"),
        ("send", ("a", Sending(type="t", data=b"1", data_ref="x")), "send: sending: .* or a data_ref"),
        ("send", ("a", Sending(type="t", schema_version=0)), "send: sending: A schema_version"),
    ],
)
def test_other_arguments_are_told_too(door, verb, arguments, why):
    with pytest.raises(Misuse, match=rf"inboxes\.{why}"):
        getattr(door, verb)(*arguments)
