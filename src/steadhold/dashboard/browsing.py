"""Walking names that are paths, a level at a time: what lies under a prefix, and which deeper prefixes there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steadhold.dashboard.facts import Facts
from steadhold.dashboard.page import View
from steadhold.kit.page import write_cursor

ROWS_MAX: Final = 100
ASKS_MAX: Final = 12
ASKED: Final = 200
_BEHIND: Final = "\U0010ffff" * 100
"""Sorts behind whatever a path may have in its place."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A deeper prefix. `count` names were seen under it; there are `more` that nobody counted."""

    prefix: str
    label: str
    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class File:
    """A name at this level, as the list of its room tells it."""

    label: str
    name: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Level:
    """What lies under a prefix, in byte order, from a cursor on."""

    prefix: str
    rows: list[Folder | File]
    next_cursor: str | None

    @property
    def trail(self) -> list[tuple[str, str]]:
        """The prefixes on the way here, the last is this one: (label, prefix)."""
        return trail(self.prefix)


def trail(path: str) -> list[tuple[str, str]]:
    """A path's segments, each with the path that it ends: `a/b` is (a, a), (b, a/b)."""
    parts = path.split("/") if path else []
    return [(part, "/".join(parts[: n + 1])) for n, part in enumerate(parts)]


async def level(view: View, room: str, member: str) -> Level:
    """A level of `/v1/<room>`, whose items have their name in `member`.

    What lies deep under a folder is passed over, so that a level takes a bounded number of questions however much
    there is under each of its folders.
    """
    prefix, cursor = view.query.get("prefix", ""), view.query.get("cursor")
    rows: list[Folder | File] = []
    for _ in range(ASKS_MAX):
        listed = await view.get(f"/v1/{room}", prefix=prefix or None, limit=ASKED, cursor=cursor)
        for item in listed.items:
            _add(rows, prefix, item[member], item)
        cursor = listed.next_cursor
        if cursor is None:
            break
        if isinstance(last := rows[-1], Folder):
            rows[-1] = Folder(last.prefix, last.label, last.count, more=True)
            cursor = write_cursor(room, f"{last.prefix}/{_BEHIND}")
        if len(rows) >= ROWS_MAX:
            break
    return Level(prefix, rows, cursor)


def _add(rows: list[Folder | File], prefix: str, name: str, item: Facts) -> None:
    below = name.removeprefix(f"{prefix}/") if prefix else name
    label, deeper, _ = below.partition("/")
    if name == prefix or not deeper:
        rows.append(File(name.rpartition("/")[2], name, item))
        return
    folder = name[: len(name) - len(below)] + label
    last = rows[-1] if rows else None
    if isinstance(last, Folder) and last.prefix == folder:
        rows[-1] = Folder(folder, label, last.count + 1, last.more)
    else:
        rows.append(Folder(folder, label, 1, more=False))
