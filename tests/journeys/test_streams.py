"""Streams of real servers: what is appended at one is followed at another, and goes on elsewhere when that dies."""

from __future__ import annotations

import signal

import pytest

from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures
from tests.inboxes.sse import events

JSON = {"content-type": "application/json"}


@pytest.fixture
def pair(house):  # noqa: F811
    """Two servers over one database, with loops running."""
    with server(house.dsn) as one, server(house.dsn) as two:
        yield one, two


def append(client, first, last):
    for n in range(first, last):
        headers = {"idempotency-key": f"k{n}", **JSON}
        got = client.post("/v1/inboxes/a/events", content=b'{"type":"t","data":%d}' % n, headers=headers)
        assert got.status_code == 201, got.text


def upto(pieces, last):
    """The events of a stream until one has this number."""
    text = b""
    for piece in pieces:
        text += piece
        found = events(text)
        if found and found[-1].json["sequence"] >= last:
            return found
    raise AssertionError(f"the stream ended before {last}: {text!r}")


def test_a_stream_goes_on_at_another_server_from_where_it_was(pair, key):  # noqa: F811
    one, two = pair
    with one.client(key) as writer, two.client(key) as reader:
        assert writer.put("/v1/inboxes/a", json={}, headers={"if-none-match": "*"}).status_code == 201
        append(writer, 1, 4)
        with reader.stream("GET", "/v1/inboxes/a/stream") as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            pieces = answer.iter_raw()
            seen = upto(pieces, 3)
            append(writer, 4, 8)
            seen += upto(pieces, 7)
            two.kill()
        append(writer, 8, 10)
        with writer.stream("GET", "/v1/inboxes/a/stream", headers={"last-event-id": seen[-1].id}) as answer:
            seen += upto(answer.iter_raw(), 9)
    assert [event.json["data"] for event in seen] == list(range(1, 10))


def test_a_stream_ends_with_its_key_and_with_its_server(pair, key):  # noqa: F811
    one, two = pair
    with one.client(key) as owner:
        assert owner.put("/v1/inboxes/a", json={}, headers={"if-none-match": "*"}).status_code == 201
        wanted = {"subject": "reader", "kind": "service", "scopes": ["inboxes:read"]}
        made = owner.post("/v1/keys", json=wanted, headers={"idempotency-key": "make"}).json()
        with two.client(made["key"]) as reader:
            with reader.stream("GET", "/v1/inboxes/a/stream") as answer:
                pieces = answer.iter_raw()
                assert next(pieces) == b":\n\n"
                revoked = owner.post(f"/v1/keys/{made['key_id']}/revoke", headers={"idempotency-key": "end"})
                assert revoked.status_code in {200, 204}, revoked.text
                assert list(pieces) == [], "it ends, and whole"
            assert reader.get("/v1/inboxes/a").status_code == 401
        with two.client(key) as reader, reader.stream("GET", "/v1/inboxes/a/stream") as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == b":\n\n"
            two.process.send_signal(signal.SIGTERM)
            assert list(pieces) == []
        assert two.process.wait(30) == 0
