"""`steadhold events`, `subscriptions` and `publications`: what is sent, and what is told."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.conftest import reply

AT = "2026-11-29T12:00:00.000000Z"
EVENT = {
    "event_id": "o@1", "schema_version": "1", "aggregate_id": "o", "aggregate_revision": 1, "occurred_at": AT,
    "type": "a", "data_ref": "event:o@1#sha256:00", "data": {"n": 1},
}  # fmt: skip
SUBSCRIPTION = {
    "subscription_id": "s", "revision": 1, "types": ["a*"], "aggregates": [], "target": {"inbox": "i"},
    "ordered_by": "none", "created_at": AT, "updated_at": AT,
}  # fmt: skip
PUBLICATION = {
    "publication_id": "p", "subscription_id": "s", "target": {"inbox": "i"}, "aggregate_id": "o",
    "aggregate_revision": 1, "state": "skipped", "attempts": 20, "created_at": AT, "reason": "down",
}  # fmt: skip


def told(value, status=200):
    return reply(status, msgspec.json.encode(value))


def page(*items):
    return told({"items": items, "next_cursor": None})


def then(server, answer):
    server.answers[:] = [answer]


def body(server):
    return msgspec.json.decode(server.last.content)


def test_what_happened_is_appended_byte_for_byte(steadhold, server):
    then(server, told({"aggregate_id": "o", "revision": 1, "event_ids": ["o@1"]}, 201))
    steadhold("events", "append", "o", "a", '{"n": 1.10}', "--create", "--state", "new", "--aggregate-type", "t")
    assert b'"data":{"n": 1.10}' in server.last.content
    assert (server.asked, server.last.headers["if-none-match"]) == (["POST /v1/aggregates/o/events"], "*")
    then(server, told({"aggregate_id": "o", "revision": 2, "event_ids": ["o@2"]}, 201))
    steadhold("events", "append", "o", "b", "--if-match", "1", "--from", "new", "--state", "paid")
    assert body(server) == {"events": [{"type": "b"}], "transition": {"from": "new", "to": "paid"}}
    assert server.last.headers["if-match"] == '"1"'


@pytest.mark.parametrize("words", [
    "events append o a", "events append o a --create --if-match 1", "events append o a --create --from x",
    "subscriptions put s a --create", "subscriptions put s a --inbox i --sink k --create",
    "subscriptions put s a --inbox i",
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(steadhold, words):
    assert steadhold(*words.split(), code=2).exit_code == 2


def test_a_history_is_told_line_by_line(steadhold, server):
    then(server, page(EVENT))
    lines = steadhold("events", "tail", "o", "--after", "3").output.splitlines()
    assert [msgspec.json.decode(line)["event_id"] for line in lines] == ["o@1"]
    assert server.asked == ["GET /v1/aggregates/o/events?after_revision=3"]


def test_subscriptions(steadhold, server):
    then(server, told(SUBSCRIPTION, 201))
    steadhold("subscriptions", "put", "s", "a*", "b", "--inbox", "i", "--unordered", "--aggregate", "o*", "--create")
    assert body(server) == {"types": ["a*", "b"], "target": {"inbox": "i"}, "aggregates": ["o*"], "ordered_by": "none"}
    then(server, page(SUBSCRIPTION))
    assert msgspec.json.decode(steadhold("subscriptions", "ls").output)["subscription_id"] == "s"
    then(server, told(SUBSCRIPTION))
    assert msgspec.json.decode(steadhold("subscriptions", "show", "s").output)["target"] == {"inbox": "i"}
    then(server, told({"events": 3}))
    assert msgspec.json.decode(steadhold("subscriptions", "replay", "s", AT, "2026-12-01T00:00:00Z").output) == {
        "events": 3
    }
    then(server, reply(204, b"", revision=2))
    steadhold("subscriptions", "delete", "s", "--if-match", "1")
    assert server.asked[-1] == "DELETE /v1/subscriptions/s"


def test_publications(steadhold, server):
    then(server, page(PUBLICATION))
    assert msgspec.json.decode(steadhold("publications", "ls").output)["reason"] == "down"
    assert server.asked == ["GET /v1/publications?state=parked"]
    for verb in ("retry", "skip"):
        then(server, told(PUBLICATION))
        steadhold("publications", verb, "p")
        assert server.asked[-1] == f"POST /v1/publications/p/{verb}"
