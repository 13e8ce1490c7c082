"""`steadhold inbox` and `steadhold consumers`: what is asked, and what is printed."""

from __future__ import annotations

import base64

import msgspec
import pytest

from steadhold.inboxes.applied_table import TABLES
from tests.cli.conftest import problem, reply

AT = "2026-11-29T16:00:00Z"
BOX = {
    "name": "a", "revision": 1, "retention": {"max_age_seconds": None, "max_events": 5, "max_bytes": None},
    "epoch": "e", "first_retained": 1, "last_sequence": 3, "bytes": 9, "made_at": AT,
}  # fmt: skip
CONSUMER = {"inbox": "a", "name": "c", "revision": 1, "epoch": "e", "position": 2, "lag": 1, "gaps": []}
PLACE = {"sequence": 4, "epoch": "e", "event_id": "x", "accepted_at": AT}
MADE = {"name": "a", "revision": 1}
PAGE = {
    "epoch": "e",
    "events": [{"sequence": 3, "event_id": "x", "accepted_at": AT, "type": "t", "data": {"n": 1}}],
    "gaps": [{"from": 1, "to": 2, "reason": "retention", "at": AT}],
    "next_after": 3, "first_retained": 3, "last_sequence": 3,
}  # fmt: skip


def said(value, status=200):
    return reply(status, msgspec.json.encode(value))


def lines(found):
    return [msgspec.json.decode(line) for line in found.stdout.splitlines()]


def test_an_inbox_is_made_shown_and_deleted(steadhold, server):
    server.then(said(MADE, 201), said(BOX), said({"items": [BOX], "next_cursor": None}), reply(204))
    assert lines(steadhold("inbox", "create", "a", "--max-age", 0, "--max-events", 5)) == [MADE]
    keeps = {"retention": {"max_events": 5, "max_age_seconds": None}}
    assert msgspec.json.decode(server.last.content) == keeps
    assert server.last.headers["if-none-match"] == "*"
    assert lines(steadhold("inbox", "show", "a"))[0]["last_sequence"] == 3
    assert lines(steadhold("inbox", "ls"))[0]["name"] == "a"
    assert steadhold("inbox", "delete", "a", "--if-match", 1).stdout == ""
    assert server.asked == ["PUT /v1/inboxes/a", "GET /v1/inboxes/a", "GET /v1/inboxes", "DELETE /v1/inboxes/a"]


def test_an_event_is_sent_as_it_is(steadhold, server):
    server.then(said(PLACE, 201))
    assert lines(steadhold("inbox", "send", "a", "t", '{"n": 1.10}', "--key", "k"))[0]["sequence"] == 4
    assert (server.last.headers["idempotency-key"], server.last.content) == ("k", b'{"type":"t","data":{"n": 1.10}}')
    steadhold("inbox", "send", "a", code=2)
    steadhold("inbox", "send", "a", "t", code=2)


def test_a_key_that_was_used_is_an_error(steadhold, server):
    server.then(problem(422, "operation_mismatch", sequence=7))
    assert "sequence=7" in steadhold("inbox", "send", "a", "t", "1", code=3).stderr


def test_a_file_of_events_is_sent(steadhold, server, tmp_path):
    file = tmp_path / "events"
    file.write_bytes(b'{"key":"k","type":"t","data":{"n": 1.10}}\n\n')
    server.then(reply(200, msgspec.json.encode({"key": "k", "status": 201, "sequence": 4, "epoch": "e"}) + b"\n"))
    assert lines(steadhold("inbox", "send", "a", "--batch", file))[0]["sequence"] == 4
    assert server.last.headers["content-type"] == "application/x-ndjson"
    assert server.last.content == b'{"type":"t","data":{"n": 1.10},"key":"k"}\n'
    for line in (b"{}", b'{"type":"t","data":1}', b'{"key":"k","type":"t","data":1,"event_id":"e"}', b"[1]"):
        file.write_bytes(line)
        steadhold("inbox", "send", "a", "--batch", file, code=2)


