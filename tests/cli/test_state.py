"""`steadhold state`: bytes in and out as they are, and no write without its condition."""

from __future__ import annotations

import sys

import msgspec
import pytest

from tests.cli.conftest import problem, reply

EXACT = [
    b"9007199254740993",
    b"1e400",
    b"1.10",
    b"-0",
    b'{"b":1,"a":2}',
    b" [ 1,\n\t2 ]\r\n",
    '"\u00e9\\u0041"'.encode(),
]
STORED = reply(201, b"", revision=1)


def held(raw, revision=1):
    return reply(200, raw, revision=revision, etag=f'"{revision}"')


@pytest.mark.parametrize("raw", EXACT)
def test_get_writes_the_bytes_that_are_stored(steadhold, server, raw):
    server.then(held(raw))
    assert steadhold("state", "get", "a/b").stdout_bytes == raw
    assert server.asked == ["GET /v1/state/a/b"]


@pytest.mark.parametrize("raw", EXACT)
@pytest.mark.parametrize("way", ["argument", "file", "standard input"])
def test_put_sends_the_bytes_that_were_given(steadhold, server, tmp_path, raw, way):
    server.then(STORED)
    (tmp_path / "value").write_bytes(raw)
    given = {"argument": [raw.decode()], "file": ["--file", tmp_path / "value"], "standard input": ["-"]}[way]
    result = steadhold("state", "put", "a", *given, "--create", input=raw)
    assert server.last.content == raw
    assert server.last.headers["if-none-match"] == "*"
    assert msgspec.json.decode(result.stdout) == {"name": "a", "revision": 1, "replayed": False}


def test_a_revision_is_replaced(steadhold, server):
    server.then(reply(200, b"", revision=8))
    steadhold("state", "put", "a", "--if-match", "7", "2", "--idempotency-key", "k")
    assert server.last.headers["if-match"] == '"7"'
    assert server.last.headers["idempotency-key"] == "k"


@pytest.mark.parametrize(
    "words, said",
    [
        ("a 1", "Say what is replaced"),
        ("a 1 --create --if-match 3", "Say what is replaced"),
        ("a --create", "Give VALUE"),
        ("a 1 --file pyproject.toml --create", "not both"),
        ("a 1 2 --create", "unexpected extra argument"),
        ("a 1 --creat", "No such option"),
        ("a 1 --if-match x", "'x' is no whole number"),
        ("a 1 -1 --create", "unexpected extra argument"),
    ],
)
def test_a_write_that_says_too_little_or_too_much_is_not_sent(steadhold, server, words, said):
    assert said in steadhold("state", "put", *words.split(), code=2).stderr
    assert server.requests == []


def test_what_a_name_holds_is_described(steadhold, server):
    server.then(held(b"[1]", 4))
    told = msgspec.json.decode(steadhold("state", "get", "a", "--meta").stdout)
    assert (told["name"], told["revision"], told["bytes"]) == ("a", 4, 3)


def test_a_name_is_deleted(steadhold, server):
    server.then(reply(204, b"", revision=5))
    steadhold("state", "delete", "a", "--if-match", "4")
    assert (server.asked, server.last.headers["if-match"]) == (["DELETE /v1/state/a"], '"4"')


ADD = f"{sys.executable} -c 'import sys; print(int(sys.stdin.read()) + 1)'"


def test_update_decides_anew_while_others_write_first(steadhold, server):
    server.then(held(b"1", 1), problem(412, "condition_false"), held(b"5", 2), reply(200, b"", revision=3))
    told = msgspec.json.decode(steadhold("state", "update", "n", "--exec", ADD).stdout)
    assert [r.content for r in server.requests if r.method == "PUT"] == [b"2\n", b"6\n"]
    assert told["revision"] == 3


def test_update_gives_up_after_its_tries(steadhold, server):
    server.then(held(b"1", 1), problem(412, "condition_false"), held(b"1", 2), problem(412, "condition_false"))
    steadhold("state", "update", "n", "--exec", "cat", "--tries", "2", code=3)
    assert len(server.requests) == 4


def test_update_begins_a_name_that_holds_nothing(steadhold, server):
    server.then(problem(404, "not_found"), STORED)
    steadhold("state", "update", "n", "--exec", ADD, "--create", "-5")
    assert (server.last.content, server.last.headers["if-none-match"]) == (b"-4\n", "*")


def test_update_writes_nothing_where_the_name_holds_nothing(steadhold, server):
    server.then(problem(404, "not_found"))
    steadhold("state", "update", "n", "--exec", ADD, code=4)
    assert server.asked == ["GET /v1/state/n"]


