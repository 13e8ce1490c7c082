"""Archives: what goes out comes in again, and what is no plain file stays outside."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from urllib.parse import quote

import pytest

from steadhold.context import archive
from steadhold.context.archive import BadArchive
from steadhold.kit import limits

BIG = bytes(range(256)) * 4096 + b"end"
TAR = {"content_type": "application/x-tar"}


def tar(*entries, format=tarfile.PAX_FORMAT, end=True):
    """An archive of entries, each a TarInfo with its bytes."""
    made = b""
    for info, body in entries:
        info.size = len(body)
        made += info.tobuf(format, "utf-8", "surrogateescape") + body + bytes(archive.padding(len(body)))
    return made + (archive.END if end else b"")


def entry(path, body=b"body", type=tarfile.REGTYPE, **records):
    info = tarfile.TarInfo(path)
    info.type = type
    info.pax_headers = {f"STEADHOLD.{name}": value for name, value in records.items()}
    return info, body


async def imported(house, raw, query=""):
    pieces = [raw[at : at + 70_001] for at in range(0, len(raw), 70_001)] or [b""]
    return await house("POST", f"/v1/context:import{query}", pieces=pieces, **TAR)


async def test_what_is_exported_is_read_by_any_tar_and_imported_again(house):
    await house.create("a/one.txt", b"one", content_type="text/plain")
    await house.create("a/" + quote("ü" * 250), BIG)
    await house("PUT", "/v1/context/a/one.txt", b"two", if_match='"1"', content_type="text/plain")
    await house.create("b", b"")
    got = await house("GET", "/v1/context:export")
    assert (got.status, got.headers["content-type"]) == (200, "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(got.body)) as opened:
        members = {member.name: member for member in opened}
        assert opened.extractfile(members["a/one.txt"]).read() == b"two"
        assert opened.extractfile(members["a/" + "ü" * 250]).read() == BIG
    said = members["a/one.txt"].pax_headers
    assert (said["STEADHOLD.revision"], said["STEADHOLD.content_type"]) == ("2", "text/plain")
    assert said["STEADHOLD.sha256"] == hashlib.sha256(b"two").hexdigest()
    for one in (await house("GET", "/v1/context")).json["items"]:
        await house("DELETE", f"/v1/context/{quote(one['path'])}", if_match=f'"{one["revision"]}"')
    came = (await imported(house, got.body)).json
    assert (came["complete"], [one["status"] for one in came["files"]]) == (True, [201, 201, 201])
    back = await house("GET", "/v1/context/a/one.txt")
    assert (back.body, back.headers["content-type"]) == (b"two", "text/plain")


async def test_an_export_is_what_is_under_a_prefix(house):
    for path in ("a", "a/b", "ab"):
        await house.create(path)
    got = await house("GET", "/v1/context:export?prefix=a")
    with tarfile.open(fileobj=io.BytesIO(got.body)) as opened:
        assert opened.getnames() == ["a", "a/b"]


async def test_each_file_obeys_its_condition(house):
    await house.create("a", b"old")
    raw = tar(
        entry("a"), entry("a", b"new", if_match="1"), entry("a", b"newer", if_match="1"), entry("b", if_match="9")
    )
    came = (await imported(house, raw)).json
    assert [(one["status"], one.get("code")) for one in came["files"]] == [
        (412, "condition_false"),
        (200, None),
        (412, "condition_false"),
        (412, "condition_false"),
    ]
    assert came["files"][0]["current_revision"] == 1
    assert (await house("GET", "/v1/context/a")).body == b"new"


OUTSIDE = {
    "a link": entry("x", b"", tarfile.SYMTYPE),
    "a hard link": entry("x", b"", tarfile.LNKTYPE),
    "a device": entry("x", b"", tarfile.BLKTYPE),
    "a terminal": entry("x", b"", tarfile.CHRTYPE),
    "a pipe": entry("x", b"", tarfile.FIFOTYPE),
    "a folder": entry("x", b"", tarfile.DIRTYPE),
    "a sparse file": entry("x", b"data", tarfile.GNUTYPE_SPARSE),
    "a volume": entry("x", b"data", b"V"),
}


@pytest.mark.parametrize("odd", OUTSIDE.values(), ids=OUTSIDE)
async def test_what_is_no_plain_file_stays_outside(house, odd):
    came = (await imported(house, tar(odd, entry("after")))).json
    assert [one.get("code") for one in came["files"]] == ["not_a_file", None]
    assert [one["path"] for one in (await house("GET", "/v1/context")).json["items"]] == ["after"]


async def test_a_sparse_file_that_hides_in_records_stays_outside(house):
    info, body = entry("x")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "99999999"}
    came = (await imported(house, tar((info, body)))).json
    assert came["files"][0]["code"] == "not_a_file"


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "a//b", "..", "a\x01b", "e\u0301", "x" * 513]
)
async def test_slips_are_refused(house, path):
    came = (await imported(house, tar(entry(path), entry("./after")))).json
    assert [one.get("code") for one in came["files"]] == ["bad_name", None]
    assert [one["path"] for one in (await house("GET", "/v1/context")).json["items"]] == ["after"]


async def test_a_prefix_and_a_scope_bound_what_is_imported(house):
    came = (await imported(house, tar(entry("a/b"), entry("ab"), entry("a")), "?prefix=a")).json
    assert [one["status"] for one in came["files"]] == [201, 400, 201]
    await house.enter(scopes=("context:write:mine",))
    came = (await imported(house, tar(entry("mine/b"), entry("theirs/b")))).json
    assert [one.get("code") for one in came["files"]] == [None, "missing_scope"]


async def test_bytes_that_are_not_those_named_are_refused(house):
    raw = tar(entry("small", sha256="0" * 64), entry("big", BIG, sha256="0" * 64), entry("c", content_type="\u2028"))
    came = (await imported(house, raw)).json
    assert [one["code"] for one in came["files"]] == ["digest_mismatch", "digest_mismatch", "bad_header"]
    usage = (await house("GET", "/v1/context:usage")).json
    assert (usage["files"], usage["reserved"]) == (0, 0)


async def test_no_more_than_the_quota_is_imported(house):
    await house.limited(bytes_max=10)
    came = (
        await imported(house, tar(entry("a", b"123456"), entry("b", BIG), entry("c", b"12345"), entry("d", b"1234")))
    ).json
    assert [one["status"] for one in came["files"]] == [201, 507, 507, 201]


async def test_what_is_no_archive_is_refused(house):
    for raw in (b"", b"x" * 512, b"x" * 100, gzip.compress(tar(entry("a")))):
        got = await imported(house, raw)
        assert (got.status, got.code) == (400, "bad_archive")
    assert (await house("POST", "/v1/context:import", b"{}")).code == "unsupported_media_type"


async def test_an_archive_that_breaks_off_tells_what_came_before(house):
    whole = tar(entry("a"), entry("b", BIG), end=False)
    for cut in (whole[: -len(BIG) // 2], tar(entry("c"), end=False) + b"x" * 512, tar(entry("d"), end=False)):
        got = await imported(house, cut)
        assert (got.status, got.json["complete"], len(got.json["files"])) == (200, False, 1)
        assert got.json["detail"]
    usage = (await house("GET", "/v1/context:usage")).json
    assert (usage["files"], usage["reserved"]) == (3, 0)


async def test_headers_are_bounded(house):
    info, body = entry("x", comment="c" * limits.IMPORT_HEADER_BYTES_MAX)
    got = await imported(house, tar((info, body)))
    assert (got.status, got.code) == (400, "bad_archive")
    assert str(limits.IMPORT_HEADER_BYTES_MAX) in got.json["detail"]
    long = tar(entry("long/" + "n" * 200), format=tarfile.GNU_FORMAT)
    assert (await imported(house, long)).json["files"][0]["path"] == "long/" + "n" * 200
    huge = tar(entry("n" * (limits.IMPORT_HEADER_BYTES_MAX + 1)), format=tarfile.GNU_FORMAT)
    assert (await imported(house, huge)).code == "bad_archive"


async def test_entries_are_bounded(house, monkeypatch):
    monkeypatch.setattr(limits, "IMPORT_FILES_MAX", 2)
    got = await imported(house, tar(entry("a"), entry("b"), entry("c")))
    assert (got.json["complete"], len(got.json["files"])) == (False, 2)


async def test_a_file_that_is_too_large_is_passed_over(house, monkeypatch):
    monkeypatch.setattr(limits, "CONTEXT_BYTES_MAX", 3)
    came = (await imported(house, tar(entry("a", b"1234"), entry("b", b"123")))).json
    assert [one["status"] for one in came["files"]] == [413, 201]


@pytest.mark.parametrize(
    "raw",
    [
        b"7 a=b\n",
        b"x a=b\n",
        b"5 a=b\n",
        b"06 a=b\n",
        b"999999 a=b\n",
        b"6 =b\n",
        b"6 a=b",
        b"6 a=\xff\n",
        b"3 a\n",
        b"\0",
    ],
)
def test_records_are_read_strictly(raw):
    with pytest.raises(BadArchive):
        archive.records(raw)


def test_records_may_hold_anything_of_their_length():
    assert archive.records(b"6 a=b\n11 path=\n\n\n") == {"a": "b", "path": "\n\n"}


def test_a_size_that_is_no_number_is_refused():
    plain = archive.header(tarfile.TarInfo("x").tobuf())
    for size in ("-1", "1e3", "", "9" * 19, "٣"):
        with pytest.raises(BadArchive):
            plain.with_records({"size": size})
    assert plain.with_records({"size": "7", "path": "y"}).size == 7


def test_a_size_below_nothing_is_refused():
    block = bytearray(tarfile.TarInfo("x").tobuf())
    block[124:136] = b"\xff" * 12
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:512]) + 8 * 32)
    with pytest.raises(BadArchive, match="less than nothing"):
        archive.header(bytes(block))
