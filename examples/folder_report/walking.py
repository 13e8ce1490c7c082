r"""Which files a folder holds, page by page, and how they are parted into pieces of work. Knows nothing of jobs.

Every answer is JSON, because a stage keeps it. A file's name is kept as text that says its bytes exactly:
what is no printable UTF-8 is written as \x1b, and a backslash twice.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

Names: TypeAlias = list[str]

PAGE_FILES: Final = 3_000
PAGE_BYTES: Final = 150_000
FILES_MAX: Final = 1_500_000
CHUNKS_WANTED: Final = 100
CHUNK_FILES_MAX: Final = 250
CHUNK_NAMES_BYTES: Final = 100_000
CHUNK_BYTES: Final = 32 << 20

_ESCAPE: Final = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def shown(name: bytes) -> str:
    """A name as text that can be kept and printed, whatever its bytes are."""
    text = name.decode("utf-8", "surrogateescape")
    return text if text.isprintable() and "\\" not in text else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def real(text: str) -> bytes:
    """The bytes that `shown` showed."""
    return _ESCAPE.sub(lambda found: b"\\" if found[1] is None else bytes.fromhex(found[1].decode()), text.encode())


def page(folder: str, skip: Sequence[str], after: str | None) -> dict[str, Any]:
    """What a folder holds behind the name `after`, in one order for all: `files`, each a name and its bytes.

    `more` tells whether there may be others behind `last`. Links are counted and not followed, so no loop is ever
    entered; neither are folders whose name stands in `skip`.
    """
    files: list[list[Any]] = []
    troubles: list[list[str]] = []
    counted: Counter[str] = Counter()
    last, weight = after, 0
    for kind, name, told in _walk(real(folder), {part.encode() for part in skip}, after):
        if len(files) >= PAGE_FILES or weight >= PAGE_BYTES:
            break
        last = shown(name)
        if kind == "file":
            files.append([last, told])
        elif kind == "trouble":
            troubles.append([last or ".", told])
        else:
            counted[kind] += 1
            continue
        weight += _weight(last)
    else:
        return {"files": files, "troubles": troubles, "counted": dict(counted), "last": None, "more": False}
    return {"files": files, "troubles": troubles, "counted": dict(counted), "last": last, "more": True}


def _weight(name: str) -> int:
    return len(json.dumps(name))


Found: TypeAlias = tuple[bytes, os.DirEntry[bytes] | None, tuple[bytes, ...]]
"""A name from the root on, its entry, and how the way to the last name of the page before goes on below it."""


def _walk(root: bytes, skip: set[bytes], after: str | None) -> Iterator[tuple[str, bytes, Any]]:
    """Everything below `root` behind `after`, folder by folder; a stack, since folders may lie very deep."""
    way = () if after is None else tuple(real(after).split(b"/"))
    start: Found = (b"", None, way)
    stack: list[Iterator[Found]] = [iter([start])]
    while stack:
        for name, entry, below in stack[-1]:
            kind, told = _kind(entry, skip)
            if kind == "folder":
                try:
                    stack.append(_entries(root, name, below))
                    break
                except OSError as error:
                    yield "trouble", name, why(error)
            elif not below:
                yield kind, name, told
        else:
            stack.pop()


def _entries(root: bytes, folder: bytes, way: tuple[bytes, ...]) -> Iterator[Found]:
    with os.scandir(root + b"/" + folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    prefix = folder + b"/" if folder else b""
    for_all = ((prefix + entry.name, entry, way[1:] if way[:1] == (entry.name,) else ()) for entry in entries)
    # The last name itself was told before; a folder on the way to it is entered again.
    return (found for found in for_all if not way or found[2] or found[1].name > way[0])


def _kind(entry: os.DirEntry[bytes] | None, skip: set[bytes]) -> tuple[str, Any]:
    """What an entry is, and of a file its size; no entry is the root."""
    if entry is None:
        return "folder", None
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError as error:
        return "trouble", why(error)
    if stat.S_ISDIR(found.st_mode):
        return ("left_out" if entry.name in skip else "folder"), None
    if stat.S_ISREG(found.st_mode):
        return "file", found.st_size
    return ("links" if stat.S_ISLNK(found.st_mode) else "special"), None


def why(error: OSError) -> str:
    """What kept us from a file, in a few words."""
    return (error.strerror or str(error)).lower()


def chunks(pages: Iterable[dict[str, Any]]) -> list[Names]:
    """All files in pieces of about equal work, always the same for the same pages; one empty piece for no files.

    Raises:
        ValueError: there are more files than one job may have stages for.
    """
    files = [file for found in pages for file in found["files"]]
    if len(files) > FILES_MAX:
        raise ValueError(f"There are {len(files):,} files, and {FILES_MAX:,} at most are reported: choose a part.")
    files_max = max(1, min(CHUNK_FILES_MAX, -(-len(files) // CHUNKS_WANTED)))
    bytes_max = max(CHUNK_BYTES, sum(size for _, size in files) // 1_000)
    made: list[Names] = [[]]
    weight = held = 0
    for name, size in files:
        weight, held = weight + _weight(name), held + size
        if made[-1] and (len(made[-1]) >= files_max or held > bytes_max or weight > CHUNK_NAMES_BYTES):
            made.append([])
            weight, held = _weight(name), size
        made[-1].append(name)
    return made