def test_a_command_that_fails_writes_nothing(steadhold, server):
    server.then(held(b"1"))
    assert (
        "ended with 3, so nothing was written" in steadhold("state", "update", "n", "--exec", "exit 3", code=1).stderr
    )
    assert server.asked == ["GET /v1/state/n"]


RECEIPT = msgspec.json.encode(
    {
        "operation_id": "k", "state": "committed", "kind": "state.put", "status": 200, "revision": 2,
        "committed_at": "2026-11-29T16:00:00Z", "expires_at": "2026-12-06T16:00:00Z",
    }
)  # fmt: skip


def test_an_update_that_was_done_under_this_id_is_not_done_again(steadhold, server):
    server.then(reply(200, RECEIPT))
    told = msgspec.json.decode(steadhold("state", "update", "n", "--exec", ADD, "--idempotency-key", "k").stdout)
    assert (told["state"], told["revision"]) == ("committed", 2)
    assert server.asked == ["GET /v1/operations/k"]


def test_an_update_under_a_fresh_id_is_done(steadhold, server):
    server.then(problem(404, "operation_not_committed"), held(b"1"), reply(200, b"", revision=2))
    steadhold("state", "update", "n", "--exec", ADD, "--idempotency-key", "k")
    assert server.last.headers["idempotency-key"] == "k"


def test_watch_prints_each_change_on_a_line(steadhold, server):
    server.then(held(b'{"a":\n1e400}', 1), held(b"2", 2), problem(404, "not_found", last_revision=3))
    lines = steadhold("state", "watch", "a", "--count", "3").stdout.splitlines()
    assert lines[0].endswith('"value":{"a": 1e400}}')
    assert [msgspec.json.decode(line)["revision"] for line in lines[1:]] == [2, None]


def test_names_are_listed_in_both_forms(steadhold, server):
    page = {
        "items": [
            {"name": "a/b", "revision": 1, "bytes": 3, "digest": "00", "changed_at": "2026-11-29T16:00:00Z"},
            {"name": "a/c", "revision": 12, "bytes": 1, "digest": "00", "changed_at": "2026-11-29T16:00:01Z"},
        ],
        "next_cursor": None,
    }
    server.then(reply(200, msgspec.json.encode(page)))
    assert [msgspec.json.decode(line)["name"] for line in steadhold("state", "ls", "a").stdout.splitlines()] == [
        "a/b",
        "a/c",
    ]
    assert steadhold("state", "ls", "a", "-o", "table").stdout.splitlines() == [
        "NAME  REVISION  BYTES  CHANGED_AT",
        "a/b   1         3      2026-11-29T16:00:00Z",
        "a/c   12        1      2026-11-29T16:00:01Z",
    ]
    assert server.asked[0] == "GET /v1/state?prefix=a"


def test_a_list_ends_where_it_was_told_to(steadhold, server):
    item = {"name": "a", "revision": 1, "bytes": 3, "digest": "00", "changed_at": "2026-11-29T16:00:00Z"}
    server.then(reply(200, msgspec.json.encode({"items": [item, item], "next_cursor": "more"})))
    assert len(steadhold("state", "ls", "--limit", "2").stdout.splitlines()) == 2
    assert len(server.requests) == 1


@pytest.mark.parametrize("option", ["--if-match", "--if-revision"])
def test_the_revision_that_is_replaced_has_both_names(steadhold, server, option):
    server.then(reply(200, b'{"revision":3}', revision=3, etag='"3"'))
    steadhold("state", "put", "a", "1", option, "2")
    assert server.last.headers["if-match"] == '"2"'
    assert "If-Match" in steadhold("state", "put", "--help").stdout


@pytest.mark.parametrize("value", ["hello", "{a:", "'{}'"])
def test_a_value_that_a_shell_has_taken_apart_is_told_how_to_be_quoted(steadhold, server, value):
    assert "Put JSON in single quotes" in steadhold("state", "put", "a", value, "--create", code=2).stderr
    assert not server.requests


def test_a_value_of_several_words_is_told_so_too(steadhold, server):
    assert "Put JSON in single quotes" in steadhold("state", "put", "a", "{a:", "1}", "--create", code=2).stderr


def test_a_file_is_not_told_of_a_shell(steadhold, server, tmp_path):
    (tmp_path / "value").write_text("hello")
    assert "quotes" not in steadhold("state", "put", "a", "--file", tmp_path / "value", "--create", code=2).stderr
