"""What files are like: their SHA-256, kinds and lines; and the report that all of them make. Knows nothing of jobs."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from walking import Names, real, why

BLOCK_BYTES: Final = 1 << 20
SNIFF_BYTES: Final = 8_192
SHOWN: Final = 10
SHOWN_CHARS: Final = 200
KIND_CHARS_MAX: Final = 12


class Read:
    """One file, as far as it was read."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.bytes = self.lines = self.longest = self.longest_at = 0
        self._carried = 0
        self._text = True

    def add(self, block: bytes) -> None:
        """Go on with these bytes. What has a zero byte at its beginning is no text and has no lines."""
        if self.bytes == 0:
            self._text = b"\0" not in block[:SNIFF_BYTES]
        self.sha256.update(block)
        self.bytes += len(block)
        if self._text:
            lengths = [len(line) for line in block.split(b"\n")]
            lengths[0] += self._carried
            longest = max(lengths)
            if longest > self.longest:
                self.longest, self.longest_at = longest, self.lines + lengths.index(longest) + 1
            self.lines += len(lengths) - 1
            self._carried = lengths[-1]


def read(path: bytes) -> Read:
    """Read a file from its beginning to where it ended when it was opened; twice, if it changed meanwhile.

    Raises:
        OSError: it cannot be read, is none any more, or changed again.
    """
    for _ in range(2):
        # A pipe put in the file's place must not be waited for, and a link must not be followed.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.fstat(file)
            if not stat.S_ISREG(before.st_mode):
                raise OSError("it is no file any more")
            found = Read()
            while block := os.read(file, min(BLOCK_BYTES, before.st_size - found.bytes)):
                found.add(block)
            after = os.fstat(file)
        finally:
            os.close(file)
        if before.st_mtime_ns == after.st_mtime_ns and found.bytes == before.st_size == after.st_size:
            return found
    raise OSError("it changed while it was read")


def look(folder: str, names: Names) -> dict[str, Any]:
    """Read some files. `sha256` and `sizes` are in the order of `names`, null for those that could not be read."""
    digests: list[str | None] = []
    sizes: list[int | None] = []
    troubles: list[list[str]] = []
    kinds: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    lines, longest_bytes, longest = 0, 0, {"name": "", "line": 0, "bytes": 0}
    for name in names:
        try:
            found = read(real(folder) + b"/" + real(name))
        except OSError as error:
            troubles.append([name, why(error)])
            digests.append(None)
            sizes.append(None)
            continue
        digests.append(found.sha256.hexdigest())
        sizes.append(found.bytes)
        counts = kinds[kind_of(name)]
        counts[0], counts[1] = counts[0] + 1, counts[1] + found.bytes
        lines += found.lines
        if found.longest > longest_bytes:
            longest_bytes = found.longest
            longest = {"name": name, "line": found.longest_at, "bytes": found.longest}
    read_well = {"sha256": digests, "sizes": sizes, "kinds": dict(kinds), "lines": lines, "longest": longest}
    return {**read_well, "troubles": troubles}


def kind_of(name: str) -> str:
    """A file's kind by the end of its name."""
    stem, _, end = name.rpartition("/")[2].rpartition(".")
    return f".{end.lower()}" if stem and end.isalnum() and len(end) < KIND_CHARS_MAX else "(no kind)"


def merge(
    folder: str, pages: Sequence[dict[str, Any]], names: Sequence[Names], parts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The report: of all files together, and of the most remarkable ones by name."""
    kinds: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for part in parts:
        for kind, (files, size) in part["kinds"].items():
            kinds[kind] = [kinds[kind][0] + files, kinds[kind][1] + size]
    counted: Counter[str] = Counter()
    for found in pages:
        counted.update(found["counted"])
    troubles = [trouble for found in (*pages, *parts) for trouble in found["troubles"]]
    longest = max((part["longest"] for part in parts), key=lambda line: line["bytes"])
    largest = sorted(kinds.items(), key=lambda item: (-item[1][1], item[0]))
    return {
        "folder": folder,
        "found": sum(len(found["files"]) for found in pages),
        "files": sum(files for files, _ in kinds.values()),
        "bytes": sum(size for _, size in kinds.values()),
        "lines": sum(part["lines"] for part in parts),
        "kinds": [{"kind": kind, "files": files, "bytes": size} for kind, (files, size) in largest[:SHOWN]],
        "kinds_in_all": len(kinds),
        "duplicates": duplicates(names, parts),
        "longest_line": {**longest, "name": short(longest["name"])},
        "unread": {"count": len(troubles), "first": [[short(name), told] for name, told in troubles[:SHOWN]]},
        "links": counted["links"],
        "special": counted["special"],
        "left_out": counted["left_out"],
    }


def duplicates(names: Sequence[Names], parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Files with the same bytes: how many are copies, and the groups that waste most. Empty files are none."""
    same: dict[tuple[str, int], Names] = defaultdict(list)
    for chunk, part in zip(names, parts, strict=True):
        for name, digest, size in zip(chunk, part["sha256"], part["sizes"], strict=True):
            if size:
                same[digest, size].append(name)
    groups = [(size * (len(group) - 1), digest, size, group) for (digest, size), group in same.items()]
    groups = sorted((found for found in groups if found[0]), key=lambda found: (-found[0], found[1]))
    first = [
        {"sha256": digest, "bytes": size, "files": len(group), "names": [short(name) for name in group[:3]]}
        for _, digest, size, group in groups[:SHOWN]
    ]
    copies = sum(len(group) - 1 for *_, group in groups)
    return {"groups": len(groups), "copies": copies, "bytes": sum(found[0] for found in groups), "first": first}


def short(name: str) -> str:
    """A name that fits into a report."""
    half = SHOWN_CHARS // 2
    return name if len(name) <= SHOWN_CHARS else f"{name[:half]}…{name[-half:]}"
