"""The pages of context: files by prefix, revisions, the beginning of what is large, and downloads of all of it."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

import pytest

from steadhold.dashboard.facts import SHOWN_BYTES_MAX
from tests.dashboard.hostile import HOSTILE, unsafe
from tests.dashboard.sealing import sealed_for

PAGE = b"<!doctype html><script>alert(1)</script><svg onload=alert(2)>"


async def put(door, path, body, kind="text/plain", **condition):
    made = await door(
        "PUT", f"/v1/context/{quote(path)}", body, content_type=kind, **(condition or {"if_none_match": "*"})
    )
    assert made.status in {200, 201}, made.body
    return made.json


async def test_a_text_is_shown_and_comes_back_as_it_is(seat, door):
    made = await put(door, "notes/today.md", b"one\r\ntwo\n")
    page = await seat.get("/context/notes/today.md")
    assert "one\r\ntwo" in page.text or "one\\u000d\ntwo" in page.text
    assert made["reference"] in page.text
    file = await seat.get("/context:raw/notes/today.md")
    assert (file.status, file.body) == (200, b"one\r\ntwo\n")


@pytest.mark.parametrize(
    ("name", "kind"), [("a.html", "text/html"), ("a.svg", "image/svg+xml"), ("a.js", "text/javascript")]
)
async def test_what_could_run_is_shown_as_text_and_downloaded_as_a_file(seat, door, name, kind):
    await put(door, name, PAGE, kind)
    assert unsafe(await seat.get(f"/context/{name}"), "<script>alert(1)</script>") == []
    file = await seat.get(f"/context:raw/{name}")
    assert file.body == PAGE
    assert file.headers["content-disposition"].startswith(f'attachment; filename="{name}"')
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_of_a_large_file_the_beginning_is_shown_and_all_of_it_downloaded(seat, door):
    body = b"begin " + b"x" * (3 * SHOWN_BYTES_MAX) + b" end"
    await put(door, "large.txt", body)
    page = await seat.get("/context/large.txt")
    assert ("begin xxx" in page.text, "x end" in page.text) == (True, False)
    assert "this is the beginning" in page.text
    assert "192.0 KiB" in page.text
    file = await seat.get("/context:raw/large.txt")
    assert hashlib.sha256(file.body).digest() == hashlib.sha256(body).digest()


async def test_bytes_and_nothing_are_shown_as_such(seat, door):
    await put(door, "a.bin", bytes(range(256)), "application/octet-stream")
    assert "000010  10 11 12" in (await seat.get("/context/a.bin")).text
    await put(door, "empty", b"")
    page = await seat.get("/context/empty")
    assert (page.status, "0 B" in page.text) == (200, True)


async def test_each_revision_is_read_as_it_was(seat, door):
    first = await put(door, "a.txt", b"first")
    await put(door, "a.txt", b"second", if_match='"1"')
    assert "second" in (await seat.get("/context/a.txt")).text
    page = await seat.get("/context/a.txt?revision=1")
    assert ("first</pre>" in page.text, "which was replaced" in page.text) == (True, True)
    assert (await seat.get("/context:raw/a.txt?revision=1")).body == b"first"
    to = await seat.get(f"/context:reference?to={quote(first['reference'], safe='')}")
    assert (to.status, to.location) == (303, "/ui/context/a.txt?revision=1")
    assert (await seat.get("/context:reference?to=nothing")).location == "/ui/context"


async def test_a_deleted_file_shows_that_it_was(seat, door):
    await put(door, "a.txt", b"first")
    assert (await door("DELETE", "/v1/context/a.txt", if_match='"1"')).status == 204
    page = await seat.get("/context/a.txt")
    assert "was deleted, or moved away" in page.text
    assert "first</pre>" in (await seat.get("/context/a.txt?revision=1")).text
    assert (await seat.get("/context/never")).code == "not_found"


async def test_files_are_walked_by_prefix(seat, door):
    for path in ("a.txt", "reports/may/1.md", "reports/q3.md"):
        await put(door, path, b"x")
    top = (await seat.get("/context")).text
    assert ('href="/ui/context/a.txt"' in top, 'href="/ui/context?prefix=reports"' in top) == (True, True)
    assert "3 files" in top
    below = (await seat.get("/context?prefix=reports")).text
    assert ('href="/ui/context/reports/q3.md"' in below, "prefix=reports%2Fmay" in below) == (True, True)


async def test_a_key_without_payloads_sees_no_bytes(seated, door):
    await put(door, "reports/secret.md", b"ZEBRA " * 30_000)
    await put(door, "other.md", b"x")
    reader = await seated("context:read:reports")
    page = await reader.get("/context/reports/secret.md")
    assert (page.status, "ZEBRA" in page.text, "payloads:read" in page.text) == (200, False, True)
    assert (await reader.get("/context:raw/reports/secret.md")).code == "missing_scope"
    assert "other.md" not in (await reader.get("/context")).text
    assert (await reader.get("/context/other.md")).status == 403


@pytest.mark.parametrize("size", [10, 2 * SHOWN_BYTES_MAX])
async def test_what_is_sealed_is_shown_as_sealed(seat, door, workspace, size):
    envelope = await sealed_for(door, workspace, "context", "vault/a.txt", b"x" * size, "text/plain")
    page = await seat.get("/context/vault/a.txt")
    assert 'class="pill sealed"' in page.text
    assert envelope[:60].decode() not in page.text
    assert (await seat.get("/context:raw/vault/a.txt")).body == envelope


async def test_paths_and_types_are_text(seat, door):
    path = "x" + HOSTILE.replace("/", "") + ".txt"
    await put(door, path, HOSTILE.encode(), 'text/plain; a="<script>alert(9)</script>"')
    assert unsafe(await seat.get("/context"), path) == []
    assert unsafe(await seat.get(f"/context/{quote(path)}"), path, HOSTILE) == []
