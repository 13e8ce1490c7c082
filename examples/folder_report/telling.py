"""How the demo speaks: lines that stay, one line that moves where there is a terminal, tables, and sizes for people."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Final

WIDTH_MAX: Final = 100
BAR_CHARS: Final = 32
QUARTERS: Final = 4
UNITS: Final = ("kB", "MB", "GB", "TB")


class Teller:
    """Writes to standard output. Off a terminal the moving line stands still: a bar says each quarter, once."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._moving = False
        self._quarter = 0
        self._chapter = 0

    def chapter(self, title: str) -> None:
        """Begin another part of the story."""
        self._chapter += 1
        self.say(f"\n{self._chapter}. {title}")

    def say(self, text: str = "") -> None:
        """Write lines that stay; on a terminal they are folded, under what stands behind the last wide gap."""
        self._stand()
        print("\n".join(_folded(line) if self._terminal else line for line in text.split("\n")), flush=True)

    def verbatim(self, lines: Sequence[str]) -> None:
        """Write lines as they are, to be copied."""
        self._stand()
        print("\n".join(lines), flush=True)

    def move(self, text: str) -> None:
        """Write the line that moves, where there is a terminal."""
        if self._terminal:
            width = shutil.get_terminal_size().columns
            print(f"\r\x1b[K{text[: width - 1]}", end="", flush=True)
            self._moving = True

    def bar(self, label: str, done: int, of: int) -> None:
        """Show how far something is."""
        filled = BAR_CHARS * done // max(of, 1)
        self.move(f"   {label} [{'#' * filled}{'-' * (BAR_CHARS - filled)}] {done} of {of} stages")
        quarter = QUARTERS * done // max(of, 1)
        if not self._terminal and quarter > self._quarter:
            self.say(f"   {label} {done} of {of} stages")
        self._quarter = max(self._quarter, quarter)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write rows in columns; the first row names them. Numbers stand to the right."""
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        left = [not column[-1][:1].isdigit() for column in zip(*rows, strict=True)]
        cells = [[c.ljust(w) if to else c.rjust(w) for c, w, to in zip(row, widths, left, strict=True)] for row in rows]
        self.verbatim([f"   {'  '.join(row)}".rstrip() for row in cells])

    def _stand(self) -> None:
        if self._moving:
            print("\r\x1b[K", end="")
            self._moving = False


def _folded(line: str) -> str:
    width = min(shutil.get_terminal_size().columns, WIDTH_MAX)
    hang = max(line.rfind("  ", 0, width // 2) + 2, 2)
    return textwrap.fill(line, width, subsequent_indent=" " * hang, break_on_hyphens=False) if line else ""


def size(count: int) -> str:
    """Bytes for people: 249 MB."""
    if count < 1_000:
        return many(count, "byte")
    power = min((len(str(count)) - 1) // 3, len(UNITS))
    return f"{count / 1_000**power:.{max(0, 3 * power - len(str(count)) + 3)}f} {UNITS[power - 1]}"


def many(count: int, one: str, more: str = "") -> str:
    """A number and its noun: 1 file, 2 files."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
