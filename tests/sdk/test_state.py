"""client.state: exact bytes, one expected revision for each write, and streams."""

from __future__ import annotations

import hashlib
import itertools
from decimal import Decimal

import httpx2
import msgspec
import pytest

from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.sdk import state
from steadhold.sdk.errors import BadAnswer, NotFound, RevisionConflict
from tests.sdk.conftest import problem


def stored(raw, revision=1, **headers):
    digest = fields.write_digest(hashlib.sha256(raw).digest())
    told = {"etag": f'"{revision}"', "revision": str(revision), "repr-digest": digest, **headers}
    return httpx2.Response(200, content=raw, headers=told)


def written(revision, status=200):
    return httpx2.Response(status, json={"name": "a", "revision": revision}, headers={"revision": str(revision)})


CONFLICT = problem(412, "condition_false", next="reread", current_revision=9)

EXACT = [
    (b"9007199254740993", 2**53 + 1),
    (b"-0", 0),
    (b"1.10", Decimal("1.10")),
    (b"1e400", Decimal("1e400")),
    (b"0.1", Decimal("0.1")),
    (b'  {"b": 1,\n "a": 2}  ', {"b": 1, "a": 2}),
    ('"\u00e9\\u00e9"'.encode(), "\u00e9\u00e9"),
    (b"null", None),
]


@pytest.mark.parametrize("raw, value", EXACT)
def test_a_reading_gives_the_bytes_and_the_exact_value(each_client, server, raw, value):
    server.then(stored(raw, 7))
    found = each_client.state.get("a")
    assert (found.raw, found.value, found.revision) == (raw, value, 7)
    assert type(found.value) is type(value)
    assert found.digest == hashlib.sha256(raw).digest()


@pytest.mark.parametrize("raw, _", EXACT)
def test_raw_bytes_are_sent_as_they_are(each_client, server, raw, _):
    server.then(written(2))
    each_client.state.put("a", raw=raw, if_revision=1)
    assert server.requests[0].content == raw


@pytest.mark.parametrize(
    "value, raw",
    [(2**53 + 1, b"9007199254740993"), (Decimal("1.10"), b"1.10"), ({"b": 1, "a": None}, b'{"b":1,"a":null}')],
)
def test_values_are_sent_exactly(each_client, server, value, raw):
    server.then(written(1, 201))
    assert each_client.state.create("a", value) == state.Written("a", 1)
    assert server.requests[0].content == raw
    assert server.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("given", [{}, {"value": 1, "raw": b"1"}])
def test_there_is_one_value(each_client, server, given):
    with pytest.raises(TypeError, match="raw=bytes"):
        each_client.state.put("a", if_revision=1, **given)
    assert server.requests == []


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}])
def test_what_json_cannot_say_is_not_sent(each_client, server, value):
    with pytest.raises((TypeError, ValueError)):
        each_client.state.create("a", value)
    assert server.requests == []


def test_bytes_that_were_damaged_are_not_believed(each_client, server):
    server.then(httpx2.Response(200, content=b"2", headers={**stored(b"1").headers, "content-length": "1"}))
    with pytest.raises(BadAnswer, match="digest"):
        each_client.state.get("a")


@pytest.mark.parametrize(
    "name, target",
    [
        ("team/a", "/v1/state/team/a"),
        ("a b?c#d", "/v1/state/a%20b%3Fc%23d"),
        ("100%25/%2F", "/v1/state/100%2525/%252F"),
        ("a+b;c=d&e", "/v1/state/a%2Bb%3Bc%3Dd%26e"),
        ("\u00e9\u4e2d", "/v1/state/%C3%A9%E4%B8%AD"),
        ("a:b@c~d", "/v1/state/a:b@c~d"),
        ("'\"<>[]{}|\\^`", "/v1/state/%27%22%3C%3E%5B%5D%7B%7D%7C%5C%5E%60"),
    ],
)
def test_names_reach_the_wire_as_they_are(each_client, server, name, target):
    server.then(stored(b"1"))
    each_client.state.get(name)
    assert server.asked == [f"GET {target}"]


