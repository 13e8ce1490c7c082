"""What the commands of a memory tool say and take: pure, in the words that models know them by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steadhold.kit.paths import context_path_fault, under
from steadhold.sdk.context_shapes import FileEntry
from steadhold.sdk.problem import SteadholdError

LINES_MAX: Final = 999_999
DEPTH: Final = 2
"""How deep a directory is shown."""

ABOUT: Final = 4
"""How many lines are shown around what was edited."""

_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}")


class MemoryRefused(SteadholdError):
    """A command that changed nothing; what it says is for whoever gave it."""


class Place:
    """Where a memory lies: files under `prefix` of context are shown as lying under `root`."""

    def __init__(self, prefix: str, root: str) -> None:
        if why := context_path_fault(prefix):
            raise ValueError(f"A memory lies under a prefix of context. {why}")
        if not root.startswith("/") or root.endswith("/") or context_path_fault(root[1:]):
            raise ValueError("root is / and a path, such as /memories.")
        self.prefix, self.root = prefix, root

    def inside(self, said: str) -> str:
        """The path in context that a command means; that of the memory itself for its root.

        Raises:
            MemoryRefused: it leads elsewhere, or may look as if it led elsewhere.
        """
        if said in (self.root, f"{self.root}/"):
            return self.prefix
        if not said.startswith(f"{self.root}/"):
            raise MemoryRefused(f"Error: The path {said} does not begin with {self.root}/.")
        rest = said.removeprefix(f"{self.root}/").removesuffix("/")
        path = f"{self.prefix}/{rest}"
        why = "A path is written without % escapes." if _ESCAPED.search(rest) else context_path_fault(path)
        if why or not under(path, self.prefix):
            raise MemoryRefused(f"Error: The path {said} cannot be used. {why or ''}".strip())
        return path

    def outside(self, path: str) -> str:
        """What a path in context is called."""
        return self.root + path.removeprefix(self.prefix)


def missing(said: str) -> MemoryRefused:
    """There is nothing at a path."""
    return MemoryRefused(f"Error: The path {said} does not exist. Please provide a valid path.")


def decoded(said: str, body: bytes) -> str:
    """The text of a file.

    Raises:
        MemoryRefused: it is none.
    """
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MemoryRefused(f"Error: The file {said} is no text.") from None


def encoded(text: str) -> bytes:
    """A text as a file holds it.

    Raises:
        MemoryRefused: it cannot.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MemoryRefused("Error: The text holds half of a surrogate pair, which is no character.") from None


def numbered(text: str, view_range: Sequence[int] | None) -> str:
    """The lines of a text with their numbers; `view_range` is the first and the last of them, -1 for the end.

    Raises:
        MemoryRefused: there are no such lines, or too many.
    """
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        raise MemoryRefused(f"Error: The file exceeds the maximum of {LINES_MAX:,} lines.")
    first, last = (1, len(lines)) if view_range is None else _range(view_range, len(lines))
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first))


def _range(view_range: Sequence[int], count: int) -> tuple[int, int]:
    first, last = view_range if len(view_range) == 2 else (0, 0)
    last = count if last == -1 else last
    if not 1 <= first <= last <= count:
        raise MemoryRefused(f"Error: Invalid `view_range`: {list(view_range)}. It lies within [1, {count}].")
    return first, last


def listed(place: Place, path: str, found: Sequence[FileEntry]) -> str:
    """A directory, two levels deep: how much lies at each path, and what it is called."""
    sizes = {path: 0}
    for entry in found:
        parts = entry.path.removeprefix(path).strip("/").split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        sizes[path] += entry.bytes
        for depth in range(1, min(len(parts), DEPTH) + 1):
            name = "/".join([path, *parts[:depth]])
            sizes[name] = sizes.get(name, 0) + entry.bytes
    rows = [f"{_size(size)}\t{place.outside(name)}" for name, size in sorted(sizes.items())]
    shown = place.outside(path)
    head = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items and node_modules:"
    return "\n".join([head, *rows])


def _size(count: float) -> str:
    for unit in ("B", "K", "M"):
        if count < 1024:
            return f"{count}B" if unit == "B" else f"{count:.1f}{unit}"
        count /= 1024
    return f"{count:.1f}G"


def replaced(said: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Put one text in the place of another, which stands there once; and on which line that is.

    Raises:
        MemoryRefused: it does not stand there, or more than once.
    """
    if not old or (count := text.count(old)) == 0:
        raise MemoryRefused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {said}.")
    if count > 1:
        places = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(re.escape(old), text)]
        raise MemoryRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, places))}. Please ensure it is unique"
        )
    return text.replace(old, new), text.count("\n", 0, text.index(old)) + 1


def inserted(text: str, line: int, more: str) -> str:
    """Put lines behind line `line`, 0 for the beginning.

    Raises:
        MemoryRefused: there is no such line.
    """
    lines = text.split("\n")
    count = len(lines) - 1 if lines[-1] == "" else len(lines)
    if not 0 <= line <= count:
        raise MemoryRefused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
            f"[0, {count}]"
        )
    return "\n".join([*lines[:line], *more.removesuffix("\n").split("\n"), *lines[line:]])


def snippet(text: str, line: int) -> str:
    """The lines around line `line`, with their numbers."""
    count = text.count("\n") + 1
    return numbered(text, [max(1, line - ABOUT), min(count, line + ABOUT)])
