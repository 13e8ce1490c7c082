"""The code blocks of every page that a server serves, of README.md and of the examples' own pages."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from steadhold.server import guides

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    **guides.pages(),
    "README": (ROOT / "README.md").read_text(encoding="utf-8"),
    **{
        f"examples/{page.parent.name}": page.read_text(encoding="utf-8")
        for page in sorted((ROOT / "examples").glob("*/README.md"))
    },
}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, with its page and its place among the page's blocks of its language."""

    page: str
    language: str
    number: int
    text: str

    @property
    def place(self) -> tuple[str, int]:
        """Where it is."""
        return self.page, self.number

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.page}-{self.language}-{self.number}"


def _found(page: str, text: str) -> list[Block]:
    seen: Counter[str] = Counter()
    found = []
    for language, code in FENCED.findall(text):
        found.append(Block(page, language, seen[language], code))
        seen[language] += 1
    return found


BLOCKS = [block for page, text in PAGES.items() for block in _found(page, text)]


def of(*languages: str) -> list[Block]:
    """All blocks in one of these languages."""
    return [block for block in BLOCKS if block.language in languages]


def named(block: object) -> str:
    """The name of a test about a block."""
    return block.name if isinstance(block, Block) else str(block)