def test_every_write_names_its_condition(each_client, server):
    server.then(written(2), written(1, 201), httpx2.Response(204, headers={"revision": "3"}))
    fence = FenceRef("job:j", 7)
    each_client.state.put("a", 1, if_revision=1, fences=[fence])
    each_client.state.create("a", 1, fences=[fence])
    assert each_client.state.delete("a", if_revision=2, fences=[fence]) == state.Written("a", 3)
    conditions = [(r.headers.get("if-match"), r.headers.get("if-none-match")) for r in server.requests]
    assert conditions == [('"1"', None), (None, "*"), ('"2"', None)]
    assert {r.headers["fence"] for r in server.requests} == {'"job:j";fence=7'}
    assert [r.method for r in server.requests] == ["PUT", "PUT", "DELETE"]


def test_an_older_revision(each_client, server):
    server.then(stored(b"1", 3))
    assert each_client.state.get("a", revision=3).revision == 3
    assert server.asked == ["GET /v1/state/a?revision=3"]


# --- update -----------------------------------------------------------------------------------


def test_update_reads_again_when_somebody_was_faster(each_client, server):
    server.then(stored(b"1", 1), CONFLICT, stored(b"5", 9), written(10))
    made = each_client.state.update("a", lambda n: n + 1)
    assert (made.value, made.raw, made.revision) == (6, b"6", 10)
    assert made.digest == hashlib.sha256(b"6").digest()
    writes = [r for r in server.requests if r.method == "PUT"]
    assert [(r.content, r.headers["if-match"]) for r in writes] == [(b"2", '"1"'), (b"6", '"9"')]
    assert len({r.headers["idempotency-key"] for r in writes}) == 2


def test_update_stands_back_and_gives_up_after_its_tries(each_client, server, clock):
    server.then(*itertools.chain.from_iterable([(stored(b"1", 1), CONFLICT)] * 9))
    with pytest.raises(RevisionConflict):
        each_client.state.update("a", lambda n: n, tries_max=9)
    assert len(server.requests) == 18
    assert clock.pauses == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.64]


def test_update_creates_where_it_may(each_client, server):
    server.then(problem(404, "not_found"), written(1, 201))
    assert each_client.state.update("a", lambda n: n + 1, create=0).value == 1
    assert server.requests[1].headers["if-none-match"] == "*"


def test_update_of_nothing_is_not_found(each_client, server):
    server.then(problem(404, "not_found", last_revision=3))
    with pytest.raises(NotFound):
        each_client.state.update("a", lambda n: n)


def test_update_takes_none_for_a_mistake(each_client, server):
    server.then(stored(b"{}", 1))
    with pytest.raises(TypeError, match="returned None"):
        each_client.state.update("a", lambda found: found.update(a=1))
    assert len(server.requests) == 1


def test_what_the_function_raises_comes_through(each_client, server):
    server.then(stored(b"1", 1))
    with pytest.raises(ZeroDivisionError):
        each_client.state.update("a", lambda n: n / 0)


def test_update_needs_a_try(each_client):
    with pytest.raises(ValueError, match="tries_max"):
        each_client.state.update("a", lambda n: n, tries_max=0)


def test_a_lost_write_of_an_update_is_not_decided_twice(each_client, server):
    server.then(stored(b"1", 1), httpx2.ReadTimeout, written(2))
    calls = []
    assert each_client.state.update("a", lambda n: calls.append(n) or n + 1).revision == 2
    assert calls == [1]


# --- lists and streams ------------------------------------------------------------------------


def entry(name, revision=1):
    return {"name": name, "revision": revision, "bytes": 1, "digest": "00", "changed_at": "2026-01-01T00:00:00.000000Z"}


def test_names_are_all_pages(each_client, server):
    server.then(
        httpx2.Response(200, json={"items": [entry("a"), entry("b")], "next_cursor": "c/1"}),
        httpx2.Response(200, json={"items": [entry("c")], "next_cursor": None}),
    )
    assert [found.name for found in each_client.state.names("team")] == ["a", "b", "c"]
    assert server.asked == ["GET /v1/state?prefix=team", "GET /v1/state?prefix=team&cursor=c%2F1"]


