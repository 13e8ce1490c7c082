"""`steadhold commit`: a file of changes, all or nothing."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.conftest import problem, reply

COMMIT = b'{"require": [], "apply": [ {"op":"state.put","name":"a","value":1.10,"if_none_match":"*"} ]}\n'
ANSWER = {
    "require": [{"op": "locks.get", "status": 200, "fence": 3}],
    "apply": [{"op": "state.put", "status": 201, "revision": 1, "result": {"name": "a", "revision": 1}}],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "commit.json"
    path.write_bytes(COMMIT)
    return path


def test_the_file_is_sent_as_it_is_and_each_item_answered(steadhold, server, file):
    server.then(reply(200, msgspec.json.encode(ANSWER)))
    lines = steadhold("commit", file, "--idempotency-key", "op-1").stdout.splitlines()
    assert server.asked == ["POST /v1/commits"]
    assert (server.last.content, server.last.headers["idempotency-key"]) == (COMMIT, "op-1")
    locked, put = map(msgspec.json.decode, lines)
    assert (locked["list"], locked["index"], locked["op"], locked["fence"]) == ("require", 0, "locks.get", 3)
    assert (put["list"], put["status"], put["result"]) == ("apply", 201, {"name": "a", "revision": 1})


def test_standard_input_and_a_table(steadhold, server):
    server.then(reply(200, msgspec.json.encode(ANSWER)))
    told = steadhold("commit", "-", "-o", "table", input=COMMIT).stdout
    assert server.last.content == COMMIT
    assert "state.put" in told
    assert "LIST" in told


@pytest.mark.parametrize(
    "status, code, exit_code",
    [(412, "condition_false", 3), (409, "stale_fence", 3), (404, "not_found", 4), (403, "missing_scope", 7),
     (400, "bad_member", 2), (422, "unknown_op", 1)],
)  # fmt: skip
def test_a_refusal_says_which_item(steadhold, server, file, status, code, exit_code):
    server.then(problem(status, code, list="apply", index=2))
    assert f"[{code}, list=apply, index=2]" in steadhold("commit", file, code=exit_code).stderr


def test_a_file_that_is_not_there(steadhold, server):
    steadhold("commit", "none.json", code=2)
    assert server.requests == []
