"""context through the doors: the same bytes, only under a condition, and never as a page of ours."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from urllib.parse import quote

import pytest

from steadhold.context.model import Reference
from steadhold.kit.ids import new_id
from steadhold.kit.limits import CONTEXT_BYTES_MAX, CONTEXT_CHUNK_BYTES, CONTEXT_WHOLE_BYTES_MAX

BIG = bytes(range(256)) * 4096 + b"end"
PIECES = [BIG[at : at + 100_000] for at in range(0, len(BIG), 100_000)]


def digest(body, algorithm="sha256"):
    return base64.b64encode(hashlib.new(algorithm, body).digest()).decode()


async def test_bytes_come_back_as_they_were_sent(house):
    made = await house.create("notes/one.html", b"<script>1</script>", content_type="text/html")
    assert (made.status, made.headers["etag"], made.json["revision"]) == (201, '"1"', 1)
    got = await house("GET", "/v1/context/notes/one.html")
    assert (got.status, got.body, got.headers["content-type"]) == (200, b"<script>1</script>", "text/html")
    assert got.headers["repr-digest"] == f"sha-256=:{digest(got.body)}:"
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''one.html"
    assert got.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert got.headers["x-content-type-options"] == "nosniff"
    head = await house("HEAD", "/v1/context/notes/one.html")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "18")


async def test_a_write_needs_one_exact_condition(house):
    assert (await house("PUT", "/v1/context/n", b"1")).code == "condition_required"
    assert (await house("PUT", "/v1/context/n", b"1", if_match="*")).code == "condition_inexact"
    assert (await house("PUT", "/v1/context/n", b"1", if_match='W/"1"')).code == "condition_false"
    assert (await house("PUT", "/v1/context/n", b"1", if_match='"1"')).code == "condition_false"
    await house.create("n")
    assert (await house.create("n", b"2")).json["current_revision"] == 1
    assert (await house("PUT", "/v1/context/n", b"2", if_match='"1"')).json["revision"] == 2
    assert (await house("DELETE", "/v1/context/n", if_match='"1"')).code == "condition_false"
    gone = await house("DELETE", "/v1/context/n", if_match='"2"')
    assert (gone.status, gone.headers["revision"]) == (204, "3")
    assert (await house("GET", "/v1/context/n")).json["last_revision"] == 3


async def test_large_bodies_come_and_go_by_pieces(house):
    made = await house.create("big", pieces=PIECES, content_length=str(len(BIG)))
    assert (made.status, made.json["bytes"]) == (201, len(BIG))
    assert made.json["digest"] == hashlib.sha256(BIG).hexdigest()
    got = await house("GET", "/v1/context/big")
    assert (got.body, got.headers["content-length"]) == (BIG, str(len(BIG)))
    grown = await house.create("unknown", pieces=PIECES)
    assert (grown.status, (await house("GET", "/v1/context/unknown")).body) == (201, BIG)
    assert (await house("HEAD", "/v1/context/big")).headers["content-length"] == str(len(BIG))


@pytest.mark.parametrize("body", [b"0123456789", BIG[:CONTEXT_WHOLE_BYTES_MAX], BIG])
async def test_a_part_is_what_was_asked_for(house, body):
    await house.create("n", body)
    for field, first, end in (
        ("bytes=2-5", 2, 6),
        ("bytes=-3", len(body) - 3, len(body)),
        (f"bytes=7-{2**40}", 7, len(body)),
        (f"bytes={min(CONTEXT_CHUNK_BYTES - 1, 4)}-", min(CONTEXT_CHUNK_BYTES - 1, 4), len(body)),
    ):
        got = await house("GET", "/v1/context/n", range=field)
        assert (got.status, got.body) == (206, body[first:end])
        assert got.headers["content-range"] == f"bytes {first}-{end - 1}/{len(body)}"
    assert (await house("GET", "/v1/context/n")).body == body
    beyond = await house("GET", "/v1/context/n", range=f"bytes={len(body)}-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{len(body)}")
    same = await house("GET", "/v1/context/n", range="bytes=0-0", if_range='"1"')
    other = await house("GET", "/v1/context/n", range="bytes=0-0", if_range='"2"')
    assert (same.status, other.status, other.body) == (206, 200, body)
    assert (await house("GET", "/v1/context/n", range="bytes=0-0", if_none_match='"1"')).status == 304


@pytest.mark.parametrize("field", ["content_digest", "repr_digest"])
@pytest.mark.parametrize(("name", "algorithm"), [("sha-256", "sha256"), ("sha-512", "sha512")])
@pytest.mark.parametrize("body", [b"body", BIG])
async def test_a_digest_that_is_declared_is_that_of_the_bytes(house, field, name, algorithm, body):
    wrong = await house.create("n", body, **{field: f"{name}=:{digest(b'else', algorithm)}:"})
    assert (wrong.status, wrong.code) == (400, "digest_mismatch")
    assert (await house("GET", "/v1/context/n")).status == 404
    assert (await house("GET", "/v1/context:usage")).json["reserved"] == 0
    assert (await house.create("n", body, **{field: f"{name}=:{digest(body, algorithm)}:"})).status == 201


async def test_a_digest_that_cannot_be_read_is_refused(house):
    assert (await house.create("n", repr_digest="sha-256=:short:")).code == "bad_header"
    fields = {"repr_digest": f"sha-256=:{digest(b'1')}:", "content_digest": f"sha-256=:{digest(b'2')}:"}
    assert (await house.create("n", **fields)).code == "digest_mismatch"
    assert (await house.create("n", content_type="no type")).code == "bad_header"


@pytest.mark.parametrize("more", [{}, {"content_length": str(len(BIG))}], ids=["of any size", "of a size"])
async def test_a_cut_upload_is_not_there(house, more):
    got = await house("PUT", "/v1/context/n", if_none_match="*", pieces=PIECES, ends=False, **more)
    assert got.code == "truncated_body"
    assert (await house("GET", "/v1/context/n")).status == 404
    usage = (await house("GET", "/v1/context:usage")).json
    assert (usage["files"], usage["bytes"], usage["reserved"], usage["revisions"]) == (0, 0, 0, 0)


async def test_a_file_that_is_too_large_is_refused_before_it_comes(house):
    got = await house.create("n", content_length=str(CONTEXT_BYTES_MAX + 1))
    assert (got.status, got.code) == (413, "too_large")


async def test_no_more_than_the_quota(house):
    await house.limited(bytes_max=len(BIG) + 10)
    assert (await house.create("a", pieces=PIECES)).status == 201
    known = {"pieces": PIECES, "content_length": str(len(BIG))}
    for body, more in ((b"", {"pieces": PIECES}), (b"", known), (b"x" * 11, {})):
        full = await house.create("b", body, **more)
        assert (full.status, full.code, full.json["what"]) == (507, "storage_exhausted", "bytes")
    assert (await house.create("b", b"x" * 10)).status == 201
    usage = (await house("GET", "/v1/context:usage")).json
    assert (usage["bytes"], usage["bytes_max"], usage["reserved"]) == (len(BIG) + 10, len(BIG) + 10, 0)


async def test_a_repeated_upload_is_answered_from_its_receipt(house):
    """Also where the quota has no room for it any more: that would be asked behind."""
    await house.limited(bytes_max=len(BIG))
    key = new_id()
    sent = {"pieces": PIECES, "content_length": str(len(BIG)), "idempotency_key": key}
    first = await house.create("n", **sent)
    again = await house.create("n", **sent)
    assert (again.status, again.body, again.headers["idempotent-replayed"]) == (201, first.body, "true")
    other = await house.create("m", **(sent | {"idempotency_key": new_id()}))
    assert (other.status, other.code) == (507, "storage_exhausted")
    assert (await house("GET", "/v1/context:usage")).json["reserved"] == 0


async def test_a_part_is_not_taken_for_the_whole(house):
    """RFC 9110 §14.5: a client that resumes an upload would lose what is not in the part."""
    await house.create("n", b"0123456789")
    part = await house("PUT", "/v1/context/n", b"4", if_match='"1"', content_range="bytes 4-4/10")
    assert (part.status, part.code) == (400, "bad_header")
    assert (await house("GET", "/v1/context/n")).body == b"0123456789"


TRICKS = {
    "traversal": "a/../b",
    "a dot": "a/./b",
    "an empty segment": "a//b",
    "a leading slash": "/a",
    "a trailing slash": "a/",
    "a backslash": "a\\b",
    "NUL": "a\0b",
    "a line feed": "a\nb",
    "a control of C1": "a\x85b",
    "turned writing": "a\u202egpj.exe",
    "no width": "a\u200bb",
    "a byte order mark": "\ufeffa",
    "a soft hyphen": "a\u00adb",
    "a line separator": "a\u2028b",
    "a filler": "a\u3164b",
    "a tag": "a\U000e0041",
    "no normal form": "e\u0301",
    "513 bytes": "a" * 513,
    "513 bytes of two": "ü" * 256 + "a",
}


@pytest.mark.parametrize("path", TRICKS.values(), ids=TRICKS)
async def test_what_is_no_path_is_refused(house, path):
    address = quote(path, safe="/")
    written = await house.create(address)
    assert (written.status, written.code) == (400, "bad_name")
    assert (await house("GET", f"/v1/context/{address}")).status == 404


@pytest.mark.parametrize("escaped", ["a%2e%2e/b", "a%2Fb", "%252e%252e", "a%40b%23c", "...", "..a", ".hidden", "a%25b"])
async def test_what_only_looks_like_a_trick_is_a_name_like_any(house, escaped):
    """An address is decoded once: what is escaped twice has a per cent sign in its name."""
    assert (await house.create(escaped, escaped.encode())).status == 201
    assert (await house("GET", f"/v1/context/{escaped}")).body == escaped.encode()


@pytest.mark.parametrize("escaped", ["a/%2e%2e/b", "%2e%2e", "%2e", "a/%2E/b"])
async def test_an_escaped_dot_is_a_dot(house, escaped):
    assert (await house.create(escaped)).code == "bad_name"


async def test_the_longest_path_is_a_path(house):
    path = quote("ü" * 256)
    assert (await house.create(path)).status == 201
    got = await house("GET", f"/v1/context/{path}")
    assert got.headers["content-disposition"] == f"attachment; filename*=UTF-8''{path}"


async def test_a_move_keeps_the_id_and_the_history(house):
    await house.create("a", b"1")
    await house("PUT", "/v1/context/a", b"2", if_match='"1"')
    before = (await house("GET", "/v1/context?prefix=a")).json["items"][0]
    assert (await house("POST", "/v1/context:move", {"from": "a", "to": "b"})).code == "condition_required"
    moved = await house("POST", "/v1/context:move", {"from": "a", "to": "b"}, if_match='"2"')
    assert (moved.status, moved.json) == (200, {"path": "b", "id": before["id"], "revision": 3})
    assert moved.headers["etag"] == '"3"'
    history = (await house("GET", "/v1/context/b?view=revisions")).json["items"]
    assert [(one["path"], one["revision"]) for one in history] == [("b", 3), ("a", 2), ("a", 1)]
    await house.create("c")
    taken = await house("POST", "/v1/context:move", {"from": "b", "to": "c"}, if_match='"3"')
    assert (taken.status, taken.code) == (409, "path_taken")
    missing = await house("POST", "/v1/context:move", {"from": "x", "to": "y"}, if_match='"3"')
    assert missing.status == 404
    bad = await house("POST", "/v1/context:move", {"from": "c", "to": "../y"}, if_match='"1"')
    assert (bad.code, bad.json["pointer"]) == ("bad_name", "/to")


async def test_lists_go_on_and_older_revisions_say_that_they_are_gone(house):
    for number in range(1, 13):
        condition = {"if_none_match": "*"} if number == 1 else {"if_match": f'"{number - 1}"'}
        await house("PUT", "/v1/context/n", b"%d" % number, **condition)
    got = await house("GET", "/v1/context/n?revision=2")
    assert (got.status, got.code, got.json["oldest_revision"]) == (410, "revision_pruned", 3)
    assert (await house("GET", "/v1/context/n?revision=3")).body == b"3"
    assert (await house("GET", "/v1/context/n?revision=13")).status == 404
    page = (await house("GET", "/v1/context/n?view=revisions&limit=4")).json
    assert [one["revision"] for one in page["items"]] == [12, 11, 10, 9]
    more = (await house("GET", f"/v1/context/n?view=revisions&limit=99&cursor={page['next_cursor']}")).json
    assert [one["revision"] for one in more["items"]] == [8, 7, 6, 5, 4, 3]
    assert (await house("GET", "/v1/context/m?view=revisions")).status == 404
    await house.create("o/p")
    page = (await house("GET", "/v1/context?limit=1")).json
    more = (await house("GET", f"/v1/context?limit=1&cursor={page['next_cursor']}")).json
    assert [one["path"] for one in (*page["items"], *more["items"])] == ["n", "o/p"]


async def test_a_reference_resolves_to_exactly_its_bytes(house):
    made = await house.create("a b@c", b"one")
    assert made.json["reference"] == f"context:a b%40c@1#sha256:{hashlib.sha256(b'one').hexdigest()}"
    target = "/v1/context:resolve?reference=" + quote(made.json["reference"], safe="")
    got = await house("GET", target)
    assert (got.status, got.body, got.headers["revision"]) == (200, b"one", "1")
    assert (await house("GET", target, range="bytes=1-")).body == b"ne"
    other = quote(str(Reference("a b@c", 1, bytes(32))), safe="")
    assert (await house("GET", f"/v1/context:resolve?reference={other}")).status == 404
    assert (await house("GET", "/v1/context:resolve?reference=nonsense")).code == "bad_query"
    assert (await house("GET", "/v1/context:resolve")).code == "bad_query"


async def test_a_key_sees_what_is_below_its_prefix(house):
    for path in ("mine/a", "theirs/b"):
        await house.create(path, b"body")
    theirs = (await house("GET", "/v1/context?prefix=theirs")).json["items"][0]["reference"]
    await house.enter(scopes=("context:read:mine", "context:write:mine"))
    assert [one["path"] for one in (await house("GET", "/v1/context")).json["items"]] == ["mine/a"]
    assert (await house("GET", "/v1/context/theirs/b")).code == "missing_scope"
    assert (await house("GET", f"/v1/context:resolve?reference={quote(theirs, safe='')}")).code == "missing_scope"
    moved = await house("POST", "/v1/context:move", {"from": "mine/a", "to": "theirs/c"}, if_match='"1"')
    assert moved.code == "missing_scope"
    assert (await house("GET", "/v1/context:usage")).code == "missing_scope"
    assert b"theirs" not in (await house("GET", "/v1/context:export")).body


async def test_a_grant_that_is_not_current_writes_nothing(house):
    got = await house.create("n", fence='"lock:l";fence=1')
    assert (got.status, got.code) == (409, "stale_fence")
    assert (await house.create("n", BIG, fence='"lock:l";fence=1')).code == "stale_fence"
    assert (await house("GET", "/v1/context:usage")).json["reserved"] == 0


async def test_a_watcher_is_told_of_a_write(house):
    waiting = asyncio.ensure_future(house("GET", "/v1/context/n?wait_seconds=20"))
    await house.create("n", b"now")
    assert (await waiting).body == b"now"
    assert (await house("GET", "/v1/context/n?wait_seconds=0.01", if_none_match='"1"')).status == 304


async def test_the_edge_of_what_is_written_at_once(house):
    for size in (CONTEXT_WHOLE_BYTES_MAX - 1, CONTEXT_WHOLE_BYTES_MAX, CONTEXT_WHOLE_BYTES_MAX + 1):
        body = b"x" * size
        made = await house.create(f"n{size}", body)
        assert (made.json["bytes"], made.json["digest"]) == (size, hashlib.sha256(body).hexdigest())
        assert (await house("GET", f"/v1/context/n{size}")).body == body