def test_a_list_asks_for_no_page_before_it_is_needed(client, server):
    server.then(httpx2.Response(200, json={"items": [entry("a")], "next_cursor": "1"}))
    names = client.state.names()
    assert server.requests == []
    assert next(names).name == "a"
    names.close()
    assert len(server.requests) == 1


def test_revisions_are_listed(each_client, server):
    kept = {"revision": 2, "bytes": 1, "digest": "00", "written_at": "2026-01-01T00:00:00.000000Z", "deleted": True}
    server.then(httpx2.Response(200, json={"items": [kept], "next_cursor": None}))
    assert [(k.revision, k.deleted) for k in each_client.state.revisions("a")] == [(2, True)]
    assert server.asked == ["GET /v1/state/a?view=revisions"]


def test_watching_gives_what_is_there_and_each_change(client, server):
    server.then(
        stored(b"1", 1),
        httpx2.Response(304, headers={"revision": "1"}),
        stored(b"2", 2),
        problem(404, "not_found", last_revision=3),
        problem(404, "not_found", last_revision=3),
        stored(b"4", 4),
    )
    changes = client.state.watch("a")
    seen = [next(changes) for _ in range(4)]
    changes.close()
    assert [getattr(s, "revision", None) for s in seen] == [1, 2, None, 4]
    assert seen[2] == state.Absent("a", 3)
    waits = [r.headers.get("if-none-match") for r in server.requests]
    assert waits == [None, '"1"', '"1"', '"2"', None, None]
    assert ["wait_seconds" in a for a in server.asked] == [False, True, True, True, True, True]


def test_watching_an_absent_name_says_so_first(client, server):
    server.then(problem(404, "not_found"), stored(b"1", 1))
    changes = client.state.watch("a")
    assert next(changes) == state.Absent("a", None)
    assert next(changes).revision == 1
    changes.close()


def test_watching_since_a_revision_waits_at_once(client, server):
    server.then(stored(b"8", 8))
    changes = client.state.watch("a", since=7)
    assert next(changes).revision == 8
    changes.close()
    assert server.requests[0].headers["if-none-match"] == '"7"'


def test_a_batch_has_an_outcome_for_each(each_client, server):
    outcomes = (
        b'{"outcomes":[{"name":"a","status":200,"revision":3,"value":{"n":  1.10}},'
        b'{"name":"b","status":412,"code":"condition_false","current_revision":4}]}'
    )
    server.then(httpx2.Response(200, content=outcomes, headers={"content-type": "application/json"}))
    items = [state.Get("a"), state.Put("b", 1, 3), state.Put("c", raw=b"1.10"), state.Delete("d", 4)]
    got, lost = each_client.state.batch(items)
    assert (bytes(got.raw), got.value, got.revision) == (b'{"n":  1.10}', {"n": Decimal("1.10")}, 3)
    assert (lost.code, lost.current_revision, lost.value) == ("condition_false", 4, None)
    assert server.requests[0].content == (
        b'{"items":[{"op":"get","name":"a"},{"op":"put","name":"b","value":1,"if_match":3},'
        b'{"op":"put","name":"c","value":1.10,"if_none_match":"*"},{"op":"delete","name":"d","if_match":4}]}'
    )


def test_an_answer_of_another_shape_is_named(each_client, server):
    server.then(httpx2.Response(200, json={"items": [{"name": 7}], "next_cursor": None}))
    with pytest.raises(BadAnswer, match="version"):
        list(each_client.state.names())


def test_values_of_the_sdk_are_plain_and_frozen():
    found = state.State(b"1", name="a", revision=1, digest=b"")
    with pytest.raises(AttributeError):
        found.revision = 2
    assert found == state.State(b"1", name="a", revision=1, digest=b"")
    assert isinstance(found, msgspec.Struct)