@pytest.mark.parametrize("more", [["t"], ["t", "1"], ["--key", "k"], ["--aggregate", "order:7"], ["--file", "events"]])
def test_a_file_of_events_has_all_of_it(steadhold, server, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events").write_bytes(b'{"key":"k","type":"t","data":1}\n')
    assert "--batch FILE says all of it" in steadhold("inbox", "send", "a", "--batch", "events", *more, code=2).stderr
    assert server.requests == []


def test_a_line_that_is_refused_among_others_is_a_failure(steadhold, server, tmp_path):
    (tmp_path / "events").write_bytes(b'{"key":"k","type":"t","data":1}\n' * 1_001)
    took, refused = (
        {"key": "k", "status": 201, "sequence": 4},
        {"key": None, "status": 422, "code": "operation_mismatch"},
    )
    server.then(*[reply(200, msgspec.json.encode(one) + b"\n") for one in (refused, took)])
    result = steadhold("inbox", "send", "a", "--batch", tmp_path / "events", code=1)
    assert [one["status"] for one in lines(result)] == [422, 201]
    assert "1 of 2 events were refused. [operation_mismatch]" in result.stderr


def test_json_on_several_lines_is_printed_on_one(steadhold, server):
    pretty = b'{\n "n": 1\r\n}'
    (event,) = PAGE["events"]
    server.then(said({**PAGE, "events": [{**event, "data": msgspec.Raw(pretty)}]}))
    (_, shown) = lines(steadhold("inbox", "read", "a", "--epoch", "e", "--after", 0))
    assert (shown["content_type"], base64.b64decode(shown["data_base64"])) == ("application/json", pretty)


@pytest.mark.parametrize("verb", ["read", "export"])
def test_a_gap_is_a_line_before_the_events(steadhold, server, verb):
    server.then(said(PAGE))
    gap, event = lines(steadhold("inbox", verb, "a", "--epoch", "e", "--after", 0))
    assert (gap["gap"]["from"], gap["gap"]["to"], event["data"]) == (1, 2, {"n": 1})
    assert server.asked == ["GET /v1/inboxes/a/events?epoch=e&after=0"]


def test_tail_goes_on(steadhold, server):
    server.then(said(PAGE), said({**PAGE, "gaps": [], "events": []}), problem(404, "not_found"))
    assert len(lines(steadhold("inbox", "tail", "a", code=4))) == 2
    assert server.asked[1] == "GET /v1/inboxes/a/events?epoch=e&after=3&wait_seconds=25"


def test_a_consumer_acknowledges(steadhold, server):
    server.then(said({"epoch": "e", "position": 3}))
    words = ("--fence", 2, "--accept-gap-through", 2)
    assert lines(steadhold("inbox", "ack", "a", "c", "e", 3, *words)) == [{"epoch": "e", "position": 3}]
    assert msgspec.json.decode(server.last.content) == {
        "epoch": "e", "sequence": 3, "fence": 2, "accept_gap_through": 2,
    }  # fmt: skip
    assert server.asked == ["POST /v1/inboxes/a/consumers/c/acknowledge"]


@pytest.mark.parametrize(("start", "sent"), [("latest", "latest"), ("e:3", {"epoch": "e", "sequence": 3})])
def test_consumers(steadhold, server, start, sent):
    server.then(said(MADE, 201), said({"items": [CONSUMER], "next_cursor": None}), said(CONSUMER), reply(204))
    steadhold("consumers", "create", "a", "c", "--start", start)
    assert msgspec.json.decode(server.last.content) == {"start": sent}
    assert lines(steadhold("consumers", "ls", "a"))[0]["lag"] == 1
    assert lines(steadhold("consumers", "show", "a", "c"))[0]["position"] == 2
    steadhold("consumers", "delete", "a", "c", "--if-match", 1)
    for text in ("soon", "latest:", ":3", ":", ""):
        told = steadhold("consumers", "create", "a", "c", "--start", text, code=2).stderr
        assert f"{text!r} is none of earliest, latest and EPOCH:SEQUENCE." in told
    assert "'1_0' is no whole number" in steadhold("consumers", "create", "a", "c", "--start", "e:1_0", code=2).stderr
    assert server.asked[1:] == [
        "GET /v1/inboxes/a/consumers", "GET /v1/inboxes/a/consumers/c", "DELETE /v1/inboxes/a/consumers/c",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_the_table_of_a_consumer_is_printed(steadhold, kind):
    assert steadhold("consumer-table", kind).stdout == TABLES[kind]
