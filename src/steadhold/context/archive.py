"""Archives: what `tar` in POSIX format says of an entry, read strictly and written so that any tar reads it."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

BLOCK: Final = tarfile.BLOCKSIZE
END: Final = bytes(2 * BLOCK)
OURS: Final = "STEADHOLD."
"""What begins the names of records that are ours: `revision`, `sha256`, `content_type`, `id`, `if_match`."""

_MAP_GOES_ON: Final = 482
_MAP_GOES_ON_AGAIN: Final = 504
"""Where GNU tar says that the map of a sparse file goes on: in its header, and in a block of the map."""

_RECORD: Final = re.compile(rb"([1-9][0-9]{0,5}) ([^=\n]+)=")
_MORE: Final = {
    tarfile.XHDTYPE: "records",
    tarfile.SOLARIS_XHDTYPE: "records",
    tarfile.XGLTYPE: "all",
    tarfile.GNUTYPE_LONGNAME: "name",
    tarfile.GNUTYPE_LONGLINK: "link",
}
_FILES: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
_WITHOUT_BYTES: Final = (
    tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE
)  # fmt: skip
"""Nothing follows the header of these, whatever size it names."""


class BadArchive(ValueError):
    """The bytes are no archive that can be read on; the text says why."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header block. `more` says that it is about the next one: `records`, `name`, `link`, or `all` that follow.

    `bytes` follow it, `size` of them; behind a `map` of what a sparse file has, whose first block says if it goes on.
    """

    name: str
    size: int
    regular: bool
    more: str | None = None
    bytes: bool = True
    map: bool = False
    records: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_records(self, records: Mapping[str, str]) -> Header:
        """The same, as records that came before say it."""
        size = records.get("size", str(self.size))
        if not re.fullmatch(r"[0-9]{1,18}", size):
            raise BadArchive("the record size is no number")
        sparse = any(name.startswith("GNU.sparse.") for name in records)
        return replace(
            self,
            name=records.get("path", self.name),
            size=int(size) if self.bytes else 0,
            regular=self.regular and not sparse,
            records=dict(records),
        )


def header(block: bytes) -> Header | None:
    """Read a header block; None for one of the end. Raises BadArchive."""
    if not block.strip(b"\0"):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except UnicodeDecodeError:
        raise BadArchive("a name is not UTF-8") from None
    except tarfile.HeaderError as error:
        raise BadArchive(f"what should be a header is none: {error}") from None
    if info.size < 0:
        raise BadArchive("an entry has less than nothing")
    return Header(
        info.name,
        info.size,
        regular=info.type in _FILES and not block[:100].rstrip(b"\0").endswith(b"/"),
        more=_MORE.get(info.type),
        bytes=info.type not in _WITHOUT_BYTES,
        map=info.type == tarfile.GNUTYPE_SPARSE and bool(block[_MAP_GOES_ON]),
    )


def map_goes_on(block: bytes) -> bool:
    """Whether another block of a sparse file's map follows this one."""
    return bool(block[_MAP_GOES_ON_AGAIN])


def records(raw: bytes) -> dict[str, str]:
    """Read the records of an extended header. Raises BadArchive."""
    found: dict[str, str] = {}
    at = 0
    while at < len(raw):
        record = _RECORD.match(raw, at)
        end = at + int(record[1]) if record else 0
        if record is None or end > len(raw) or end <= record.end() or raw[end - 1 : end] != b"\n":
            raise BadArchive("a record of an extended header cannot be read")
        try:
            found[record[2].decode()] = raw[record.end() : end - 1].decode()
        except UnicodeDecodeError:
            raise BadArchive("a record of an extended header is not UTF-8") from None
        at = end
    return found


def padding(size: int) -> int:
    """How many bytes fill the last block of so many."""
    return -size % BLOCK


def write_header(path: str, size: int, changed_at: datetime, ours: Mapping[str, str]) -> bytes:
    """The header of a file, with our records."""
    info = tarfile.TarInfo(path)
    info.size, info.mtime, info.mode = size, int(changed_at.timestamp()), 0o644
    info.pax_headers = {"path": path, **{OURS + name: value for name, value in ours.items()}}
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
