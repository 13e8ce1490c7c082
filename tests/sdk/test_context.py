"""client.context over a real server, blocking and with asyncio."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest

from steadhold.sdk import AsyncClient
from steadhold.sdk.context import File, NoFile
from steadhold.sdk.errors import NotFound, Problem, RevisionConflict, RevisionPruned
from tests.sdk.site import key, real_client, site  # noqa: F401 - fixtures

BIG = bytes(range(256)) * 4096 + b"end"


def test_a_file_is_written_read_moved_and_deleted(client):
    made = client.context.write("a b/ü@1", "text", if_revision=None)
    found = client.context.read("a b/ü@1")
    assert (found.text, found.content_type, found.revision) == ("text", "text/plain; charset=utf-8", made.revision)
    assert found.reference == made.reference
    assert client.context.resolve(made.reference) == b"text"
    with pytest.raises(RevisionConflict):
        client.context.write("a b/ü@1", b"", if_revision=7)
    moved = client.context.move("a b/ü@1", "b", if_revision=1)
    assert [kept.path for kept in client.context.revisions("b")] == ["b", "a b/ü@1"]
    assert [(one.path, one.id) for one in client.context.files()] == [("b", moved.id)]
    client.context.write("c", b"", if_revision=None)
    with pytest.raises(Problem, match="path"):
        client.context.move("b", "c", if_revision=2)
    assert client.context.delete("b", if_revision=moved.revision) == moved.revision + 1
    with pytest.raises(NotFound):
        client.context.read("b")
    usage = client.context.usage()
    assert (usage.files, usage.bytes, usage.bytes_max) == (1, 0, None)


def test_edits_decide_anew_while_others_write(client):
    client.context.append("log", "one\n")
    tries = []

    def add(old):
        if not tries:
            client.context.append("log", "rival\n")
        tries.append(old)
        return old + b"two\n"

    client.context.edit("log", add)
    assert client.context.read("log").body == b"one\nrival\ntwo\n"
    assert len(tries) == 2
    with pytest.raises(RevisionConflict):
        client.context.edit("log", lambda old: client.context.append("log", b".") and old, tries_max=2)
    with pytest.raises(NotFound):
        client.context.edit("absent", lambda old: old)
    assert client.context.edit("absent", lambda old: old + b"!", create=b"new").revision == 1
    assert client.context.read("absent").body == b"new!"


def test_a_large_file_comes_by_pieces(client):
    client.context.write("big", BIG, if_revision=None)
    pieces = list(client.context.pieces("big", piece_bytes=300_000))
    assert (b"".join(pieces), max(map(len, pieces))) == (BIG, 300_000)
    client.context.write("empty", b"", if_revision=None)
    assert list(client.context.pieces("empty")) == []
    for revision in range(1, 12):
        client.context.write("empty", b"%d" % revision, if_revision=revision)
    with pytest.raises(RevisionPruned):
        list(client.context.pieces("empty", revision=1))


def test_files_go_out_and_come_in_as_an_archive(client):
    client.context.write("a/one", b"1", if_revision=None)
    client.context.write("b", b"2", if_revision=None)
    raw = client.context.export("a")
    with tarfile.open(fileobj=io.BytesIO(raw)) as opened:
        assert opened.getnames() == ["a/one"]
    client.context.delete("a/one", if_revision=1)
    came = client.context.import_files(raw)
    assert [(one.path, one.status, one.revision) for one in came.files] == [("a/one", 201, 3)]
    assert [one.code for one in client.context.import_files(raw, prefix="b").files] == ["bad_name"]


async def test_with_asyncio(site, key):  # noqa: F811
    async with AsyncClient(site.url, key.key) as client:
        watching = client.context.watch("n")
        assert await anext(watching) == NoFile("n")
        await client.context.write("n", "1", if_revision=None)
        found = await anext(watching)
        assert isinstance(found, File)
        assert (found.body, found.digest) == (b"1", hashlib.sha256(b"1").digest())
        await client.context.append("n", "2")
        assert (await anext(watching)).text == "12"
        assert [piece async for piece in client.context.pieces("n")] == [b"12"]
        await watching.aclose()
