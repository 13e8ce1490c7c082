"""`steadhold context`: files in and out as they are, and no write without its condition."""

from __future__ import annotations

import base64
import hashlib

import msgspec
import pytest

from tests.cli.conftest import problem, reply

BYTES = b"\0\xff\r\n"
WRITTEN = reply(201, msgspec.json.encode({"path": "a", "revision": 1, "reference": "context:a@1#sha256:00"}))


def held(raw, **more):
    digest = hashlib.sha256(raw).digest()
    said = f"sha-256=:{base64.b64encode(digest).decode()}:"
    return reply(200, raw, revision=1, **{"repr-digest": said, **more})


def test_get_writes_the_bytes_that_are_stored(steadhold, server, tmp_path):
    server.then(held(BYTES))
    assert steadhold("context", "get", "a/b").stdout_bytes == BYTES
    assert server.last.headers["range"].startswith("bytes=0-")
    server.then(held(BYTES))
    steadhold("context", "get", "a/b", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == BYTES


def test_what_breaks_off_leaves_no_file_that_looks_whole(steadhold, server, tmp_path):
    first = reply(206, b"12", revision=1, **{"content-range": "bytes 0-1/4"})
    server.then(first, problem(410, "revision_pruned"))
    steadhold("context", "get", "a", "-o", tmp_path / "out", code=4)
    assert len(server.asked) == 2
    assert not (tmp_path / "out").exists()


def test_put_sends_the_bytes_of_a_file(steadhold, server, tmp_path):
    (tmp_path / "a.html").write_bytes(BYTES)
    server.then(WRITTEN)
    result = steadhold("context", "put", "a", tmp_path / "a.html", "--create")
    assert (server.last.content, server.last.headers["content-type"]) == (BYTES, "text/html")
    assert server.last.headers["if-none-match"] == "*"
    assert msgspec.json.decode(result.stdout)["revision"] == 1
    server.then(WRITTEN)
    steadhold("context", "put", "a", "-", "--if-match", "7", input=BYTES)
    assert (server.last.content, server.last.headers["if-match"]) == (BYTES, '"7"')


def test_a_write_says_what_it_replaces(steadhold, server, tmp_path):
    (tmp_path / "a").write_bytes(b"")
    for more in ([], ["--create", "--if-match", "1"]):
        result = steadhold("context", "put", "a", tmp_path / "a", *more, code=2)
        assert "Say what is replaced" in result.stderr
    assert server.asked == []


def test_who_lost_is_told_by_the_exit_code(steadhold, server):
    server.then(problem(412, "condition_false", current_revision=9))
    result = steadhold("context", "rm", "a", "--if-match", "1", code=3)
    assert (server.last.headers["if-match"], "9" in result.stderr) == ('"1"', True)


def test_a_file_is_moved_and_deleted(steadhold, server):
    server.then(reply(200, b'{"path":"b","id":"i","revision":2}'), reply(204, b"", revision=3))
    moved = steadhold("context", "mv", "a", "b", "--if-match", "1")
    assert msgspec.json.decode(moved.stdout) == {"path": "b", "id": "i", "revision": 2}
    assert msgspec.json.decode(server.last.content) == {"from": "a", "to": "b"}
    assert msgspec.json.decode(steadhold("context", "rm", "b", "--if-match", "2").stdout)["revision"] == 3


@pytest.mark.parametrize(("code", "exit"), [(None, 0), ("condition_false", 1), ("stale_fence", 3)])
def test_an_import_tells_each_file_and_whether_all_came(steadhold, server, tmp_path, code, exit):
    (tmp_path / "a.tar").write_bytes(b"tar")
    files = [{"path": "a", "status": 412 if code else 201, "code": code}]
    server.then(reply(200, msgspec.json.encode({"complete": True, "files": files})))
    result = steadhold("context", "import", tmp_path / "a.tar", "--prefix", "a", code=exit)
    assert server.asked == ["POST /v1/context:import?prefix=a"]
    assert msgspec.json.decode(result.stdout)["path"] == "a"
    assert (f"1 of 1 files were refused. [{code}]" in result.stderr) is bool(code)


def test_an_export_is_what_the_server_sends(steadhold, server):
    server.then(reply(200, b"tar"))
    assert steadhold("context", "export", "a").stdout_bytes == b"tar"
    assert server.asked == ["GET /v1/context:export?prefix=a"]


def test_a_file_that_is_there_is_not_written_over(steadhold, server, tmp_path):
    (tmp_path / "kept").write_bytes(b"kept")
    server.then(held(b"new"))
    assert "is there already" in steadhold("context", "get", "a", "-o", tmp_path / "kept", code=1).stderr
    assert (tmp_path / "kept").read_bytes() == b"kept"
