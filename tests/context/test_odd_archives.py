"""Archives of other hands: what stands where no file's bytes are is not taken for files, nor passed over in silence."""

from __future__ import annotations

import random
import tarfile

import pytest

from steadhold.context import archive
from steadhold.context.archive import BadArchive
from steadhold.kit import limits
from tests.context.test_archives import entry, imported, tar


def summed(block):
    """A header block with the sum that it says."""
    block = bytearray(block)
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:512]) + 8 * 32)
    return bytes(block)


@pytest.mark.parametrize("type", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
async def test_a_size_of_what_has_no_bytes_says_nothing(house, type):
    """Some writers name that of the file that a link leads to."""
    info, _ = entry("odd", type=type)
    info.size = 1024
    raw = info.tobuf(tarfile.USTAR_FORMAT) + tar(entry("after"), entry("more"))
    came = (await imported(house, raw)).json
    assert [one.get("code") for one in came["files"]] == ["not_a_file", None, None]
    assert came["complete"]


async def test_what_a_sparse_file_has_is_not_read_for_entries(house):
    """The map of one goes on behind its header, before its bytes."""
    info, _ = entry("odd", type=tarfile.GNUTYPE_SPARSE)
    info.size = 512
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[482] = 1
    goes_on, ends = bytearray(512), bytes(512)
    goes_on[504] = 1
    hidden = entry("hidden")[0].tobuf(tarfile.GNU_FORMAT)
    came = (await imported(house, summed(head) + goes_on + ends + hidden + tar(entry("after")))).json
    assert [(one["path"], one.get("code")) for one in came["files"]] == [("odd", "not_a_file"), ("after", None)]
    assert came["complete"]


async def test_a_map_without_end_is_bounded(house):
    info, _ = entry("odd", type=tarfile.GNUTYPE_SPARSE)
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[482] = 1
    goes_on = bytearray(512)
    goes_on[504] = 1
    got = await imported(house, summed(head) + goes_on * (limits.IMPORT_HEADER_BYTES_MAX // 512 + 2))
    assert got.code == "bad_archive"
    assert str(limits.IMPORT_HEADER_BYTES_MAX) in got.json["detail"]


async def test_headers_of_nothing_are_bounded(house):
    """Also those that are about another, and have not a byte."""
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    headers = info.tobuf(tarfile.USTAR_FORMAT) * (limits.IMPORT_HEADER_BYTES_MAX // 512 + 1)
    assert (await imported(house, headers + tar(entry("after")))).code == "bad_archive"


async def test_a_long_name_of_a_link_is_no_entry(house):
    info, _ = entry("link", type=tarfile.SYMTYPE)
    info.linkname = "n" * 200
    raw = info.tobuf(tarfile.GNU_FORMAT) + tar(entry("after"))
    came = (await imported(house, raw)).json
    assert [one["path"] for one in came["files"]] == ["link", "after"]


@pytest.mark.parametrize("behind", [tar(entry("b")), b"x"], ids=["another archive", "a byte"])
async def test_what_stands_behind_the_end_is_told(house, behind):
    """Whoever joins archives learns that only the first was read."""
    came = (await imported(house, tar(entry("a")) + behind)).json
    assert (came["complete"], [one["path"] for one in came["files"]]) == (False, ["a"])
    assert "behind the end" in came["detail"]
    assert (await imported(house, tar(entry("c")) + bytes(10_240))).json["complete"]


def test_no_block_is_read_by_accident():
    """Whatever is in a block whose sum is right, it is a header or it is refused."""
    chance, read = random.Random(7), 0
    plain = tarfile.TarInfo("x").tobuf()
    for _ in range(400):
        block = bytearray(plain)
        for _ in range(chance.randrange(1, 40)):
            block[chance.randrange(512)] = chance.choice(b"\0 01289/x\x80\xff")
        try:
            found = archive.header(summed(block))
        except BadArchive:
            continue
        assert found is not None
        assert found.size >= 0
        read += 1
    assert read > 100
