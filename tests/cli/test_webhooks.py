"""`steadhold webhooks`: what is sent, and what is printed."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.conftest import reply

ID = "0198c0de-0000-7000-8000-000000000001"
OTHER = "0198c0de-0000-7000-8000-000000000002"
AT = "2026-11-29T16:00:00.000000Z"


def endpoint(id=ID, **more):
    return {
        "webhook_id": id, "revision": 1, "url": "https://example.com/", "types": ["job.*"], "ordered": False,
        "on_exhausted": "skip", "rate": None, "concurrency": 4, "header_names": [], "retry_seconds": [0.0],
        "enabled": False, "disabled_why": "new", "failures": 0, "failing_since": None, "paused_until": None,
        "last_success_at": None, "created_at": AT, "changed_at": AT, "secrets": [], "guide": "/docs/webhooks", **more,
    }  # fmt: skip


def delivery(**more):
    return {
        "delivery_id": ID, "webhook_id": ID, "event_id": "job:1@1", "kind": "event", "state": "cancelled",
        "attempts": 1, "tries": 1, "next_at": None, "skipped": 0, "replay_of": None, "created_at": AT,
        "ended_at": AT, **more,
    }  # fmt: skip


def says(told, status=200):
    return reply(status, msgspec.json.encode(told))


def test_one_is_made(steadhold, server):
    server.then(says(endpoint(secret="whsec_x"), 201))
    words = ("--ordered", "--rate", "5", "--header", "X-A: b: c", "--idempotency-key", "op")
    result = steadhold("webhooks", "create", "https://example.com/", "job.*", "a.b", *words)
    assert msgspec.json.decode(server.last.content) == {
        "url": "https://example.com/", "types": ["job.*", "a.b"], "ordered": "aggregate", "rate": 5.0,
        "headers": {"X-A": "b: c"},
    }  # fmt: skip
    assert msgspec.json.decode(result.stdout)["secret"] == "whsec_x"


@pytest.mark.parametrize("verb", ["enable", "disable"])
def test_it_is_enabled_and_disabled(steadhold, server, verb):
    server.then(says(endpoint()))
    steadhold("webhooks", verb, ID)
    assert (server.last.method, server.last.url.path) == ("POST", f"/v1/webhooks/{ID}/{verb}")


def test_it_is_removed_at_its_revision(steadhold, server):
    server.then(reply(204))
    steadhold("webhooks", "delete", ID, "--if-match", "3")
    assert (server.last.method, server.last.headers["if-match"]) == ("DELETE", '"3"')


def test_a_delivery_is_cancelled_and_sent_again(steadhold, server):
    server.then(says(delivery(outcome="unknown")), says({"delivery_id": OTHER, "webhook_id": ID}, 202))
    told = msgspec.json.decode(steadhold("webhooks", "cancel", ID).stdout)
    assert told["outcome"] == "unknown"
    assert OTHER in steadhold("resend", ID).stdout
    assert server.last.url.path == f"/v1/deliveries/{ID}/replay"


def test_many_are_sent_again(steadhold, server):
    replay = {
        "replay_id": OTHER, "webhook_id": ID, "state": "running", "only": "missing", "since": AT, "until": AT,
        "looked": 0, "made": 0, "created_at": AT, "ended_at": None,
    }  # fmt: skip
    server.then(says(replay, 202))
    steadhold("webhooks", "replay", ID, "--since", "2026-11-29T17:00:00+01:00", "--only", "missing")
    assert msgspec.json.decode(server.last.content) == {"since": AT, "only": "missing"}


def test_a_replay_has_two_ends_and_can_be_cancelled(steadhold, server):
    replay = {
        "replay_id": OTHER, "webhook_id": ID, "state": "cancelled", "only": "all", "since": AT, "until": AT,
        "looked": 0, "made": 0, "created_at": AT, "ended_at": AT,
    }  # fmt: skip
    server.then(says(replay, 202))
    steadhold("webhooks", "replay", ID, "--since", AT, "--until", AT, "--only", "all")
    assert msgspec.json.decode(server.last.content) == {"since": AT, "until": AT, "only": "all"}
    assert "cancelled" in steadhold("webhooks", "cancel-replay", OTHER).stdout
    assert server.last.url.path == f"/v1/webhook-replays/{OTHER}/cancel"


def test_a_test_event_goes_to_those_that_take_it(steadhold, server):
    items = [endpoint(), endpoint(OTHER, types=["a.b"])]
    server.then(says({"items": items, "next_cursor": None}), says({"delivery_id": OTHER, "webhook_id": ID}, 202))
    steadhold("trigger", "job.completed")
    assert server.last.url.path == f"/v1/webhooks/{ID}/ping"
    assert msgspec.json.decode(server.last.content) == {"type": "job.completed"}


def test_nobody_takes_it(steadhold, server):
    server.then(says({"items": [], "next_cursor": None}))
    assert steadhold("trigger", "a", code=1).stdout == ""


def test_a_header_needs_a_value(steadhold, server):
    steadhold("webhooks", "create", "https://example.com/", "*", "--header", "x", code=2)
    assert server.requests == []
